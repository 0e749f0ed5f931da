"""A cluster with only Kueue, and an AppWrapper controller that the test plays."""

from collections.abc import Mapping
from typing import Any

from shared.api.names import LABEL_QUEUE_NAME
from shared.api.objects import APPWRAPPERS, NAMESPACES, JsonObject
from shared.waits.quota import CLUSTER_QUEUES
from tests.simulation.actors.kueue.kueue import Kueue, cluster_queue, suspended_at_creation
from tests.simulation.actors.kueue.quota import Release
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.actors.kueue.workloads import put, reason
from tests.simulation.actors.user import User
from tests.simulation.api.kinds import LOCAL_QUEUES, RESOURCE_FLAVORS
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster

NAMESPACE = "team"
JOB: JsonObject = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "main"},
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "template": {"spec": {"containers": [{"name": "main", "image": "x"}]}},
    },
}


class Bench:
    """`limits` is the ClusterQueue's quota; by default it holds two pods."""

    def __init__(self, settings: Settings | None = None, **limits: str) -> None:
        self.cluster = Cluster(Recorded())
        self.store = self.cluster.store
        self.kueue = Kueue(self.cluster, settings)
        self.user = User(self.cluster, NAMESPACE)
        self.released: list[Release] = []
        self.kueue.on_release(self.released.append)
        self.store.create(NAMESPACES, None, {"metadata": {"name": NAMESPACE}})
        self.store.create(
            RESOURCE_FLAVORS,
            None,
            {"metadata": {"name": "default"}, "spec": {"nodeLabels": {"gpu": "fast"}}},
        )
        self.store.create(
            CLUSTER_QUEUES, None, cluster_queue("shared", **(limits or {"pods": "2"}))
        )
        self.store.create(
            LOCAL_QUEUES,
            NAMESPACE,
            {"metadata": {"name": "queue"}, "spec": {"clusterQueue": "shared"}},
        )

    def submit(
        self, name: str, *, labels: Mapping[str, str] | None = None, **component: Any
    ) -> str:
        """Create an AppWrapper of one Job, through Kueue's webhook. Return its UID."""
        body = {
            "metadata": {"name": name, "labels": {LABEL_QUEUE_NAME: "queue", **(labels or {})}},
            "spec": {"components": [{"template": JOB, **component}]},
        }
        made = self.store.create(APPWRAPPERS, NAMESPACE, suspended_at_creation(body))
        return str(made["metadata"]["uid"])

    def run(self, seconds: float = 5.0) -> None:
        """Let that much time pass."""
        loop = self.cluster.loop
        loop.outside(seconds, loop.stop)
        loop.run_forever()

    def appwrapper(self, name: str) -> JsonObject:
        found = self.store.get(APPWRAPPERS, NAMESPACE, name)
        assert found is not None
        return found

    def report(self, name: str, phase: str, **conditions: bool) -> None:
        """Write the AppWrapper's status as its controller would; then let Kueue react."""

        def change(item: JsonObject) -> None:
            for kind, status in conditions.items():
                put(item, kind, status, "Test", "", self.cluster.clock.now())
            item.setdefault("status", {})["phase"] = phase

        self.store.change(APPWRAPPERS, NAMESPACE, name, change)
        self.run()

    def started(self, name: str, **labels: str) -> str:
        """Submit an AppWrapper and play its controller until it runs. Return its UID."""
        uid = self.submit(name, labels=labels)
        self.run()
        assert not self.is_suspended(name)
        self.report(name, "Running", QuotaReserved=True, ResourcesDeployed=True, PodsReady=True)
        return uid

    def stopped(self, name: str) -> None:
        """Report that the suspended AppWrapper has deleted everything."""
        assert self.is_suspended(name)
        self.report(name, "Suspended", QuotaReserved=False, ResourcesDeployed=False)

    def is_suspended(self, name: str) -> bool:
        return self.appwrapper(name)["spec"].get("suspend") is True

    def workload(self, uid: str) -> JsonObject:
        found = self.kueue.workload_of(uid)
        assert found is not None
        return found

    def conditions(self, uid: str) -> dict[str, str]:
        """Return the reason of each true condition of the AppWrapper's Workload."""
        workload = self.workload(uid)
        types = [each["type"] for each in (workload.get("status") or {}).get("conditions") or ()]
        return {each: found for each in types if (found := reason(workload, each))}
