"""Kueue as one part of a simulated cluster, and what may happen to it."""

from collections.abc import Callable

from shared.api.objects import JsonObject
from shared.waits.workload import ADMITTED, EVICTED, WORKLOADS, workload_of
from tests.simulation.actors.kueue import workloads
from tests.simulation.actors.kueue.appwrappers import KueueJobs
from tests.simulation.actors.kueue.children import KueueChildren
from tests.simulation.actors.kueue.lifecycle import KueueWorkloads
from tests.simulation.actors.kueue.preemption import preempted
from tests.simulation.actors.kueue.queues import KueueQueues
from tests.simulation.actors.kueue.quota import Quota, Release
from tests.simulation.actors.kueue.scheduler import KueueScheduler
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.actors.kueue.workloads import Reason, has
from tests.simulation.api.store import key_of
from tests.simulation.cluster import Cluster


class Kueue:
    """All of Kueue's controllers. The methods are acts of other parts; User has those of people.

    An act on an AppWrapper names its UID, and returns whether there was something to act on.
    """

    def __init__(self, cluster: Cluster, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        self._cluster = cluster
        self.quota = Quota(cluster.store)
        KueueJobs(cluster, settings)
        KueueWorkloads(cluster, settings)
        KueueScheduler(cluster, self.quota)
        KueueQueues(cluster)
        KueueChildren(cluster, settings)

    def on_release(self, listener: Callable[[Release], None]) -> None:
        """Call `listener` within each write by which Kueue gives quota back."""
        self.quota.listeners.append(listener)

    def workload_of(self, uid: str) -> JsonObject | None:
        """Return the newest Workload of an AppWrapper."""
        return workload_of(self._cluster.store.items(WORKLOADS), uid)

    def preempt(self, uid: str) -> bool:
        """Preempt the AppWrapper for another ClusterQueue that reclaims its quota."""
        text = "Preempted to accommodate a workload due to reclamation within the cohort"
        now = self._cluster.clock.now
        return self._evict(uid, lambda item: preempted(item, "InCohortReclamation", text, now()))

    def fail_node(self, uid: str) -> bool:
        """Evict the AppWrapper because a node of its topology failed."""
        text = "Workload was evicted due to node failures"
        now = self._cluster.clock.now
        return self._evict(
            uid, lambda item: workloads.evict(item, Reason.NODE_FAILURES, text, now())
        )

    def _evict(self, uid: str, function: Callable[[JsonObject], None]) -> bool:
        workload = self.workload_of(uid)
        if workload is None or not has(workload, ADMITTED) or has(workload, EVICTED):
            return False
        return self._change(workload, function)

    def decide(self, uid: str, check: str, state: str) -> bool:
        """Set an admission check to Ready, Retry or Rejected, as its controller does."""
        workload = self.workload_of(uid)
        if workload is None or not workloads.checks(workload):
            return False

        def change(item: JsonObject) -> None:
            for each in workloads.checks(item):
                if each["name"] == check:
                    each["state"] = state

        return self._change(workload, change)

    def delete_workload(self, uid: str) -> bool:
        """Delete the AppWrapper's Workload, as a user does."""
        workload = self.workload_of(uid)
        if workload is None:
            return False
        self._cluster.store.delete(WORKLOADS, *key_of(workload), uid=workload["metadata"]["uid"])
        return True

    def _change(self, workload: JsonObject, function: Callable[[JsonObject], None]) -> bool:
        uid = workload["metadata"]["uid"]
        changed = self._cluster.store.change(WORKLOADS, *key_of(workload), function, uid=uid)
        return changed is not None


def suspended_at_creation(appwrapper: JsonObject) -> JsonObject:
    """Return an AppWrapper as Kueue's webhook admits it: suspended if it names a queue.

    pkg/controller/jobframework/base_webhook.go; only at creation.
    """
    if not (appwrapper["metadata"].get("labels") or {}).get("kueue.x-k8s.io/queue-name"):
        return appwrapper
    return {**appwrapper, "spec": {**appwrapper["spec"], "suspend": True}}


def cluster_queue(name: str, *, strategy: str = "BestEffortFIFO", **quota: str) -> JsonObject:
    """Return a ClusterQueue with one flavor, `default`, that preempts lower priorities."""
    resources = [
        {"name": each.replace("_", "."), "nominalQuota": amount} for each, amount in quota.items()
    ]
    return {
        "metadata": {"name": name},
        "spec": {
            "queueingStrategy": strategy,
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [
                {
                    "coveredResources": [each["name"] for each in resources],
                    "flavors": [{"name": "default", "resources": resources}],
                }
            ],
        },
    }
