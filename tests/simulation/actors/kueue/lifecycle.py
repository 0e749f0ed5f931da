"""Kueue's Workload reconciler: backoff, deactivation, admission checks and evictions by time.

Facts of Kueue 0.19.2: WorkloadReconciler.Reconcile of pkg/controller/core/workload_controller.go.
Each pass makes at most one of the changes, and the write starts the next pass.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from shared.api.objects import JsonObject, label
from shared.waits.quota import CLUSTER_QUEUES
from shared.waits.workload import ADMITTED, EVICTED, FINISHED, LABEL_OWNER, REQUEUED, WORKLOADS
from shared.waits.workload import QUOTA_RESERVED as RESERVED
from tests.simulation.actors.kueue import workloads
from tests.simulation.actors.kueue.evictions import Evictions, policy_of
from tests.simulation.actors.kueue.queues import is_open
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.actors.kueue.workloads import (
    DEACTIVATION_TARGET,
    Reason,
    has,
    place,
    put,
    reason,
)
from tests.simulation.actors.reconciler import Reconciler
from tests.simulation.api.kinds import LOCAL_QUEUES
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster

_REACTIVATED: Final = ("Reactivated", "The workload was reactivated")
_BACKOFF_OVER: Final = ("BackoffFinished", "The workload backoff was finished")
_LOCAL_AGAIN: Final = ("LocalQueueRestarted", "The LocalQueue was restarted after being stopped")
_CLUSTER_AGAIN: Final = (
    "ClusterQueueRestarted",
    "The ClusterQueue was restarted after being stopped",
)


class KueueWorkloads(Reconciler):
    """One key for each Workload."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        super().__init__(cluster)
        self._settings = settings
        self._evictions = Evictions(cluster, settings)

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == WORKLOADS and write.type != "DELETED":
            yield place(write.item)
        elif write.resource in (LOCAL_QUEUES, CLUSTER_QUEUES):
            # Kueue reconciles the Workloads of a queue whose stopPolicy changes.
            for each in self.store.items(WORKLOADS):
                yield place(each)

    def reconcile(self, key: Any) -> float | None:
        namespace, name = key
        workload = self.store.get(WORKLOADS, namespace, name)
        if workload is None:
            return None
        if self._is_orphaned(workload):
            self._orphan(workload)
            return None
        if has(workload, FINISHED):
            return None
        if not workloads.is_active(workload):
            if self._deactivate(workload):
                return None
        else:
            wait = self._back_off(workload)
            if wait is not None:
                return wait if wait > 0 else None
        return self._by_queues(workload)

    def _is_orphaned(self, workload: JsonObject) -> bool:
        if workload["metadata"].get("ownerReferences"):
            return False
        labelled = self._settings.finishes_orphans and label(workload, LABEL_OWNER) is not None
        return workloads.is_going(workload) or labelled

    def _orphan(self, workload: JsonObject) -> None:
        if self._settings.finishes_orphans and not workloads.is_going(workload):
            text = "The workload's owner no longer exists"
            now = self.moment
            self._change(workload, lambda w: workloads.finish(w, "OwnerNotFound", text, now))
        self._change(workload, workloads.without_finalizer)

    def _deactivate(self, workload: JsonObject) -> bool:
        """Evict an inactive Workload, or clear its backoff. Return whether it was written.

        The quota is free already: only the eviction makes the AppWrapper stop.
        """
        waits = bool((workload.get("status") or {}).get("requeueState"))
        if has(workload, EVICTED) and not waits:
            return False
        now, evicted = self.moment, has(workload, EVICTED)

        def change(item: JsonObject) -> None:
            message = workloads.message(item, DEACTIVATION_TARGET)
            cause = reason(item, DEACTIVATION_TARGET)
            workloads.drop(item, DEACTIVATION_TARGET)
            item["status"].pop("requeueState", None)
            if not evicted:
                text = "The workload is deactivated" + (f" due to {message}" if message else "")
                workloads.evict(item, Reason.DEACTIVATED, text, now, cause=cause)

        self._change(workload, change)
        return True

    def _back_off(self, workload: JsonObject) -> float | None:
        """Do what an active Workload's backoff needs.

        Return None if nothing is due: the pass continues. Return 0 after a write, or the seconds to
        wait.
        """
        if has(workload, DEACTIVATION_TARGET):
            self._change(workload, lambda item: item["spec"].update(active=False))
            return 0.0
        at = workloads.requeue_at(workload)
        if at is not None and at > self.moment:
            return (at - self.moment).total_seconds()
        if at is not None and not has(workload, RESERVED):
            self._change(workload, lambda item: item["status"]["requeueState"].pop("requeueAt"))
            return 0.0
        match reason(workload, REQUEUED, "False"):
            case Reason.DEACTIVATED:
                return self._requeue(workload, *_REACTIVATED)
            case Reason.PODS_READY_TIMEOUT | Reason.ADMISSION_CHECK:
                return self._requeue(workload, *_BACKOFF_OVER)
        return None

    def _requeue(self, workload: JsonObject, why: str, text: str) -> float:
        self._change(workload, lambda item: put(item, REQUEUED, True, why, text, self.moment))
        return 0.0

    def _by_queues(self, workload: JsonObject) -> float | None:
        namespace, name = workload["metadata"]["namespace"], workload["spec"].get("queueName") or ""
        local = self.store.get(LOCAL_QUEUES, namespace, name)
        queue = str(((local or {}).get("spec") or {}).get("clusterQueue") or "")
        cluster = self.store.get(CLUSTER_QUEUES, None, queue)
        stopped = reason(workload, REQUEUED, "False")
        if stopped == Reason.LOCAL_QUEUE_STOPPED and local and policy_of(local) == "None":
            self._requeue(workload, *_LOCAL_AGAIN)
            return None
        if stopped == Reason.CLUSTER_QUEUE_STOPPED and cluster and policy_of(cluster) == "None":
            self._requeue(workload, *_CLUSTER_AGAIN)
            return None
        if cluster is not None and self._sync_checks(workload, cluster):
            return None
        if not has(workload, ADMITTED):
            blocked = self._blocker(name, queue, local, cluster)
            before = workload
            workload = self._change(workload, lambda item: self._sync(item, blocked)) or workload
            if workload is not before:
                return None
        if not has(workload, RESERVED):
            return None
        for kind, item, why in (
            ("LocalQueue", local, Reason.LOCAL_QUEUE_STOPPED),
            ("ClusterQueue", cluster, Reason.CLUSTER_QUEUE_STOPPED),
        ):
            if self._evictions.by_stopped_queue(workload, kind, item, why):
                return None
        if self._evictions.by_checks(workload):
            return None
        return self._evictions.by_time(workload)

    def _blocker(
        self, name: str, queue: str, local: JsonObject | None, cluster: JsonObject | None
    ) -> str:
        """Return why the queue cannot admit it; empty if it can (getQueueBlocker)."""
        if local is None:
            return f"LocalQueue {name} doesn't exist"
        if policy_of(local) != "None":
            return f"LocalQueue {name} is inactive"
        if cluster is None:
            return f"ClusterQueue {queue} doesn't exist"
        return "" if is_open(self.store, cluster) else f"ClusterQueue {queue} is inactive"

    def _sync(self, workload: JsonObject, blocked: str) -> None:
        if blocked and not has(workload, RESERVED):
            put(workload, RESERVED, False, Reason.INADMISSIBLE, blocked, self.moment)
        workloads.sync_admitted(workload, self.moment)

    def _sync_checks(self, workload: JsonObject, cluster_queue: JsonObject) -> bool:
        """Give the Workload the queue's admission checks. Return whether they changed."""
        strategy = cluster_queue["spec"].get("admissionChecksStrategy") or {}
        wanted = sorted(each["name"] for each in strategy.get("admissionChecks") or ())
        known = {each["name"]: each for each in workloads.checks(workload)}
        if wanted == sorted(known):
            return False
        checks = [known.get(name, {"name": name, "state": "Pending"}) for name in wanted]
        self._change(
            workload, lambda item: item.setdefault("status", {}).update(admissionChecks=checks)
        )
        return True

    def _change(
        self, workload: JsonObject, function: Callable[[JsonObject], None]
    ) -> JsonObject | None:
        uid = workload["metadata"]["uid"]
        return self.store.change(WORKLOADS, *place(workload), function, uid=uid)
