"""When the API server asks this webhook: both webhook configurations, made from ours. Pure."""

from typing import Final

import yaml

from shared.api import names
from shared.api.json import JsonObject
from shared.config.admission import LabelSelector
from shared.config.certificates import CertManagement
from shared.config.configuration import Configuration
from shared.kinds.table import KINDS
from webhook import match_conditions
from webhook.platform_identities import SERVICE_ACCOUNT

# Seconds that the API server waits. What rules need to know takes up to 6 for an AppWrapper, and up
# to 4 for anything else.
_TIMEOUT: Final = 10
_DIRECT_TIMEOUT: Final = 5
_LINE: Final = 100
# The Go operator's names of its two entries. Whatever applies manifests merges entries by their
# names: under other names its own would stay beside ours where `kubectl apply` did not make them,
# and lead to paths that nobody serves.
_MUTATE_APPWRAPPERS: Final = "mappwrapper.kb.io"
_VALIDATE_APPWRAPPERS: Final = "vappwrapper.kb.io"
_MUTATE_DIRECT_KINDS: Final = f"mdirectkinds.{names.GROUP}"
_VALIDATE_DIRECT_KINDS: Final = f"vdirectkinds.{names.GROUP}"


def registration(config: Configuration) -> tuple[JsonObject, JsonObject]:
    """The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration.

    Without caBundle: whoever makes the certificate fills it in.
    """
    ours = config.appwrapper
    mutating = [_appwrappers(_MUTATE_APPWRAPPERS, "/mutate", config)]
    if ours.default_queue_name_on_direct_kinds:
        mutating.append(_queueless_direct_kinds(config))
    validating = [_appwrappers(_VALIDATE_APPWRAPPERS, "/validate", config)]
    if "*" not in ours.allowed_kinds.direct:
        validating.append(_direct_kinds(config))
    # Never: nothing that a later webhook may change is looked at.
    mutating = [webhook | {"reinvocationPolicy": "Never"} for webhook in mutating]
    # The API server calls mutating webhooks in the order of their configurations' names. The
    # default ones sort before Kueue's, so that Kueue sees the queue name and suspends.
    names_of = config.cert_management
    return (
        _configuration(
            "MutatingWebhookConfiguration", names_of.mutating_webhook_config_name, mutating
        ),
        _configuration(
            "ValidatingWebhookConfiguration", names_of.validating_webhook_config_name, validating
        ),
    )


def registration_yaml(config: Configuration) -> str:
    """Both, as a file that `kubectl apply -f` takes."""
    text: str = yaml.dump_all(registration(config), Dumper=_Plain, sort_keys=False, width=_LINE)
    return text


def _appwrappers(name: str, path: str, config: Configuration) -> JsonObject:
    controller = f"{SERVICE_ACCOUNT}{config.cert_management.namespace}:appwrapper-controller"
    return {
        **_webhook(name, path, _TIMEOUT, config.cert_management),
        "rules": [_rule([names.GROUP], ["v1beta2"], ["CREATE", "UPDATE"], ["appwrappers"])],
        "matchConditions": match_conditions.on_appwrappers(
            controller, config.appwrapper.exemptions
        ),
    }


def _direct_kinds(config: Configuration) -> JsonObject:
    """Everything that lives in a namespace, when a team's user creates it."""
    ours = config.appwrapper
    return {
        **_webhook(_VALIDATE_DIRECT_KINDS, "/validate", _DIRECT_TIMEOUT, config.cert_management),
        "rules": [_rule(["*"], ["*"], ["CREATE"], ["*"])],
        "namespaceSelector": _selector(ours.team_namespace_selector),
        "matchConditions": match_conditions.on_direct_kinds(ours.allowed_kinds, ours.exemptions),
    }


def _queueless_direct_kinds(config: Configuration) -> JsonObject:
    plurals: dict[str, list[str]] = {}
    for kind in KINDS:
        if kind.unwrapped:
            plurals.setdefault(kind.resource.group, []).append(kind.resource.plural)
    rules = [_rule([group], ["*"], ["CREATE"], each) for group, each in plurals.items()]
    return {
        **_webhook(_MUTATE_DIRECT_KINDS, "/mutate", _DIRECT_TIMEOUT, config.cert_management),
        "rules": rules,
        "namespaceSelector": _selector(config.appwrapper.team_namespace_selector),
        "matchConditions": match_conditions.on_queueless_direct_kinds(config.appwrapper.exemptions),
    }


def _configuration(kind: str, name: str, webhooks: list[JsonObject]) -> JsonObject:
    labels = {"app.kubernetes.io/name": "appwrapper", "app.kubernetes.io/component": "webhook"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": labels},
        "webhooks": webhooks,
    }


def _webhook(name: str, path: str, timeout: int, served: CertManagement) -> JsonObject:
    service = {
        "namespace": served.namespace,
        "name": served.webhook_service_name,
        "path": path,
        "port": 443,
    }
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        # A request through a later version of an API is converted and judged all the same. With
        # Exact it would pass unjudged.
        "matchPolicy": "Equivalent",
        # What cannot be judged does not get in. What must not wait is in the match conditions.
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": timeout,
    }


def _rule(
    groups: list[str], versions: list[str], operations: list[str], resources: list[str]
) -> JsonObject:
    """No subresource: the controller's status writes never wait for the webhook."""
    return {
        "apiGroups": groups,
        "apiVersions": versions,
        "operations": operations,
        "resources": resources,
        "scope": "Namespaced",
    }


def _selector(selector: LabelSelector) -> JsonObject:
    """As the API server takes it; an empty one selects every namespace."""
    document: JsonObject = {}
    if selector.match_labels:
        document["matchLabels"] = dict(selector.match_labels)
    if selector.match_expressions:
        document["matchExpressions"] = [
            {"key": each.key, "operator": each.operator}
            | ({"values": list(each.values)} if each.values else {})
            for each in selector.match_expressions
        ]
    return document


class _Plain(yaml.SafeDumper):
    """As people write it: equal parts written out twice, expressions folded and not quoted."""

    def ignore_aliases(self, data: object) -> bool:
        """See `yaml`."""
        return True


def _plain_text(dumper: _Plain, text: str) -> yaml.ScalarNode:
    style = ">" if "'" in text or text.startswith("!") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _plain_text)
