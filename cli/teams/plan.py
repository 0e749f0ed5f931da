"""Plan `team create` from the existing objects and the admin's settings. Pure.

Missing objects are created. Existing objects are changed only if the admin asked for that change:
users are added, --change-quota sets quotas, --adopt labels a namespace. Every other difference is
only reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cli.pod_security import ENFORCE, OWN_LEVEL, labels_for
from cli.teams.manifests import (
    CREATORS_ROLE,
    TeamSettings,
    queue_name,
    quota_value,
    resource_group,
    team_objects,
)
from cli.teams.quotas import CapacityRow
from shared.api.amounts import amount_text, read_amount
from shared.api.objects import JsonObject, JsonValue, Resource, is_being_deleted, labels
from shared.config.configuration import AppWrapperConfig
from shared.kinds.table import KINDS
from shared.waits.quota import cohort_of, written_quotas

KindAndName = tuple[str, str]  # Kind and name, unique within a team
Live = Mapping[KindAndName, JsonObject]
_BUILT_IN: Final = ("", "apps", "batch")


class Action(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Difference:
    """A differing field of an existing object. `remedy`: how the admin can resolve it."""

    field: str
    found: str
    wanted: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """The plan for one object. `left`: differences from the settings that are not changed.

    `manifest`: the object to apply, with the values of the existing object and the changes.
    """

    kind: str
    name: str
    namespace: str | None
    action: Action
    changes: tuple[Difference, ...]
    left: tuple[Difference, ...]
    manifest: JsonObject
    # The version that was read: a write fails if another client changed the object since.
    resource_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPlan:
    """The report of `team create`. With `dry_run` or any `refused` nothing was written."""

    team: str
    dry_run: bool
    objects: tuple[ObjectPlan, ...]
    capacity: tuple[CapacityRow, ...]
    warnings: tuple[str, ...]
    refused: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """True if an object still differs from the settings afterwards."""
        return any(each.left for each in self.objects)

    @property
    def changes_anything(self) -> bool:
        """True if at least one object is written."""
        return any(each.action is not Action.KEEP for each in self.objects)


def object_plans(settings: TeamSettings, live: Live) -> tuple[ObjectPlan, ...]:
    """Plan each object of the team, in the order of the writes."""
    plans: list[ObjectPlan] = []
    for wanted in team_objects(settings):
        kind = wanted["kind"]
        first = next((each for each in plans if each.kind == "RoleBinding"), None)
        if first is not None:
            # Its users have the other rights of the team too, also whom an admin added by hand.
            users = first.manifest["subjects"]
            settings = replace(settings, subjects=tuple(users))
            wanted["subjects"] = users
        found = live.get((kind, wanted["metadata"]["name"]))
        plans.append(_object_plan(wanted, found, settings))
    return tuple(plans)


def refusals(settings: TeamSettings, live: Live, config: AppWrapperConfig) -> Iterator[str]:
    """Yield the reasons to refuse this team; then nothing is written."""
    team = settings.name
    namespace = live.get(("Namespace", team))
    if why := never_a_team_because(team, config):
        yield f"{why}: choose another name for the team"
    elif namespace is not None and is_being_deleted(namespace):
        yield f"namespace {team} is being deleted: wait until it is gone, then run this again"
    elif namespace is not None and not _is_team(namespace, settings) and not settings.adopt:
        missing = ", ".join(f"{key}={value}" for key, value in settings.labels.items())
        yield (
            f"namespace {team} exists and is not a team's: it lacks the label {missing}."
            " With the label Kueue queues its workloads, and the webhook restricts what users"
            " create. Add --adopt to make it a team's"
        )
    for (kind, name), item in live.items():
        if kind != "Namespace" and is_being_deleted(item):
            yield f"{kind} {name} is being deleted: wait until it is gone, then run this again"


def never_a_team_because(team: str, config: AppWrapperConfig) -> str:
    """Return why no team can have this name, "" if one can."""
    if _is_of_the_cluster(team, config.exemptions.service_account_namespaces):
        return f"namespace {team} belongs to the cluster"
    if queue_name(team) == config.slack_queue.name:
        return f"ClusterQueue {queue_name(team)} is the slack queue"
    return ""


def _is_of_the_cluster(namespace: str, reserved: Sequence[str]) -> bool:
    """True if the namespace belongs to the cluster. Its labels cannot make it a team's."""
    return namespace in reserved or namespace.startswith("kube-") or namespace == "default"


def over_capacity(rows: Sequence[CapacityRow]) -> Iterator[str]:
    """Describe each resource whose quotas together exceed the capacity."""
    for row in rows:
        if row.is_exceeded and row.schedulable is not None:
            yield (
                f"all quotas of {row.resource} in flavor {row.flavor} add up to"
                f" {amount_text(row.quotas_after, row.resource)}, and pods can have"
                f" {amount_text(row.schedulable, row.resource)}"
            )


def not_creatable(role: JsonObject, config: AppWrapperConfig) -> Iterator[str]:
    """Describe the Kinds with pods, of those in every cluster, that a role lets no user wrap."""
    if not config.user_rbac_admission_check:
        return
    kinds = [
        each.resource.kind
        for each in KINDS
        if each.pod_sets is not None
        and each.resource.group in _BUILT_IN
        and each.resource.gvk.group_kind in config.allowed_kinds.wrapped
        and not any(_lets_create(rule, each.resource) for rule in role.get("rules") or ())
    ]
    if kinds:
        yield (
            f"ClusterRole {role['metadata']['name']} lets no user create {', '.join(kinds)}. The"
            " webhook (userRBACAdmissionCheck) refuses AppWrappers with what their user may not"
            f" create: bind a role that allows it, such as {CREATORS_ROLE}, in the team's namespace"
        )


def _lets_create(rule: JsonObject, resource: Resource) -> bool:
    wanted = (("apiGroups", resource.group), ("resources", resource.plural), ("verbs", "create"))
    return not rule.get("resourceNames") and all(
        {"*", value} & set(rule.get(key) or ()) for key, value in wanted
    )


def not_covered(queue: JsonObject, others: Sequence[JsonObject]) -> Iterator[str]:
    """Describe resources that other queues of the cohort cover and this one does not.

    Kueue never admits a workload that requests a resource without quota in its ClusterQueue,
    except `pods`: Kueue counts pods only if the ClusterQueue has quota for them.
    """
    covered = {resource for (_, resource), _ in written_quotas(queue)}
    elsewhere = {
        resource
        for each in others
        if cohort_of(each) == cohort_of(queue)
        for (_, resource), _ in written_quotas(each)
        if resource != "pods"
    }
    missing = sorted((elsewhere | {"cpu", "memory"}) - covered)
    if missing:
        yield (
            f"ClusterQueue {queue['metadata']['name']} does not cover {', '.join(missing)}: Kueue"
            " never admits a workload that asks for it. Give"
            f" {' '.join(f'--quota {each}=AMOUNT' for each in missing)}, with 0 to borrow only"
        )


def _is_team(namespace: JsonObject, settings: TeamSettings) -> bool:
    return settings.labels.items() <= labels(namespace).items()


def _object_plan(
    wanted: JsonObject, found: JsonObject | None, settings: TeamSettings
) -> ObjectPlan:
    kind, name = wanted["kind"], wanted["metadata"]["name"]
    namespace = wanted["metadata"].get("namespace")
    if found is None:
        return ObjectPlan(kind, name, namespace, Action.CREATE, (), (), wanted)
    changes, left, manifest = _OF_KIND[kind](wanted, found, settings)
    action = Action.CHANGE if changes else Action.KEEP
    version = found["metadata"]["resourceVersion"]
    return ObjectPlan(kind, name, namespace, action, tuple(changes), tuple(left), manifest, version)


_Outcome = tuple[list[Difference], list[Difference], JsonObject]


def _namespace(wanted: JsonObject, found: JsonObject, settings: TeamSettings) -> _Outcome:
    own = labels(found)
    missing = [
        each
        for key, value in settings.labels.items()
        for each in _differences(f"metadata.labels[{key}]", own.get(key), value)
    ]
    # Another level could break the team's workloads, so the admin sets it by hand.
    level = labels_for(settings.pod_security) if settings.pod_security else {}
    by_hand = f"set it by kubectl label --overwrite namespace {settings.name}"
    left = [
        each
        for key, value in level.items()
        for each in _differences(
            f"metadata.labels[{key}]", own.get(key), value, f"{by_hand} {key}={value}"
        )
    ]
    kept = {key: own[key] for key in (ENFORCE, OWN_LEVEL) if key in own}
    metadata = {"name": settings.name, "labels": {**settings.labels, **kept}}
    return missing, left, {**wanted, "metadata": metadata}


def _cluster_queue(wanted: JsonObject, found: JsonObject, settings: TeamSettings) -> _Outcome:
    # Admins tune `preemption` and select namespaces, but without a selector Kueue admits nothing.
    left = _differences("spec.cohortName", cohort_of(found), settings.cohort)
    if found["spec"].get("namespaceSelector") is None:
        left.append(Difference("spec.namespaceSelector", "none", "{} (all)"))
    quotas = _quota_differences(found, settings)
    spec = {field: found["spec"][field] for field in wanted["spec"] if field in found["spec"]}
    manifest = {**wanted, "spec": deepcopy(spec)}
    if not settings.change_quota:
        hint = "--change-quota sets it"
        left += [Difference(each.field, each.found, each.wanted, hint) for each in quotas]
        return [], left, manifest
    manifest["spec"]["resourceGroups"] = _with_quotas(
        manifest["spec"].get("resourceGroups") or [], settings
    )
    return quotas, left, manifest


def _quota_differences(found: JsonObject, settings: TeamSettings) -> list[Difference]:
    """Return differing quotas of resources that the admin named; others are not changed."""
    own = {key: each["nominalQuota"] for key, each in written_quotas(found)}
    differences = []
    for resource, written in settings.quotas.items():
        now = own.get((settings.flavor, resource))
        if now is None or read_amount(now) != read_amount(written):
            field = f"quota of {resource} in flavor {settings.flavor}"
            differences.append(Difference(field, "none" if now is None else str(now), written))
    return differences


def _with_quotas(groups: list[JsonObject], settings: TeamSettings) -> list[JsonObject]:
    """Set the admin's quotas in the resource groups. Limits and other resources stay."""
    left = dict(settings.quotas)
    home: JsonObject | None = None
    for group in groups:
        for flavor in group["flavors"]:
            if flavor["name"] != settings.flavor:
                continue
            home = group
            for each in flavor["resources"]:
                if each["name"] in left:
                    each["nominalQuota"] = quota_value(left.pop(each["name"]))
    added = [(name, quota_value(written)) for name, written in left.items()]
    if added and home is None:
        return [*groups, resource_group(settings.flavor, added)]
    for name, value in added:
        assert home is not None
        home["coveredResources"].append(name)
        for flavor in home["flavors"]:
            # In Kueue every flavor of a group must list every resource of the group.
            own: JsonValue = value if flavor["name"] == settings.flavor else 0
            flavor["resources"].append({"name": name, "nominalQuota": own})
    return groups


def _local_queue(wanted: JsonObject, found: JsonObject, settings: TeamSettings) -> _Outcome:
    remedy = "delete this LocalQueue and run this again: Kueue changes no LocalQueue's ClusterQueue"
    feeds, own = found["spec"].get("clusterQueue"), wanted["spec"]["clusterQueue"]
    left = _differences("spec.clusterQueue", feeds, own, remedy)
    return [], left, {**wanted, "spec": {**wanted["spec"], **found["spec"]}}


def _binding(wanted: JsonObject, found: JsonObject, settings: TeamSettings) -> _Outcome:
    remedy = "delete this binding and run this again: Kubernetes changes no binding's role"
    left = [
        each
        for key, value in wanted["roleRef"].items()
        for each in _differences(f"roleRef.{key}", found["roleRef"].get(key), value, remedy)
    ]
    present = list(found.get("subjects") or ())
    added = [
        each
        for each in settings.subjects
        if subject_key(each) not in {subject_key(one) for one in present}
    ]
    manifest = {**wanted, "roleRef": found["roleRef"], "subjects": [*present, *added]}
    changes = [Difference("subjects", "none", described_subject(each)) for each in added]
    if left and wanted["kind"] == "ClusterRoleBinding":
        # The binding has this name by chance. No admin asked for its role in the whole cluster.
        return [], left, {**manifest, "subjects": present}
    return changes, left, manifest


def subject_key(subject: JsonObject) -> tuple[str, str, str]:
    """Return the identity of a subject: equal keys mean the same subject."""
    return subject["kind"], subject.get("namespace", ""), subject["name"]


def described_subject(subject: JsonObject) -> str:
    """Return `group a`, `user b` or `service account NAMESPACE/NAME`."""
    if subject["kind"] == "ServiceAccount":
        return f"service account {subject.get('namespace', '')}/{subject['name']}"
    return f"{subject['kind'].lower()} {subject['name']}"


def _differences(
    field: str, found: str | None, wanted: str, remedy: str | None = None
) -> list[Difference]:
    return [] if found == wanted else [Difference(field, found or "none", wanted, remedy)]


_OF_KIND: Final = {
    "Namespace": _namespace,
    "ClusterQueue": _cluster_queue,
    "LocalQueue": _local_queue,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
}


def planned_queues(queues: Sequence[JsonObject], objects: Sequence[ObjectPlan]) -> list[JsonObject]:
    """Return all ClusterQueues as they will be after the writes, the team's own last."""
    (queue,) = (each.manifest for each in objects if each.kind == "ClusterQueue")
    name = queue["metadata"]["name"]
    return [*(each for each in queues if each["metadata"]["name"] != name), queue]
