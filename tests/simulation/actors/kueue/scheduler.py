"""Kueue's scheduler: who gets quota next, and who is preempted for it.

Facts of Kueue 0.19.2: pkg/scheduler/scheduler.go, pkg/scheduler/preemption/preemption.go with
common/, pkg/cache/queue/cluster_queue.go and inadmissible_workloads.go. Left out: cohorts, several
flavors of one resource, fair sharing, topology.
"""

from collections.abc import Callable, Hashable, Iterable
from decimal import Decimal
from typing import Any, Final

from shared.api.amounts import added_up, amount_text
from shared.api.conditions import condition
from shared.api.objects import JsonObject
from shared.waits.quota import CLUSTER_QUEUES
from shared.waits.workload import EVICTED, LABEL_OWNER, REQUEUED, WORKLOADS, asks_of
from tests.simulation.actors.kueue import workloads
from tests.simulation.actors.kueue.evictions import policy_of
from tests.simulation.actors.kueue.preemption import preempted, queue_order, victims_of
from tests.simulation.actors.kueue.queues import is_open
from tests.simulation.actors.kueue.quota import Quota, capacity_of, fits, flavors_of, used_by
from tests.simulation.actors.kueue.workloads import Reason, has, place
from tests.simulation.actors.reconciler import Reconciler
from tests.simulation.api.kinds import LOCAL_QUEUES, RESOURCE_FLAVORS
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster

# Workloads that did not fit are tried again so many seconds after an event that may help them.
_BATCH: Final = 1.0


class KueueScheduler(Reconciler):
    """One key for each ClusterQueue. A pass considers the head of its queue."""

    def __init__(self, cluster: Cluster, quota: Quota) -> None:
        super().__init__(cluster)
        self._quota = quota
        self._set_aside: dict[str, JsonObject] = {}  # by UID, as they were when they did not fit
        self._preemptors: dict[str, str] = {}  # by ClusterQueue, the UID of the one it serves first

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == WORKLOADS:
            uid = write.item["metadata"]["uid"]
            if write.type == "DELETED" or _is_new(self._set_aside.get(uid), write.item):
                self._set_aside.pop(uid, None)
            queue = self._queue_of(write.item)
            if queue:
                yield (queue,)
                held = write.old and workloads.holds_quota(write.old)
                gone = write.type == "DELETED"
                if held and (gone or not workloads.holds_quota(write.item)):
                    self._try_all_again(queue)
        elif write.resource == LOCAL_QUEUES:
            self._try_all_again(write.item["spec"]["clusterQueue"])
        elif write.resource in (CLUSTER_QUEUES, RESOURCE_FLAVORS):
            for each in self.store.items(CLUSTER_QUEUES):
                self._try_all_again(each["metadata"]["name"])

    def _try_all_again(self, queue: str) -> None:
        self.cluster.loop.outside(_BATCH, self._move_back, queue)

    def _move_back(self, queue: str) -> None:
        for workload in list(self._set_aside.values()):
            if self._queue_of(workload) == queue:
                del self._set_aside[workload["metadata"]["uid"]]
        self.later((queue,))

    def _queue_of(self, workload: JsonObject) -> str:
        namespace, name = workload["metadata"]["namespace"], workload["spec"].get("queueName") or ""
        local = self.store.get(LOCAL_QUEUES, namespace, name)
        return "" if local is None else str(local["spec"]["clusterQueue"])

    def reconcile(self, key: Any) -> None:
        (name,) = key
        queue = self.store.get(CLUSTER_QUEUES, None, name)
        if queue is None or not is_open(self.store, queue):
            return
        head = self._head(name)
        if head is None:
            self._preemptors.pop(name, None)
            return
        if self._consider(head, queue):
            self.later(key)

    def _head(self, queue: str) -> JsonObject | None:
        """Return the Workload with the highest priority, then the oldest.

        One that preempts others comes before all, until it is admitted.
        """
        waiting = [each for each in self.store.items(WORKLOADS) if self._waits(each, queue)]
        first = self._preemptors.get(queue)
        return min(
            waiting,
            key=lambda each: (each["metadata"]["uid"] != first, *queue_order(each)),
            default=None,
        )

    def _waits(self, workload: JsonObject, queue: str) -> bool:
        if workload["metadata"]["uid"] in self._set_aside or self._queue_of(workload) != queue:
            return False
        if not workloads.is_admissible(workload):
            return False
        local = self.store.get(LOCAL_QUEUES, place(workload)[0], workload["spec"]["queueName"])
        is_stopped = local is not None and policy_of(local) != "None"
        return not is_stopped and workloads.may_be_tried(workload, self.moment)

    def _consider(self, workload: JsonObject, queue: JsonObject) -> bool:
        """Admit the head, or preempt for it, or set it aside. Return whether to go on."""
        name, uid = queue["metadata"]["name"], workload["metadata"]["uid"]
        holders = self._quota.holders(name)
        wanted = added_up(requests_of(workload, queue).values())
        if fits(wanted, used_by(holders), queue):
            self._preemptors.pop(name, None)
            self._admit(workload, queue)
            return True
        text = _shortage(workload, wanted, used_by(holders), queue)
        victims = victims_of(workload, wanted, holders, queue)
        if victims:
            self._preemptors[name] = uid
            for each in victims:
                self._preempt(each, workload, name)
            self._refuse(workload, f"{text}. Pending the preemption of {len(victims)} workload(s)")
            return False
        self._set_aside[uid] = self._refuse(workload, text) or workload
        return bool(queue["spec"].get("queueingStrategy") != "StrictFIFO")

    def _admit(self, workload: JsonObject, queue: JsonObject) -> None:
        flavors = flavors_of(queue)
        assignments = [
            {
                "name": name,
                "flavors": {each: flavors[each] for each in amounts},
                "resourceUsage": {each: f"{amounts[each]:f}" for each in amounts},
                "count": next(p["count"] for p in workload["spec"]["podSets"] if p["name"] == name),
            }
            for name, amounts in requests_of(workload, queue).items()
        ]
        admission = {
            "clusterQueue": queue["metadata"]["name"],
            "podSetAssignments": assignments,
        }

        def admit(item: JsonObject) -> None:
            item.setdefault("status", {}).pop("resourceRequests", None)
            workloads.reserve(item, admission, self.moment)
            workloads.sync_admitted(item, self.moment)

        self._change(workload, admit)

    def _refuse(self, workload: JsonObject, text: str) -> JsonObject | None:
        return self._change(
            workload,
            lambda item: workloads.unreserve(item, Reason.PENDING, text, self.moment),
        )

    def _preempt(self, victim: JsonObject, preemptor: JsonObject, queue: str) -> None:
        if has(victim, EVICTED):
            return
        meta = preemptor["metadata"]
        text = (
            f"Preempted to accommodate a workload (UID: {meta['uid']}, JobUID: "
            f"{meta['labels'][LABEL_OWNER]}) due to prioritization in the ClusterQueue; "
            f"preemptor path: /{queue}; preemptee path: /{queue}"
        )
        self._change(victim, lambda item: preempted(item, "InClusterQueue", text, self.moment))

    def _change(
        self, workload: JsonObject, function: Callable[[JsonObject], None]
    ) -> JsonObject | None:
        uid = workload["metadata"]["uid"]
        return self.store.change(WORKLOADS, *place(workload), function, uid=uid)


def requests_of(workload: JsonObject, queue: JsonObject) -> dict[str, dict[str, Decimal]]:
    """Return what each pod set asks of the ClusterQueue. The number of pods counts if covered."""
    covered = capacity_of(queue)
    return {
        ask.name: {
            name: amount for name, amount in ask.quota.items() if name != "pods" or name in covered
        }
        for ask in asks_of(workload)
    }


def _is_new(old: JsonObject | None, new: JsonObject) -> bool:
    """True if a Workload that did not fit may fit now (PushOrUpdate of cluster_queue.go)."""
    if old is None or old["spec"] != new["spec"]:
        return True
    return any(
        condition(workloads.conditions(old), kind) != condition(workloads.conditions(new), kind)
        for kind in (EVICTED, REQUEUED)
    )


def _shortage(
    workload: JsonObject,
    wanted: dict[str, Decimal],
    used: dict[str, Decimal],
    queue: JsonObject,
) -> str:
    """Return the scheduler's message for the first resource that does not fit."""
    capacity, flavors = capacity_of(queue), flavors_of(queue)
    pod_set = workload["spec"]["podSets"][0]["name"]
    for name, amount in wanted.items():
        if name not in capacity:
            return (
                f"couldn't assign flavors to pod set {pod_set}: "
                f"resource {name} unavailable in ClusterQueue"
            )
        more = used.get(name, Decimal()) + amount - capacity[name]
        if more > 0:
            return (
                f"couldn't assign flavors to pod set {pod_set}: insufficient unused quota for "
                f"{name} in flavor {flavors[name]}, {amount_text(more, name)} more needed"
            )
    return ""
