"""Build the webhook configurations and their match conditions (CEL). Pure.

Match conditions exclude requests that must not wait for the webhook. The API server evaluates them
itself, so they need no replica: finalizers are removed, Kueue admits and evicts, operators create
pods, kubelets work. The API server evaluates all conditions of a webhook each time and rejects the
request if one fails with an error. They are therefore few and cheap, and read only fields that
every request has. For a CREATE in a team's namespace there is one condition: CEL stops at its first
test that decides, and most of these requests are events.
"""

from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import yaml

from shared.api import names
from shared.api.objects import JsonObject
from shared.kinds.kind import Kind
from shared.kinds.table import KINDS
from webhook.cel import (
    NO_ADMIN,
    WITHOUT_PODS,
    all_of,
    list_of,
    literal,
    no_kind_of,
    user_not_in,
    user_not_in_group,
    user_without_prefix,
)
from webhook.rules.submission import in_object
from webhook.rules.user import CONTROL_PLANE, NODES, SERVICE_ACCOUNT, exempt_namespaces

if TYPE_CHECKING:
    from shared.config.configuration import (
        AllowedKinds,
        CertManagement,
        Configuration,
        Exemptions,
        LabelSelector,
    )


def on_appwrappers(controller: str, exemptions: "Exemptions") -> list[JsonObject]:
    """Return the conditions for AppWrappers. None excludes a CREATE: every submission is checked.

    `controller` is the user name of this operator's controller. The old object decides about the
    deletion: a request could set the timestamp in the new one.
    """
    conditions = {
        "not-being-deleted": "!has(oldObject.metadata.deletionTimestamp)",
        "not-updated-by-the-controller": user_not_in([controller]),
    }
    if exemptions.quota_managers:
        conditions["not-updated-by-quota-managers"] = user_not_in(exemptions.quota_managers)
    return [
        {"name": name, "expression": f"request.operation == 'CREATE' || {text}"}
        for name, text in conditions.items()
    ]


# Groups with leases and access reviews only.
_NO_WORKLOADS: Final = (
    "coordination.k8s.io",
    "authorization.k8s.io",
    "authorization.openshift.io",
)
_EVENTS: Final = ("Event", "events.k8s.io/Event")


def is_asked_about(group_kind: str) -> bool:
    """True if the API server calls the webhook when a team's user creates this namespaced Kind."""
    return group_kind not in _EVENTS and group_kind.rpartition("/")[0] not in _NO_WORKLOADS


def on_direct_kinds(allowed: "AllowedKinds", exemptions: "Exemptions") -> list[JsonObject]:
    """Return the conditions for directly created objects, the most frequent test first."""
    unproblematic = [kind for kind in WITHOUT_PODS if kind in allowed.direct]
    tests = [
        "!(request.resource.group in ['', 'events.k8s.io'] && "
        "request.resource.resource == 'events')",
        f"!(request.resource.group in {list_of(_NO_WORKLOADS)})",
        no_kind_of([f"{names.GROUP}/{names.KIND}", *unproblematic]),
        *_identities(exemptions),
    ]
    return _in_one("users-and-what-may-hold-pods", tests)


def on_queueless_direct_kinds(exemptions: "Exemptions") -> list[JsonObject]:
    """Return the conditions for objects to which the webhook would add a queue name."""
    key = literal(names.LABEL_QUEUE_NAME)
    tests = [
        f"!has(object.metadata.labels) || !({key} in object.metadata.labels) || "
        f"object.metadata.labels[{key}] == ''",
        "!has(object.metadata.ownerReferences) || "
        "!object.metadata.ownerReferences.exists(owner, has(owner.controller) && owner.controller)",
        *_identities(exemptions),
    ]
    return _in_one("users-without-a-queue", tests)


def on_left_pods(paths: Iterable[str], exemptions: "Exemptions") -> list[JsonObject]:
    """Return the conditions for objects without a policy for their pods at the end."""
    unset = " || ".join(_unset(path) for path in dict.fromkeys(paths))
    return _in_one("users-who-leave-pods", [unset, *_identities(exemptions)])


def _unset(path: str) -> str:
    """Test that an object has nothing at a path of its Kind's record."""
    steps = [f"object.{step}" for step in accumulate(in_object(path).split("."), "{}.{}".format)]
    return " || ".join(f"!has({step})" for step in steps)


def _identities(exemptions: "Exemptions") -> list[str]:
    """Exclude nodes, the control plane, exempt namespaces, and last (it costs most) admins."""
    accounts = [f"{SERVICE_ACCOUNT}{name}:" for name in exempt_namespaces(exemptions)]
    return [
        user_not_in_group(NODES),
        user_not_in(CONTROL_PLANE),
        user_without_prefix(accounts),
        NO_ADMIN,
    ]


def _in_one(name: str, tests: Iterable[str]) -> list[JsonObject]:
    """Combine the tests in one condition: the API server calls the webhook if all hold."""
    return [{"name": name, "expression": all_of(tests)}]


# Both webhook configurations, from the operator's configuration.

# Seconds that the API server waits. Gathering facts needs at most 7 for an AppWrapper, and at most
# 5 for other objects.
_TIMEOUT: Final = 10
_DIRECT_TIMEOUT: Final = 6
_LINE: Final = 100
_KIND: Final = "WebhookConfiguration"
# The Go operator's names of its two entries. Clients merge entries by name. With other names, the
# Go operator's entries would remain unless `kubectl apply` made them, and their paths would fail.
_MUTATE_APPWRAPPERS: Final = "mappwrapper.kb.io"
_VALIDATE_APPWRAPPERS: Final = "vappwrapper.kb.io"
_MUTATE_DIRECT_KINDS: Final = f"mdirectkinds.{names.GROUP}"
_MUTATE_LEFT_PODS: Final = f"mleftpods.{names.GROUP}"
_VALIDATE_DIRECT_KINDS: Final = f"vdirectkinds.{names.GROUP}"


def registration(config: "Configuration") -> tuple[JsonObject, JsonObject]:
    """Return the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration.

    Both lack the caBundle: the issuer of the certificate adds it.
    """
    ours = config.appwrapper
    mutating = [_appwrappers(_MUTATE_APPWRAPPERS, "/mutate", config)]
    if ours.default_queue_name_on_direct_kinds:
        mutating.append(_queueless_direct_kinds(config))
    mutating += _left_pods(config)
    validating = [_appwrappers(_VALIDATE_APPWRAPPERS, "/validate", config)]
    if "*" not in ours.allowed_kinds.direct:
        validating.append(_direct_kinds(config))
    # Never: the mutating rules do not depend on changes by later webhooks.
    mutating = [webhook | {"reinvocationPolicy": "Never"} for webhook in mutating]
    # The API server calls mutating webhooks in the order of their configurations' names. The
    # default ones sort before Kueue's, so that Kueue sees the queue name and suspends.
    names_of = config.cert_management
    return (
        head(f"Mutating{_KIND}", names_of.mutating_webhook_config_name, "webhook")
        | {"webhooks": mutating},
        head(f"Validating{_KIND}", names_of.validating_webhook_config_name, "webhook")
        | {"webhooks": validating},
    )


def registration_yaml(config: "Configuration") -> str:
    return as_yaml(registration(config))


def as_yaml(documents: Iterable[JsonObject]) -> str:
    """Write the documents as people write YAML."""
    text: str = yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=_LINE)
    return text


def _appwrappers(name: str, path: str, config: "Configuration") -> JsonObject:
    controller = f"{SERVICE_ACCOUNT}{config.cert_management.namespace}:appwrapper-controller"
    return {
        **_webhook(name, path, _TIMEOUT, config.cert_management),
        "rules": [rule([names.GROUP], ["v1beta2"], ["CREATE", "UPDATE"], ["appwrappers"])],
        "matchConditions": on_appwrappers(controller, config.appwrapper.exemptions),
    }


def _direct_kinds(config: "Configuration") -> JsonObject:
    """Select every namespaced object that a team's user creates."""
    ours = config.appwrapper
    rules = [rule(["*"], ["*"], ["CREATE"], ["*"])]
    conditions = on_direct_kinds(ours.allowed_kinds, ours.exemptions)
    return _in_teams(_VALIDATE_DIRECT_KINDS, "/validate", rules, conditions, config)


def _queueless_direct_kinds(config: "Configuration") -> JsonObject:
    rules = _creations(kind for kind in KINDS if kind.unwrapped)
    conditions = on_queueless_direct_kinds(config.appwrapper.exemptions)
    return _in_teams(_MUTATE_DIRECT_KINDS, "/mutate", rules, conditions, config)


def _left_pods(config: "Configuration") -> list[JsonObject]:
    """Return one webhook, or none if the configuration allows no such Kind or all Kinds."""
    allowed = config.appwrapper.allowed_kinds.direct
    kinds = [kind for kind in KINDS if kind.left_pods and kind.group_kind in allowed]
    if "*" in allowed or not kinds:
        return []
    paths = [kind.left_pods.path for kind in kinds if kind.left_pods]
    conditions = on_left_pods(paths, config.appwrapper.exemptions)
    return [_in_teams(_MUTATE_LEFT_PODS, "/mutate", _creations(kinds), conditions, config)]


def _in_teams(
    name: str,
    path: str,
    rules: list[JsonObject],
    conditions: list[JsonObject],
    config: "Configuration",
) -> JsonObject:
    return {
        **_webhook(name, path, _DIRECT_TIMEOUT, config.cert_management),
        "rules": rules,
        "namespaceSelector": namespace_selector(config.appwrapper.team_namespace_selector),
        "matchConditions": conditions,
    }


def _creations(kinds: Iterable[Kind]) -> list[JsonObject]:
    plurals: dict[str, list[str]] = {}
    for kind in kinds:
        plurals.setdefault(kind.resource.group, []).append(kind.resource.plural)
    return [rule([group], ["*"], ["CREATE"], each) for group, each in plurals.items()]


def _webhook(name: str, path: str, timeout: int, served: "CertManagement") -> JsonObject:
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
        # The API server converts a request of a later API version and sends it. With Exact it would
        # admit such a request unchecked.
        "matchPolicy": "Equivalent",
        # An unchecked request is not admitted. Match conditions exclude requests that must not
        # wait.
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": timeout,
    }


def head(kind: str, name: str, component: str) -> JsonObject:
    """Return the beginning of a webhook configuration, a policy or a binding."""
    labels = {"app.kubernetes.io/name": "appwrapper", "app.kubernetes.io/component": component}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": labels},
    }


def rule(
    groups: list[str], versions: list[str], operations: list[str], resources: list[str]
) -> JsonObject:
    """Build a rule of a webhook or a policy. Webhooks have no subresources: no status waits."""
    return {
        "apiGroups": groups,
        "apiVersions": versions,
        "operations": operations,
        "resources": resources,
        "scope": "Namespaced",
    }


def namespace_selector(selector: "LabelSelector") -> JsonObject:
    """Return the selector as the API server's JSON; an empty one selects every namespace."""
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
    """Write YAML as people do: no aliases for equal parts, expressions folded and not quoted."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _plain_text(dumper: _Plain, text: str) -> yaml.ScalarNode:
    style = ">" if "'" in text or text.startswith("!") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _plain_text)
