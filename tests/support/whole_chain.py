"""Runs the whole chain on an object, as the API server does: mutation, then validation."""

from functools import cache

import jsonpatch

from shared.api.objects import JsonObject
from shared.config.loading import load_config
from tests.support.builders.admission import request
from tests.support.builders.foreign_manifests import is_wrapped, kinds_of
from tests.support.builders.pod_schema import POD_SCHEMA
from tests.support.manifests import MANIFESTS
from webhook import chain
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Patched, Verdict

OVERLAYS = ("default", "mlbatch")
# Kinds that overlay mlbatch allows no user to wrap.
_NOT_IN_MLBATCH = {"JobSet", "LeaderWorkerSet", "MPIJob", "TrainingRuntime", "TrainJob"}


def is_for(made: JsonObject, overlay: str) -> bool:
    """True if the overlay's lists of Kinds allow it."""
    return overlay != "mlbatch" or not kinds_of(made) & _NOT_IN_MLBATCH


@cache
def facts_of(overlay: str) -> Facts:
    """Returns facts of a team's namespace, whose user may create all of it."""
    config = load_config(MANIFESTS / "overlays" / overlay / "config.yaml").config.appwrapper
    return Facts(config, pod_schema=POD_SCHEMA, is_team_namespace=True)


def judged(
    sent: JsonObject, overlay: str, old: JsonObject | None = None
) -> tuple[JsonObject, Verdict]:
    """Returns the mutated object and validation's verdict: for a create, or an update."""
    facts, name = facts_of(overlay), sent["metadata"].get("name", "")
    if is_wrapped(sent):
        asked = request(sent, old=old, name=name)
        mutated = _mutated(
            sent, chain.check_size_limits(asked, facts.config) or chain.mutate(asked, facts)
        )
        asked = request(mutated, old=old, name=name)
        return mutated, chain.check_size_limits(asked, facts.config) or chain.validate(asked, facts)
    group = sent["apiVersion"].rpartition("/")[0]
    kind = f"{group}/{sent['kind']}" if group else sent["kind"]
    asked = request(sent, name=name, group_kind=kind)
    mutated = _mutated(sent, chain.mutate(asked, facts))
    asked = request(mutated, name=name, group_kind=kind)
    return mutated, chain.validate(asked, facts)


def _mutated(sent: JsonObject, verdict: Verdict) -> JsonObject:
    if not isinstance(verdict, Patched):
        assert isinstance(verdict, Allowed), verdict
        return sent
    changed: JsonObject = jsonpatch.apply_patch(sent, list(verdict.patch))
    return changed


def admitted(sent: JsonObject, overlay: str, old: JsonObject | None = None) -> JsonObject:
    """Returns the object as it is stored; fails if it is rejected."""
    mutated, verdict = judged(sent, overlay, old)
    assert isinstance(verdict, Allowed), verdict
    return mutated
