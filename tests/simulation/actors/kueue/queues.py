"""Kueue's reports on its queues: whether they are active.

Facts of Kueue 0.19.2: pkg/cache/scheduler/clusterqueue.go (inactiveReason), and
pkg/controller/core/localqueue_controller.go.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from shared.api.objects import JsonObject
from shared.waits.quota import CLUSTER_QUEUES
from tests.simulation.actors.kueue.evictions import policy_of
from tests.simulation.actors.kueue.quota import flavors_of
from tests.simulation.actors.kueue.workloads import has, is_going, put
from tests.simulation.actors.reconciler import Reconciler
from tests.simulation.api.kinds import LOCAL_QUEUES, RESOURCE_FLAVORS
from tests.simulation.api.store import Store, Write, key_of

_ACTIVE = "Active"


def is_open(store: Store, cluster_queue: JsonObject) -> bool:
    """True if the ClusterQueue may admit Workloads."""
    return _closed(store, cluster_queue) is None


def _closed(store: Store, queue: JsonObject) -> tuple[str, str] | None:
    """Return reason and message of an inactive ClusterQueue; None if it is active."""
    if is_going(queue):
        return "Terminating", "Can't admit new workloads; clusterQueue is terminating"
    found = []
    if policy_of(queue) != "None":
        found.append(("Stopped", "is stopped"))
    names = sorted(set(flavors_of(queue).values()))
    if missing := [each for each in names if store.get(RESOURCE_FLAVORS, None, each) is None]:
        text = f"references missing ResourceFlavor(s): {','.join(missing)}"
        found.append(("FlavorNotFound", text))
    if not found:
        return None
    return found[0][0], f"Can't admit new workloads: {', '.join(text for _, text in found)}."


class KueueQueues(Reconciler):
    """Writes the condition Active of ClusterQueues, and then of their LocalQueues."""

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.type == "DELETED" and write.resource in (LOCAL_QUEUES, RESOURCE_FLAVORS):
            return
        if write.resource == LOCAL_QUEUES:
            yield LOCAL_QUEUES, *key_of(write.item)
        elif write.resource == CLUSTER_QUEUES:
            yield CLUSTER_QUEUES, *key_of(write.item)
            for each in self.store.items(LOCAL_QUEUES):
                if each["spec"]["clusterQueue"] == write.item["metadata"]["name"]:
                    yield LOCAL_QUEUES, *key_of(each)
        elif write.resource == RESOURCE_FLAVORS:
            for each in self.store.items(CLUSTER_QUEUES):
                yield CLUSTER_QUEUES, *key_of(each)

    def reconcile(self, key: Any) -> None:
        resource, namespace, name = key
        queue = self.store.get(resource, namespace, name)
        if queue is None:
            return
        state = self._of_cluster(queue) if resource == CLUSTER_QUEUES else self._of_local(queue)
        self.store.change(
            resource, namespace, name, lambda item: put(item, _ACTIVE, *state, self.moment)
        )

    def _of_cluster(self, queue: JsonObject) -> tuple[bool, str, str]:
        closed = _closed(self.store, queue)
        return (True, "Ready", "Can admit new workloads") if closed is None else (False, *closed)

    def _of_local(self, queue: JsonObject) -> tuple[bool, str, str]:
        cluster = self.store.get(CLUSTER_QUEUES, None, queue["spec"]["clusterQueue"])
        if policy_of(queue) != "None":
            return False, "Stopped", "LocalQueue is stopped"
        text = "Can't submit new workloads to clusterQueue"
        if cluster is None:
            return False, "ClusterQueueDoesNotExist", text
        if not has(cluster, _ACTIVE):
            return False, "ClusterQueueIsInactive", text
        return True, "Ready", "Can submit new workloads to localQueue"
