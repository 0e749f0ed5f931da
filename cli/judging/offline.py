"""Apply the webhook's rules to one object, with assumed facts about the cluster."""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from cli.command import CommandError
from cli.shipped.configurations import shipped_configuration
from cli.shipped.data import OVERLAYS, pod_schema
from shared.api.names import ANNOTATION_SUBMITTED_BY, LABEL_USER, LABEL_USERID
from shared.api.objects import JsonObject, annotation, label
from shared.pod_schema.pod_schema import PodSchema
from webhook.admission_review import User
from webhook.creation import Judgement, judge_creation
from webhook.rules.submission import Facts

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig

# The assumed creator of an object that names no user.
_SOMEBODY: Final = "somebody"


@cache
def offline_facts(config: str) -> Facts:
    """Return the facts of a team's namespace whose user may create everything.

    `config`: an overlay or a file. Raises CommandError.
    """
    loaded = shipped_configuration(config) if config in OVERLAYS else _loaded(config)
    return Facts(loaded, pod_schema=PodSchema(pod_schema().definitions), is_team_namespace=True)


def _loaded(path: str) -> "AppWrapperConfig":
    from shared.config.loading import ConfigError, load_config

    try:
        return load_config(path).config.appwrapper
    except ConfigError as error:
        raise CommandError(str(error)) from error


def judge(
    target: JsonObject, namespace: str, config: str, *, team_namespace: bool = True
) -> Judgement:
    """Apply the webhook's rules for a creation. Raises CommandError for a wrong configuration."""
    facts = replace(offline_facts(config), is_team_namespace=team_namespace)
    return judge_creation(target, namespace, _user(target), facts)


def _user(target: JsonObject) -> User:
    """Return the user that the object names, so that it gets no warning about another user."""
    named = annotation(target, ANNOTATION_SUBMITTED_BY) or label(target, LABEL_USER)
    return User(named or _SOMEBODY, label(target, LABEL_USERID) or "")
