"""Build the ValidatingAdmissionPolicies, which the API server evaluates itself. Pure.

Kueue counts quota at submission. After that, users in teams' namespaces cannot change or scale the
counted object, nor delete it without its dependents. The policies need no replica of the webhook.
docs/admins/policy.md explains them to users.

The API server evaluates a policy for each write of an object that its bindings select, also for
operators and kubelets. One condition therefore exempts the platform: CEL stops at its first test
that decides.
"""

from typing import Final

from shared.api import names
from shared.api.objects import PODS, JsonObject, Resource
from shared.config.configuration import Configuration
from shared.kinds.table import KINDS
from webhook.cel import (
    NO_ADMIN,
    WITHOUT_PODS,
    all_of,
    any_of,
    kind_of,
    literal,
    no_kind_of,
    user_not_in,
    user_not_in_group,
    user_without_prefix,
)
from webhook.registration import as_yaml, head, namespace_selector, rule
from webhook.rules.user import CONTROL_PLANE, NODES, SERVICE_ACCOUNT, exempt_namespaces

_PREFIX: Final = f"{names.GROUP}/"
_APPWRAPPERS: Final = Resource(names.GROUP, names.VERSION, names.PLURAL, names.KIND)
_RESIZE: Final = "pods/resize"  # the only subresource that changes a spec; it has the whole Pod
_EVICTION: Final = "pods/eviction"  # another form of deletion
# A service account of kube-system that acts for users.
_AUTOSCALER: Final = f"{SERVICE_ACCOUNT}kube-system:horizontal-pod-autoscaler"
# The rights identify operators: they may write their Kinds in every namespace. Programs in a team's
# namespace (Ray's autoscaler) may write them in that namespace at most.
_RESOURCE: Final = "authorizer.group(request.resource.group).resource(request.resource.resource)"
_NO_OPERATOR: Final = (
    f"!(request.userInfo.username.startsWith({literal(SERVICE_ACCOUNT)}) && "
    # A PATCH is an UPDATE here, and some have the right to nothing else.
    f"({_RESOURCE}.check(request.operation.lowerAscii()).allowed() || "
    f"{_RESOURCE}.check('patch').allowed()))"
)


def policies(config: Configuration) -> tuple[JsonObject, ...]:
    """Return each policy, followed by its bindings."""
    return (*_counted(config), *_scale(config), *_deletion(config))


def policies_yaml(config: Configuration) -> str:
    return as_yaml(policies(config))


# Counted objects do not change.

# If Kueue follows a job's size (annotation elastic-job, and a feature gate), its webhook adds this
# gate to every pod template. Each pod then waits until Kueue has counted it. The number
# of pods may therefore change if all templates have the gate. Kueue compares only numbers, so the
# templates may not change. Only Kueue can remove the gate: the policy freezes the pods' spec too.
_KUEUES_GATE: Final = "kueue.x-k8s.io/elastic-job"

_UNWRAPPED: Final = tuple(each.group_kind for each in KINDS if each.unwrapped)

_SPEC_CHANGED: Final = (
    "spec cannot be changed: Kueue counted it as it was submitted. To run something else, delete "
    "the AppWrapper or the job that was submitted, and create the new one"
)
_LABELS_CHANGED: Final = (
    "metadata.labels: a label cannot be changed or removed, because operators find the objects of "
    "an AppWrapper or a job by their labels. Keep the existing labels; you may add others"
)
_OUT_OF_THE_QUEUE: Final = (
    f"metadata.labels[{names.LABEL_QUEUE_NAME}] cannot be removed from an object that waits for "
    "quota or has it. Keep the label, or delete the object"
)
_CLAIMED: Final = (
    f"metadata.labels: only the platform sets or changes labels that begin with {_PREFIX}. Leave "
    "them as they are"
)
_OWNERS_CHANGED: Final = (
    "metadata.ownerReferences cannot be changed, because quota is counted for the owner. Leave "
    "them as they are"
)


def _counted(config: Configuration) -> list[JsonObject]:
    """Keep counted objects unchanged. Labels come first: the other tests rely on them."""
    rules = rule(["*"], ["*"], ["UPDATE"], ["*", _RESIZE])
    conditions = [no_kind_of([_APPWRAPPERS.gvk.group_kind, *WITHOUT_PODS]), *_users(config)]
    ours, queue = literal(names.LABEL_APPWRAPPER), literal(names.LABEL_QUEUE_NAME)
    variables = {
        "labels": _of("oldObject", "labels", "{}"),
        "newLabels": _of("object", "labels", "{}"),
        "owners": _of("oldObject", "ownerReferences", "[]"),
        "newOwners": _of("object", "ownerReferences", "[]"),
        "wrapped": f"{ours} in variables.labels",
        "controlled": _controlled("variables.owners"),
        "queued": f"{queue} in variables.labels && variables.labels[{queue}] != ''",
        "below": "variables.wrapped || variables.controlled",
        # An object without a queue name waits for one, and must not change until then.
        "counted": f"variables.below || variables.queued || {kind_of(_UNWRAPPED)}",
        "elastic": f"!variables.wrapped && ({_gated_job()} || {_gated_ray_cluster()})",
    }
    keep = "variables.newLabels.all(key, !key.startsWith({0}) || (key in variables.labels && "
    validations = {
        _CLAIMED: (keep + "variables.labels[key] == variables.newLabels[key]))").format(
            literal(_PREFIX)
        ),
        _LABELS_CHANGED: "!variables.below || variables.labels.all(key, key in "
        "variables.newLabels && variables.newLabels[key] == variables.labels[key])",
        _OUT_OF_THE_QUEUE: "!variables.queued || variables.below || "
        f"({queue} in variables.newLabels && variables.newLabels[{queue}] != '')",
        _OWNERS_CHANGED: f"(!variables.counted && !{_controlled('variables.newOwners')}) || "
        "variables.newOwners == variables.owners",
        _SPEC_CHANGED: f"!variables.counted || variables.elastic || ({_same('spec')})",
    }
    policy = _policy("appwrapper-counted", rules, conditions, validations, variables)
    return [policy, *_bindings("appwrapper-counted", config, _making_pods())]


def _of(source: str, field: str, otherwise: str) -> str:
    return f"has({source}.metadata.{field}) ? {source}.metadata.{field} : {otherwise}"


def _controlled(owners: str) -> str:
    return f"{owners}.exists(owner, has(owner.controller) && owner.controller)"


def _same(field: str, new: str = "object", old: str = "oldObject") -> str:
    return (
        f"has({new}.{field}) == has({old}.{field}) && "
        f"(!has({new}.{field}) || {new}.{field} == {old}.{field})"
    )


def _gated_job() -> str:
    return (
        f"(!variables.controlled && {kind_of(['batch/Job'])} && {_gated('object.spec')} && "
        f"{_same('spec.template')})"
    )


def _gated_ray_cluster() -> str:
    """Test a RayCluster, also one of a RayJob. Names identify its groups, as in Kueue."""
    groups = "spec.workerGroupSpecs"
    alike = " && ".join(_same(each, "group", "old") for each in ("groupName", "template", "labels"))
    return (
        f"({kind_of(['ray.io/RayCluster'])} && {_gated('object.spec.headGroupSpec')} && "
        f"{_same('spec.headGroupSpec')} && {_same('spec.autoscalerOptions')} && "
        f"has(object.{groups}) == has(oldObject.{groups}) && "
        f"(!has(object.{groups}) || object.{groups}.all(group, {_gated('group')} && "
        f"oldObject.{groups}.exists(old, {alike}))))"
    )


def _gated(holder: str) -> str:
    gates = f"{holder}.template.spec.schedulingGates"
    return f"has({gates}) && {gates}.exists(gate, gate.name == {literal(_KUEUES_GATE)})"


# The subresource `scale` shows neither labels nor owners of the scaled object.

_SCALED: Final = (
    "replicas cannot be set by the subresource scale (kubectl scale, a HorizontalPodAutoscaler), "
    "which does not show whether the object belongs to an AppWrapper or a queue. Delete the "
    "AppWrapper or the job and create it again with another count. If the object is neither "
    "wrapped nor queued, change spec.replicas itself (kubectl edit)"
)


def _scale(config: Configuration) -> list[JsonObject]:
    """Reject the subresource scale, also for operators: those that scale (KEDA) act for users."""
    rules = rule(["*"], ["*"], ["UPDATE"], ["*/scale"])
    conditions = [*_names(config), NO_ADMIN]
    policy = _policy("appwrapper-scale", rules, conditions, {_SCALED: "false"})
    return [policy, _binding("appwrapper-scale", "appwrapper-scale", config)]


# A deletion includes all dependents.

_ORPHANED: Final = (
    "propagationPolicy: Orphan (kubectl delete --cascade=orphan; orphanDependents: true) would "
    "leave its dependents running without quota. Delete it with --cascade=background or "
    "--cascade=foreground"
)
_ORPHANING: Final = (
    "metadata.finalizers: the finalizer orphan would leave the object's dependents running "
    "without quota. Remove the finalizer"
)
_LINGERING: Final = (
    "gracePeriodSeconds (kubectl delete --grace-period, an eviction): a deleted pod may keep its "
    "devices for at most {0} seconds. Ask for no more, or leave it out"
)
_LET_GO: Final = (
    f"metadata.finalizers: {names.FINALIZER} cannot be removed: the controller removes it once all "
    "pods are gone, and releases the quota then. Wait, or see why in status.conditions"
)
_ENDING: Final = (
    "spec cannot be changed while the AppWrapper is being deleted: its controller might not "
    "recognize what it has to delete. Wait until it is gone, then create it again"
)


def _deletion(config: Configuration) -> list[JsonObject]:
    """Keep deletions complete. The operation is tested before the user: it matches rarely."""
    rules = rule(["*"], ["*"], ["CREATE", "UPDATE", "DELETE"], ["*", _EVICTION])
    orphaned = "request.operation == 'DELETE' && has(request.options) && " + (
        f"({_option('propagationPolicy', 'Orphan')} || {_option('orphanDependents', True)})"
    )
    orphaning = (
        f"request.operation != 'DELETE' && {_has_finalizer('object', 'orphan')} && "
        f"(request.operation == 'CREATE' || !({_has_finalizer('oldObject', 'orphan')}))"
    )
    # The API server calls no webhook for these.
    ending = (
        "request.operation == 'UPDATE' && "
        f"request.resource.group == {literal(names.GROUP)} && "
        "has(oldObject.metadata.deletionTimestamp)"
    )
    let_go = (
        f"{ending} && {_has_finalizer('oldObject', names.FINALIZER)} && "
        f"!({_has_finalizer('object', names.FINALIZER)})"
    )
    longest = int(config.appwrapper.fault_tolerance.forceful_deletion_grace_period.total_seconds())
    lingering = (
        f"(request.operation == 'DELETE' && {kind_of(['Pod'])} && "
        f"{_longer('request.options', longest)}) || (request.operation == 'CREATE' && "
        f"request.subResource == 'eviction' && {_longer('object.deleteOptions', longest)})"
    )
    found = {
        _ORPHANED: orphaned,
        _LINGERING.format(longest): lingering,
        _ORPHANING: orphaning,
        _LET_GO: let_go,
        _ENDING: f"{ending} && !({_same('spec')})",
    }
    conditions = [any_of(found.values()), no_kind_of(WITHOUT_PODS), *_users(config)]
    validations = {message: f"!({text})" for message, text in found.items()}
    policy = _policy("appwrapper-deletion", rules, conditions, validations)
    resources = [_APPWRAPPERS, *_making_pods()]
    return [policy, *_bindings("appwrapper-deletion", config, resources)]


def _longer(options: str, seconds: int) -> str:
    asked = f"{options}.gracePeriodSeconds"
    return f"has({options}) && has({asked}) && {asked} > {seconds}"


def _option(name: str, value: object) -> str:
    wanted = "true" if value is True else literal(str(value))
    return f"(has(request.options.{name}) && request.options.{name} == {wanted})"


def _has_finalizer(source: str, finalizer: str) -> str:
    held = f"{source}.metadata.finalizers"
    return f"has({held}) && {literal(finalizer)} in {held}"


# The exempt users.


def _users(config: Configuration) -> list[str]:
    return [*_names(config), NO_ADMIN, _NO_OPERATOR]


def _names(config: Configuration) -> list[str]:
    """Exempt nodes, the control plane, Kueue, this operator, and the exempt namespaces."""
    exemptions = config.appwrapper.exemptions
    ours = f"{SERVICE_ACCOUNT}{config.cert_management.namespace}:appwrapper-"
    accounts = [f"{SERVICE_ACCOUNT}{name}:" for name in exempt_namespaces(exemptions)]
    platform = (*CONTROL_PLANE, *exemptions.quota_managers, f"{ours}controller", f"{ours}webhook")
    return [
        user_not_in_group(NODES),
        user_not_in(platform),
        f"request.userInfo.username == {literal(_AUTOSCALER)} || {user_without_prefix(accounts)}",
    ]


# The selected objects.


def _making_pods() -> list[Resource]:
    """Return pods, Kinds with pods, and the Kinds in between that operators create."""
    with_pods = [kind.resource for kind in KINDS if kind.pod_sets is not None]
    made = [maker.resource for kind in KINDS for maker in kind.makers]
    return list(dict.fromkeys([*with_pods, *made, PODS]))


# Labels select objects of all Kinds; names select objects of known Kinds without these labels. The
# API server evaluates an object twice only if the write adds or removes such a label.


def _bindings(policy: str, config: Configuration, resources: list[Resource]) -> list[JsonObject]:
    ours, queue = names.LABEL_APPWRAPPER, names.LABEL_QUEUE_NAME
    named: dict[str, list[str]] = {}
    for each in resources:
        named.setdefault(each.group, []).append(each.plural)
    named.setdefault(PODS.group, []).extend([_RESIZE, _EVICTION])
    rules = [rule([group], ["*"], ["*"], plurals) for group, plurals in named.items()]
    selected = {
        "wrapped": _selects({ours: "Exists"}),
        "queued": _selects({ours: "DoesNotExist", queue: "Exists"}),
        "others": _selects({ours: "DoesNotExist", queue: "DoesNotExist"})
        | {"resourceRules": rules},
    }
    return [_binding(policy, f"{policy}-{name}", config, each) for name, each in selected.items()]


def _selects(labels: dict[str, str]) -> JsonObject:
    found = [{"key": key, "operator": operator} for key, operator in labels.items()]
    return {"objectSelector": {"matchExpressions": found}}


# The form of policies and bindings.


def _policy(
    name: str,
    constraint: JsonObject,
    conditions: list[str],
    validations: dict[str, str],
    variables: dict[str, str] | None = None,
) -> JsonObject:
    """Build a policy. `validations` maps the message for users to its expression."""
    named = [{"name": each, "expression": text} for each, text in (variables or {}).items()]
    return {
        **head("ValidatingAdmissionPolicy", name, "policy"),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [constraint]},
            "matchConditions": [{"name": "users", "expression": all_of(conditions)}],
            **({"variables": named} if named else {}),
            "validations": [
                {"expression": text, "message": message, "reason": "Forbidden"}
                for message, text in validations.items()
            ],
        },
    }


def _binding(
    policy: str, name: str, config: Configuration, selected: JsonObject | None = None
) -> JsonObject:
    teams = namespace_selector(config.appwrapper.team_namespace_selector)
    return {
        **head("ValidatingAdmissionPolicyBinding", name, "policy"),
        "spec": {
            "policyName": policy,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": teams, **(selected or {})},
        },
    }
