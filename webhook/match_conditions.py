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

from shared.api import names
from shared.api.json import JsonObject
from shared.config.admission import AllowedKinds, Exemptions
from shared.kinds.table import KINDS
from webhook.platform_identities import CONTROL_PLANE, NODES, SERVICE_ACCOUNT, exempt_namespaces

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
