"""leaderworkerset.x-k8s.io/v1 LeaderWorkerSet."""

from typing import Final

from shared.api.conditions import (
    NO_PROGRESS,
    UNFINISHED,
    ComponentReport,
    Progress,
    conditions_of,
    in_trouble,
    number,
)
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.kind import Kind, Maker, PodSet, PodSetError, count_at, optional_at
from shared.kinds.scaled import STATEFUL_SETS
from shared.kinds.without_pods import SERVICES

_GROUP: Final = "template.spec.leaderWorkerTemplate"


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """Return groups of `size` pods: a leader and its workers, or without leaderTemplate all
    equal.
    """
    groups = count_at(template, "template.spec.replicas")
    size = count_at(template, f"{_GROUP}.size")
    if size < 1:
        raise PodSetError(f"{_GROUP}.size is {size}, but a group has at least its leader")
    leader, worker = f"{_GROUP}.leaderTemplate", f"{_GROUP}.workerTemplate"
    if optional_at(template, leader) is None:
        return (PodSet(worker, groups * size),)
    if size == 1:
        return (PodSet(leader, groups),)
    return (PodSet(leader, groups), PodSet(worker, groups * (size - 1)))


def report(item: JsonObject) -> ComponentReport:
    """Report no end: it serves until it is deleted, and its controller never gives up.

    Its controller replaces a failed group as a whole. Pods do not show their group, so the report
    has the number of ready groups. Available is absent until all groups were ready once. When it
    turns False it keeps its message, "All replicas are ready", so the report never quotes it.
    """
    status = item.get("status") or {}
    under_way = in_trouble(conditions_of(status), ("UpdateInProgress", "Progressing"))
    if not under_way.message:
        return UNFINISHED
    spec = item.get("spec") or {}
    wanted = 1 if (replicas := spec.get("replicas")) is None else replicas
    groups = f"{status.get('readyReplicas') or 0} of {wanted} groups are ready"
    return ComponentReport(message=f"{under_way.message} ({groups})")


def progress(item: JsonObject) -> Progress:
    """Return the pods that it wants by now.

    With startupPolicy LeaderReady, its controller makes a group's workers when the leader is ready,
    and then counts the group in updatedReplicas.
    """
    spec, status = item.get("spec") or {}, item.get("status") or {}
    if spec.get("startupPolicy") != "LeaderReady":
        return NO_PROGRESS
    groups, size = count_at(item, "template.spec.replicas"), count_at(item, f"{_GROUP}.size")
    begun = min(groups, number(status, "updatedReplicas"))
    return Progress(wanted=groups + begun * (size - 1))


LEADER_WORKER_SET = Kind(
    resource=Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"),
    granted="Wrapped groups of a leader and its workers.",
    versions=("leaderworkerset.x-k8s.io/v1",),
    pod_sets=pod_sets,
    inferred=False,
    report=report,
    ends=False,
    progress=progress,
    owns=(PODS, STATEFUL_SETS, SERVICES),
    makers=(Maker(STATEFUL_SETS, "leaderworkerset.sigs.k8s.io/name"),),
)
