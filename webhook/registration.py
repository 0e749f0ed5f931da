"""Whom and what the API server does not ask this webhook about: match conditions, in CEL. Pure.

Each spares requests that must not wait for the webhook. The API server evaluates them itself, so
they hold when no replica runs: finalizers go, Kueue admits and evicts, operators create pods,
kubelets work. It evaluates all of a webhook's conditions each time, and one that fails refuses the
request: so they are few and cheap, and read only fields that every request has. What every CREATE
in a team's namespace is asked stands in one condition, since CEL stops at the first answer that
decides: most are events.
"""

from collections.abc import Iterable
from typing import Final

import yaml

from shared.api import names
from shared.api.objects import JsonObject
from shared.config.configuration import (
    AllowedKinds,
    CertManagement,
    Configuration,
    Exemptions,
    LabelSelector,
)
from shared.kinds.table import KINDS
from webhook.rules.user import CONTROL_PLANE, NODES, SERVICE_ACCOUNT, exempt_namespaces

# Kinds that hold no pods: where they are allowed there is nothing to judge, and no Secret comes to
# us. A Kind that is not known to hold none is asked about.
_NEVER_WRAPPED: Final = {
    "networking.k8s.io/Ingress",
    "networking.k8s.io/NetworkPolicy",
    "policy/PodDisruptionBudget",
    "rbac.authorization.k8s.io/Role",
    "rbac.authorization.k8s.io/RoleBinding",
}
WITHOUT_PODS: Final = tuple(
    sorted(_NEVER_WRAPPED | {each.group_kind for each in KINDS if each.pod_sets is None})
)


def on_appwrappers(controller: str, exemptions: Exemptions) -> list[JsonObject]:
    """None spares a CREATE: whoever submits is judged. `controller` is our controller's user name.

    The old object is asked about its deletion, since a request could claim one in the new.
    """
    conditions = {
        "not-being-deleted": "!has(oldObject.metadata.deletionTimestamp)",
        "not-updated-by-the-controller": _nobody_of([controller]),
    }
    if exemptions.quota_managers:
        conditions["not-updated-by-quota-managers"] = _nobody_of(exemptions.quota_managers)
    return _conditions(
        {name: f"request.operation == 'CREATE' || {text}" for name, text in conditions.items()}
    )


def on_direct_kinds(allowed: AllowedKinds, exemptions: Exemptions) -> list[JsonObject]:
    """For the rule about what teams create without wrapping it. The commonest first."""
    unproblematic = [kind for kind in WITHOUT_PODS if kind in allowed.direct]
    tests = [
        "!(request.resource.group in ['', 'events.k8s.io'] && "
        "request.resource.resource == 'events')",
        "!(request.resource.group in ['coordination.k8s.io', 'authorization.k8s.io'])",
        _no_kind_of([f"{names.GROUP}/{names.KIND}", *unproblematic]),
        *_identities(exemptions),
    ]
    return _in_one("users-and-what-may-hold-pods", tests)


def on_queueless_direct_kinds(exemptions: Exemptions) -> list[JsonObject]:
    """For the rule that names the queue: asked only where it would add one."""
    key = _text(names.LABEL_QUEUE_NAME)
    tests = [
        f"!has(object.metadata.labels) || !({key} in object.metadata.labels) || "
        f"object.metadata.labels[{key}] == ''",
        "!has(object.metadata.ownerReferences) || "
        "!object.metadata.ownerReferences.exists(owner, has(owner.controller) && owner.controller)",
        *_identities(exemptions),
    ]
    return _in_one("users-without-a-queue", tests)


def _identities(exemptions: Exemptions) -> list[str]:
    """Not of nodes, the control plane, exempt namespaces, nor (that costs most) cluster admins."""
    accounts = [f"{SERVICE_ACCOUNT}{name}:" for name in exempt_namespaces(exemptions)]
    return [
        f"!({_text(NODES)} in request.userInfo.groups)",
        _nobody_of(CONTROL_PLANE),
        f"!{_list(accounts)}.exists(prefix, request.userInfo.username.startsWith(prefix))",
        "!authorizer.group('*').resource('*').check('*').allowed()",
    ]


def _nobody_of(users: Iterable[str]) -> str:
    return f"!(request.userInfo.username in {_list(users)})"


def _no_kind_of(group_kinds: Iterable[str]) -> str:
    """`group_kinds` are `group/Kind`, or `Kind` in the core group."""
    slashed = (kind if "/" in kind else f"/{kind}" for kind in group_kinds)
    return f"!(request.kind.group + '/' + request.kind.kind in {_list(slashed)})"


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """A CEL literal. What is configured may hold any character."""
    escaped = (
        character
        if character.isprintable() and character not in "'\\"
        else f"\\U{ord(character):08x}"
        for character in text
    )
    return f"'{''.join(escaped)}'"


def _in_one(name: str, tests: Iterable[str]) -> list[JsonObject]:
    """A webhook is asked where every test holds."""
    return [{"name": name, "expression": " && ".join(f"({test})" for test in tests)}]


def _conditions(expressions: dict[str, str]) -> list[JsonObject]:
    return [{"name": name, "expression": text} for name, text in expressions.items()]


# When the API server asks this webhook: both webhook configurations, made from ours.

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
        "matchConditions": on_appwrappers(controller, config.appwrapper.exemptions),
    }


def _direct_kinds(config: Configuration) -> JsonObject:
    """Everything that lives in a namespace, when a team's user creates it."""
    ours = config.appwrapper
    return {
        **_webhook(_VALIDATE_DIRECT_KINDS, "/validate", _DIRECT_TIMEOUT, config.cert_management),
        "rules": [_rule(["*"], ["*"], ["CREATE"], ["*"])],
        "namespaceSelector": _selector(ours.team_namespace_selector),
        "matchConditions": on_direct_kinds(ours.allowed_kinds, ours.exemptions),
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
        "matchConditions": on_queueless_direct_kinds(config.appwrapper.exemptions),
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
