"""What `team create` will do, from what there is and what the admin asks for. Pure.

What is missing is created. What exists is changed only where the admin asked for that very change:
users are added, quotas are set with --change-quota, a namespace is labelled with --adopt. Every
other difference is shown and left alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cli.teams.manifests import (
    TeamSettings,
    cohort_key,
    queue_name,
    quota_value,
    resource_group,
    team_objects,
)
from cli.teams.quotas import CapacityRow, amount, quotas_of, shown
from shared.api.objects import JsonObject, JsonValue, is_being_deleted, labels

ObjectKey = tuple[str, str]  # Kind and name: no team has two of one name
Live = Mapping[ObjectKey, JsonObject]


class Action(StrEnum):
    """What happens to an object."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of an object that exists. `remedy`, where there is one, is what to do about it."""

    field: str
    found: str
    wanted: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """`changes` will be made. `left` differs from what was asked for, and stays.

    `manifest` is what is applied: an existing object's own values, with the changes.
    """

    kind: str
    name: str
    namespace: str | None
    action: Action
    changes: tuple[Difference, ...]
    left: tuple[Difference, ...]
    manifest: JsonObject
    # The version that was looked at: a write fails if somebody changed the object since.
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What may be changed of what exists."""

    change_quota: bool = False
    adopt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPlan:
    """The report of `team create`. With `dry_run`, or any `refused`, nothing was written."""

    team: str
    dry_run: bool
    objects: tuple[ObjectPlan, ...]
    capacity: tuple[CapacityRow, ...]
    warnings: tuple[str, ...]
    refused: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Something is not as the admin asked for, and stays so."""
        return any(each.left for each in self.objects)

    @property
    def changes_anything(self) -> bool:
        """At least one object is written."""
        return any(each.action is not Action.KEEP for each in self.objects)


def object_plans(
    settings: TeamSettings, asked: Asked, kueue: str, live: Live
) -> tuple[ObjectPlan, ...]:
    """What happens to each object of the team, in the order in which it happens."""
    plans: list[ObjectPlan] = []
    for wanted in team_objects(settings, kueue):
        kind = wanted["kind"]
        if kind == "ClusterRoleBinding":
            # Whoever is among the team's users sees its quota, also who was added by hand.
            users = next(each.manifest["subjects"] for each in plans if each.kind == "RoleBinding")
            settings = replace(settings, subjects=tuple(users))
            wanted["subjects"] = users
        found = live.get((kind, wanted["metadata"]["name"]))
        plans.append(_object_plan(wanted, found, settings, asked))
    return tuple(plans)


def refusals(
    settings: TeamSettings, asked: Asked, live: Live, reserved: Sequence[str], slack_queue: str = ""
) -> Iterator[str]:
    """Why this team cannot be made at all; nothing is written then."""
    team = settings.name
    namespace = live.get(("Namespace", team))
    if is_of_the_cluster(team, reserved):
        yield f"namespace {team} belongs to the cluster: choose another name for the team"
    elif queue_name(team) == slack_queue:
        yield f"ClusterQueue {slack_queue} is the slack queue: choose another name for the team"
    elif namespace is not None and is_being_deleted(namespace):
        yield f"namespace {team} is being deleted: wait until it is gone, then run this again"
    elif namespace is not None and not _is_team(namespace, settings) and not asked.adopt:
        missing = ", ".join(f"{key}={value}" for key, value in settings.labels.items())
        yield (
            f"namespace {team} exists and is not a team's: it lacks the label {missing}."
            " With the label Kueue queues its workloads, and the webhook restricts what users"
            " create. Add --adopt to make it a team's"
        )
    for (kind, name), item in live.items():
        if kind != "Namespace" and is_being_deleted(item):
            yield f"{kind} {name} is being deleted: wait until it is gone, then run this again"


def is_of_the_cluster(namespace: str, reserved: Sequence[str]) -> bool:
    """It can be no team's, whatever labels it has."""
    return namespace in reserved or namespace.startswith("kube-") or namespace == "default"


def over_capacity(rows: Sequence[CapacityRow]) -> Iterator[str]:
    """Each resource of which all quotas together promise more than pods can have."""
    for row in rows:
        if row.is_exceeded and row.schedulable is not None:
            yield (
                f"all quotas of {row.resource} in flavor {row.flavor} add up to"
                f" {shown(row.resource, row.quotas_after)}, and pods can have"
                f" {shown(row.resource, row.schedulable)}"
            )


def not_covered(queue: JsonObject, others: Sequence[JsonObject]) -> Iterator[str]:
    """Resources that other queues of the cohort cover and this one does not.

    Kueue never admits a workload that asks for a resource its ClusterQueue does not cover. `pods`
    is counted only where it is covered.
    """
    covered = {resource for (_, resource), _ in quotas_of(queue)}
    elsewhere = {
        resource
        for each in others
        if _cohort(each) == _cohort(queue)
        for (_, resource), _ in quotas_of(each)
        if resource != "pods"
    }
    missing = sorted((elsewhere | {"cpu", "memory"}) - covered)
    if missing:
        yield (
            f"ClusterQueue {queue['metadata']['name']} does not cover {', '.join(missing)}: Kueue"
            " never admits a workload that asks for it. Give"
            f" {' '.join(f'--quota {each}=AMOUNT' for each in missing)}, with 0 to borrow only"
        )


def _cohort(queue: JsonObject) -> JsonValue:
    """Items of lists need not say their version, so both names of the field are tried."""
    spec = queue["spec"]
    return spec.get(cohort_key("v1beta2"), spec.get(cohort_key("v1beta1")))


def _is_team(namespace: JsonObject, settings: TeamSettings) -> bool:
    return settings.labels.items() <= labels(namespace).items()


def _object_plan(
    wanted: JsonObject, found: JsonObject | None, settings: TeamSettings, asked: Asked
) -> ObjectPlan:
    kind, meta = wanted["kind"], wanted["metadata"]
    if found is None:
        return ObjectPlan(
            kind, meta["name"], meta.get("namespace"), Action.CREATE, (), (), deepcopy(wanted)
        )
    changes, left, manifest = _OF_KIND[kind](wanted, found, settings, asked)
    return ObjectPlan(
        kind,
        meta["name"],
        meta.get("namespace"),
        Action.CHANGE if changes else Action.KEEP,
        tuple(changes),
        tuple(left),
        manifest,
        found["metadata"]["resourceVersion"],
    )


_Outcome = tuple[list[Difference], list[Difference], JsonObject]


def _namespace(
    wanted: JsonObject, found: JsonObject, settings: TeamSettings, asked: Asked
) -> _Outcome:
    own = labels(found)
    missing = [
        Difference(f"metadata.labels[{key}]", own.get(key, "none"), value)
        for key, value in settings.labels.items()
        if own.get(key) != value
    ]
    return missing, [], deepcopy(wanted)


def _cluster_queue(
    wanted: JsonObject, found: JsonObject, settings: TeamSettings, asked: Asked
) -> _Outcome:
    version = wanted["apiVersion"].rpartition("/")[2]
    left = [
        each
        for field in ("namespaceSelector", cohort_key(version), "preemption")
        for each in _leaf_differences(
            found["spec"].get(field), wanted["spec"][field], f"spec.{field}"
        )
    ]
    quotas = _quota_differences(found, settings)
    spec = {field: found["spec"][field] for field in wanted["spec"] if field in found["spec"]}
    manifest = {**deepcopy(wanted), "spec": deepcopy(spec)}
    if not asked.change_quota:
        hint = "--change-quota sets it"
        left += [Difference(each.field, each.found, each.wanted, hint) for each in quotas]
        return [], left, manifest
    manifest["spec"]["resourceGroups"] = _with_quotas(
        manifest["spec"].get("resourceGroups") or [], settings
    )
    return quotas, left, manifest


def _quota_differences(found: JsonObject, settings: TeamSettings) -> list[Difference]:
    """Of the resources that the admin named; all others stay as they are."""
    own = {key: each["nominalQuota"] for key, each in quotas_of(found)}
    differences = []
    for resource, written in settings.quotas.items():
        now = own.get((settings.flavor, resource))
        if now is None or amount(now) != amount(written):
            field = f"quota of {resource} in flavor {settings.flavor}"
            differences.append(Difference(field, "none" if now is None else str(now), written))
    return differences


def _with_quotas(groups: list[JsonObject], settings: TeamSettings) -> list[JsonObject]:
    """The resource groups with the admin's quotas. Limits and other resources stay."""
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
            # Kueue wants every flavor of a group to name every resource that it covers.
            own: JsonValue = value if flavor["name"] == settings.flavor else 0
            flavor["resources"].append({"name": name, "nominalQuota": own})
    return groups


def _local_queue(
    wanted: JsonObject, found: JsonObject, settings: TeamSettings, asked: Asked
) -> _Outcome:
    remedy = "delete this LocalQueue and run this again: Kueue changes no LocalQueue's ClusterQueue"
    left = _leaf_differences(found.get("spec"), wanted["spec"], "spec", remedy)
    return [], list(left), {**deepcopy(wanted), "spec": {**wanted["spec"], **found["spec"]}}


def _binding(
    wanted: JsonObject, found: JsonObject, settings: TeamSettings, asked: Asked
) -> _Outcome:
    remedy = "delete this binding and run this again: Kubernetes changes no binding's role"
    left = list(_leaf_differences(found["roleRef"], wanted["roleRef"], "roleRef", remedy))
    present = list(found.get("subjects") or ())
    added = [
        each
        for each in settings.subjects
        if subject_key(each) not in {subject_key(one) for one in present}
    ]
    manifest = {**deepcopy(wanted), "roleRef": found["roleRef"], "subjects": [*present, *added]}
    changes = [Difference("subjects", "none", described_subject(each)) for each in added]
    if left and wanted["kind"] == "ClusterRoleBinding":
        # It has the name by chance. Nobody asked for that role in the whole cluster.
        return [], left, {**manifest, "subjects": present}
    return changes, left, manifest


def subject_key(subject: JsonObject) -> tuple[str, str, str]:
    """Two subjects with the same key are the same people."""
    return subject["kind"], subject.get("namespace", ""), subject["name"]


def described_subject(subject: JsonObject) -> str:
    """`group a`, `user b`, `service account NAMESPACE/NAME`."""
    if subject["kind"] == "ServiceAccount":
        return f"service account {subject.get('namespace', '')}/{subject['name']}"
    return f"{subject['kind'].lower()} {subject['name']}"


def _leaf_differences(
    found: JsonValue, wanted: JsonValue, path: str, remedy: str | None = None
) -> Iterator[Difference]:
    """What of `wanted` an object does not have; what it has besides is no difference."""
    if isinstance(wanted, dict) and isinstance(found, dict) and wanted:
        for key, value in wanted.items():
            yield from _leaf_differences(found.get(key), value, f"{path}.{key}", remedy)
    elif found != wanted:
        yield Difference(path, _text(found), _text(wanted), remedy)


def _text(value: JsonValue) -> str:
    if value is None:
        return "none"
    if value == {}:
        return "{} (all)"
    return value if isinstance(value, str) else str(value)


_OF_KIND: Final = {
    "Namespace": _namespace,
    "ClusterQueue": _cluster_queue,
    "LocalQueue": _local_queue,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
}


def planned_queues(
    queues: Sequence[JsonObject], objects: Sequence[ObjectPlan]
) -> tuple[JsonObject, list[JsonObject]]:
    """The team's ClusterQueue, and all ClusterQueues, as they will be."""
    (queue,) = (each.manifest for each in objects if each.kind == "ClusterQueue")
    name = queue["metadata"]["name"]
    others = [each for each in queues if each["metadata"]["name"] != name]
    return queue, [*others, queue]
