"""Plan `team delete`: the objects to delete, their order, and the blockers. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cli.phases import ENDED
from cli.teams.manifests import VIEWER_ROLE, queue_name, viewer_binding_name
from shared.api.conditions import is_true
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import JsonObject, controller_of, is_being_deleted, label
from shared.kinds.uncounted_pods import is_extended, resources_used
from shared.waits.workload import ADMITTED, is_finished


@dataclass(frozen=True, slots=True)
class ExistingObjects:
    """The objects of a team that were read before its deletion. None: it does not exist.

    `others_queues`: all LocalQueues, of which `_feeding` ignores the team's own.
    """

    team: str
    namespace: JsonObject | None
    queue: JsonObject | None
    viewer_binding: JsonObject | None
    appwrappers: Sequence[JsonObject] = ()
    workloads: Sequence[JsonObject] = ()
    pods: Sequence[JsonObject] = ()
    claims: Sequence[JsonObject] = ()
    others_queues: Sequence[JsonObject] = ()


@dataclass(frozen=True, slots=True)
class DeletionTarget:
    """One object to delete. Its deletion includes, for a namespace, everything in it."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim, whose data are deleted with the namespace."""

    name: str
    capacity: str
    storage_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The report of `team delete`. With `dry_run` or any `blockers` nothing was deleted.

    `ended_app_wrappers`, `pods`: the numbers that are deleted with the namespace.
    """

    team: str
    dry_run: bool
    blockers: tuple[str, ...]
    targets: tuple[DeletionTarget, ...]
    claims: tuple[Claim, ...]
    ended_app_wrappers: int
    pods: int
    kept: tuple[str, ...]


def removal(held: ExistingObjects, *, dry_run: bool) -> Removal:
    """Plan the deletion in an order that lets a second run finish an interrupted one.

    The ClusterQueue is deleted last, when the namespace is gone. Until then it holds the quota of
    pods that still terminate there, and a second run finds the team by it.
    """
    return Removal(
        team=held.team,
        dry_run=dry_run,
        blockers=tuple(blockers(held)),
        targets=tuple(_targets(held)),
        claims=tuple(_claim(each) for each in held.claims),
        ended_app_wrappers=sum(not _runs(each) for each in held.appwrappers),
        pods=sum(_runs(each) for each in held.pods),
        kept=tuple(_kept(held)),
    )


def blockers(held: ExistingObjects) -> Iterator[str]:
    """Name the objects that run or wait in the namespace, each workload once."""
    if is_being_deleted(held.namespace):
        return  # the deletion cannot be stopped any more
    wrapped = {each["metadata"]["name"]: each for each in held.appwrappers if _runs(each)}
    for name, each in wrapped.items():
        yield f"AppWrapper {name} ({_phase(each) or 'not begun'})"
    # An ended AppWrapper may hold quota until its pods are gone; a deleted one leaves its Workload.
    ended = {each["metadata"]["name"] for each in held.appwrappers} - {*wrapped}
    queued: set[str] = set()
    for each in held.workloads:
        if is_finished(each):
            continue
        owner = controller_of(each)
        if owner is not None:
            queued.add(owner.uid)
            if owner.kind == "AppWrapper" and owner.name not in ended:
                continue
        whose = f"{owner.kind} {owner.name}" if owner else f"Workload {each['metadata']['name']}"
        admitted = is_true((each.get("status") or {}).get("conditions") or (), ADMITTED)
        yield f"{whose} ({'admitted by Kueue' if admitted else 'waits in the queue'})"
    for each in held.pods:
        owner = controller_of(each)
        known = label(each, LABEL_APPWRAPPER) in wrapped or (owner and owner.uid in queued)
        devices = sorted(filter(is_extended, resources_used(each)))
        if _runs(each) and devices and not known:
            yield f"Pod {each['metadata']['name']} (uses {', '.join(devices)})"


def _targets(held: ExistingObjects) -> Iterator[DeletionTarget]:
    binding, queue = held.viewer_binding, held.queue
    if binding is not None and binding["roleRef"]["name"] == VIEWER_ROLE:
        yield _target("ClusterRoleBinding", binding)
    if held.namespace is not None:
        yield _target("Namespace", held.namespace)
    if queue is not None and not _feeding(held):
        yield _target("ClusterQueue", queue)


def _kept(held: ExistingObjects) -> Iterator[str]:
    """Describe objects with the team's name that are not deleted, and why."""
    binding = held.viewer_binding
    if binding is not None and (role := binding["roleRef"]["name"]) != VIEWER_ROLE:
        name = viewer_binding_name(held.team)
        yield f"ClusterRoleBinding {name} stays: it binds {role}, which this command does not"
    if held.queue is not None and (feeding := _feeding(held)):
        yield (
            f"ClusterQueue {queue_name(held.team)} stays: LocalQueue {', '.join(feeding)} feeds it"
        )


def _feeding(held: ExistingObjects) -> list[str]:
    """Name LocalQueues of other namespaces that use the team's ClusterQueue."""
    return [
        f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in held.others_queues
        if (each.get("spec") or {}).get("clusterQueue") == queue_name(held.team)
        and each["metadata"]["namespace"] != held.team
    ]


def _target(kind: str, item: JsonObject) -> DeletionTarget:
    return DeletionTarget(kind, item["metadata"]["name"], item["metadata"]["uid"])


def _claim(item: JsonObject) -> Claim:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    capacity = (status.get("capacity") or {}).get("storage") or asked
    return Claim(
        item["metadata"]["name"], str(capacity or ""), str(spec.get("storageClassName") or "")
    )


def _phase(item: JsonObject) -> str:
    return str((item.get("status") or {}).get("phase") or "")


def _runs(item: JsonObject) -> bool:
    """True if the AppWrapper or pod has not ended."""
    return _phase(item) not in ENDED


def remaining(namespace: JsonObject) -> list[str]:
    """Return the API server's messages why a namespace is still being deleted."""
    conditions: Iterable[JsonObject] = (namespace.get("status") or {}).get("conditions") or ()
    return [
        str(each.get("message") or each["type"]) for each in conditions if each["status"] == "True"
    ]
