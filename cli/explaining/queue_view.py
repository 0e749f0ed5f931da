"""Combine Kueue's objects for one AppWrapper: its queue, quota and Workload. Pure."""

from dataclasses import dataclass

from cli.cluster.kueue import queue_positions, queue_trouble
from cli.cluster.unread import Many, One, Unread, named, objects
from cli.explaining.appwrapper_objects import AppWrapperObjects
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from shared.waits.component_requests import component_requests
from shared.waits.queueing import QueueTrouble
from shared.waits.quota import (
    Cohort,
    Demand,
    cohort_of,
    demands,
    flavor_quotas,
    largest_by_node,
)
from shared.waits.workload import (
    EXCEEDS_MAX_QUOTA,
    Holder,
    PodSetAsk,
    Words,
    asks_of,
    has_quota,
    why_pending,
    workload_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """`cluster_queue_name`: "" if unknown. `position`: from 1.

    `holders_are_all`: the workloads of all namespaces could be read. `trouble`: why the queue
    admits nothing. `too_large_for_nodes`: a sentence; "" if every pod fits a node, or if no node
    could be read.
    """

    workload: JsonObject | None
    pending_reason: Words | None
    cluster_queue_name: str
    cluster_queue: One
    cohort: Cohort
    asks: tuple[PodSetAsk, ...]
    demands: tuple[Demand, ...]
    holders: tuple[Holder, ...]
    holders_are_all: bool
    position: int | None
    pending: int | None
    too_large_for_nodes: str
    trouble: QueueTrouble | None = None

    @property
    def holds(self) -> bool:
        """True if the Workload's quota is reserved: then it waits for something else."""
        return self.workload is not None and has_quota(self.workload)

    @property
    def short(self) -> tuple[Demand, ...]:
        """The resources of which too little is free now."""
        return tuple(each for each in self.demands if each.is_short)

    @property
    def impossible(self) -> tuple[Demand, ...]:
        """The resources of which there can never be enough.

        If the cohort could not be read completely, only Kueue's own message proves that.
        """
        pending = self.pending_reason
        proved = self.cohort.is_whole or (
            pending is not None
            # Kueue 0.19 gives this case a reason of its own.
            and (pending.reason == EXCEEDS_MAX_QUOTA or "maximum capacity" in pending.message)
        )
        return tuple(
            each for each in self.demands if each.never_fits and (proved or not each.flavors)
        )

    @property
    def pending_message(self) -> str:
        """Kueue's message about the pending Workload, "" without one."""
        return self.pending_reason.message if self.pending_reason else ""


def queue_view(appwrapper: AppWrapper, seen: AppWrapperObjects) -> QueueView:
    """Build the view of the queue that the AppWrapper's label names."""
    world = seen.world
    workload = workload_of(objects(world.own_workloads), appwrapper.uid)
    local_queue = named(world.local_queues, appwrapper.queue_name)
    name = str(_spec(local_queue).get("clusterQueue") or "")
    cluster_queue = named(world.cluster_queues, name)
    cohort = _cohort(cluster_queue, world.cluster_queues, world.cohorts)
    asks = asks_of(workload) if workload else component_requests(appwrapper.components)
    found: tuple[Demand, ...] = ()
    pending = None
    if isinstance(cluster_queue, dict):
        pending = int((cluster_queue.get("status") or {}).get("pendingWorkloads") or 0)
        found = demands(asks, flavor_quotas(cluster_queue, cohort))
    nodes = world.node_amounts
    queues = [each["metadata"]["name"] for each in cohort.members] or [name]
    return QueueView(
        workload=workload,
        pending_reason=why_pending(workload) if workload else None,
        cluster_queue_name=name,
        cluster_queue=cluster_queue,
        cohort=cohort,
        asks=asks,
        demands=found,
        holders=tuple(each for each in world.holders if each.cluster_queue in queues),
        holders_are_all=not isinstance(world.all_workloads, Unread),
        position=_position(seen.pending, workload),
        pending=pending,
        too_large_for_nodes=largest_by_node(nodes, asks) if nodes else "",
        trouble=queue_trouble(
            appwrapper.namespace, appwrapper.queue_name, local_queue, cluster_queue
        )
        if appwrapper.queue_name
        else None,
    )


def _cohort(queue: One, queues: Many, cohorts: Many) -> Cohort:
    if not isinstance(queue, dict) or not (name := cohort_of(queue)):
        return Cohort()
    members = tuple(each for each in objects(queues) if cohort_of(each) == name)
    own = named(cohorts, name)
    known = own if isinstance(own, dict) else {}
    whole = not isinstance(own, Unread) and not _spec(known).get("parentName")
    return Cohort(name, members, known, whole)


def _position(pending: Many | None, workload: JsonObject | None) -> int | None:
    """Return the position in the ClusterQueue, from 1; None if unknown."""
    if workload is None or pending is None:
        return None
    return queue_positions(pending).get(str(workload["metadata"]["name"]))


def _spec(found: One) -> JsonObject:
    return (found.get("spec") or {}) if isinstance(found, dict) else {}
