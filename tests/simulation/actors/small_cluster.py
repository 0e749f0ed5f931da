"""A small cluster for the tests of single actors: a namespace, nodes, and chosen deviations."""

from collections.abc import Mapping
from typing import Any

from shared.api.conditions import conditions_of, true_types
from shared.api.objects import NAMESPACES, NODES, PODS, JsonObject, Resource
from shared.kinds.job import JOBS
from tests.simulation.actors.objects import phase_of
from tests.simulation.api.store import Write
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster
from tests.support.builders.pods import pod_template

TEAM = "team1"


class SmallCluster(Cluster):
    """`advance(seconds)` lets virtual time pass; nothing happens between two calls."""

    def __init__(
        self, nodes: int = 1, deviations: Mapping[tuple[str, int], int] | None = None
    ) -> None:
        super().__init__(Recorded(deviations))
        self.writes: list[Write] = []
        self.store.listeners.append(self.writes.append)
        self.store.create(NAMESPACES, None, {"metadata": {"name": TEAM}})
        for number in range(1, nodes + 1):
            self.add_node(f"n{number}")

    def add_node(self, name: str, **amounts: str) -> None:
        labels = {"kubernetes.io/hostname": name}
        self.store.create(NODES, None, {"metadata": {"name": name, "labels": labels}, "spec": {}})
        has = {"cpu": "80", "nvidia.com/gpu": "8", "pods": "250", **amounts}

        def fill(node: JsonObject) -> None:
            node["status"] = {"capacity": has, "allocatable": has}

        self.store.change(NODES, None, name, fill)

    def advance(self, seconds: float) -> None:
        self.loop.call_later(seconds, self.loop.stop)
        self.loop.run_forever()

    def create(self, resource: Resource, body: JsonObject) -> JsonObject:
        return self.store.create(resource, TEAM, body)

    def job(self, name: str = "train") -> JsonObject:
        found = self.store.get(JOBS, TEAM, name)
        assert found is not None
        return found

    def pods(self) -> list[JsonObject]:
        return self.store.items(PODS, TEAM)

    def phases(self) -> list[str]:
        return [phase_of(each) for each in self.pods()]

    def change_pod(self, name: str, **changes: Any) -> None:
        """Change fields of a pod's status, as its kubelet does."""
        self.store.change(PODS, TEAM, name, lambda pod: pod["status"].update(changes))


def bound_pod(name: str, node: str = "n1", **simulation: str) -> JsonObject:
    """Build a pod that has its node."""
    template = pod_template(**simulation)
    spec = {**template["spec"], "nodeName": node, "terminationGracePeriodSeconds": 30}
    return {"metadata": {**template["metadata"], "name": name}, "spec": spec}


def held(item: JsonObject) -> frozenset[str]:
    """Return the types of the true conditions."""
    return true_types(conditions_of(item.get("status") or {}))
