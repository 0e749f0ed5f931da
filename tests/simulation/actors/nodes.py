"""Changes nodes as admins and failures do: health labels, cordons, silence, removal."""

from collections.abc import Mapping

from shared.api.objects import NODES, PODS, JsonObject
from shared.injection.avoided_hosts import LABEL_HOSTNAME
from tests.simulation import lags
from tests.simulation.actors.node_lifecycle import NodeLifecycle
from tests.simulation.actors.objects import set_condition
from tests.simulation.cluster import Cluster
from tests.simulation.loop import stamp

AMOUNTS: Mapping[str, str] = {
    "cpu": "80",
    "memory": "1100Gi",
    "nvidia.com/gpu": "8",
    "pods": "250",
}


class Nodes:
    """The machines and their admins. Acts that may end pods are noted as causes of retries."""

    def __init__(self, cluster: Cluster, lifecycle: NodeLifecycle) -> None:
        self.cluster = cluster
        self.store = cluster.store
        self._lifecycle = lifecycle
        self._silent_since: dict[str, float] = {}

    def add(self, name: str, amounts: Mapping[str, str] = AMOUNTS) -> None:
        """Add a node; a node that was removed returns with another UID."""
        self._tell(f"adds {name}")
        self.cluster.silent_nodes.discard(name)
        self._silent_since.pop(name, None)
        labels = {LABEL_HOSTNAME: name}
        self.store.create(NODES, None, {"metadata": {"name": name, "labels": labels}, "spec": {}})
        sizes = dict(amounts)

        def fill(node: JsonObject) -> None:
            node["status"] = {"capacity": sizes, "allocatable": sizes}
            _beat(node, self.cluster.loop.now)

        self.store.change(NODES, None, name, fill)

    def remove(self, name: str) -> None:
        """Remove the Node; its pods stay until PodGC finds them."""
        if self.store.get(NODES, None, name) is None:
            return
        self._blame(name, "is removed")
        self.store.delete(NODES, None, name)

    def label(self, name: str, key: str, value: str | None) -> None:
        """Set a label, such as Autopilot's EVICT, or remove it."""
        if value is not None:
            self._blame(name, f"{key}={value}")
        self._tell(f"labels {name} {key}={value}")

        def change(node: JsonObject) -> None:
            labels = node["metadata"].setdefault("labels", {})
            if value is None:
                labels.pop(key, None)
            else:
                labels[key] = value

        self.store.change(NODES, None, name, change)

    def annotate(self, name: str, key: str, value: str) -> None:
        """Set an annotation, such as an admin's confirmation."""
        self._tell(f"annotates {name} {key}={value}")
        self.store.change(
            NODES,
            None,
            name,
            lambda node: node["metadata"].setdefault("annotations", {}).update({key: value}),
        )

    def cordon(self, name: str, *, cordoned: bool = True) -> None:
        self._tell(f"{'cordons' if cordoned else 'uncordons'} {name}")

        def change(node: JsonObject) -> None:
            spec = node.setdefault("spec", {})
            if cordoned:
                spec["unschedulable"] = True
            else:
                spec.pop("unschedulable", None)

        self.store.change(NODES, None, name, change)

    def resize(self, name: str, amounts: Mapping[str, str]) -> None:
        """Change what pods may have, as a device plugin does when devices break."""
        self._tell(f"resizes {name} {dict(amounts)}")
        self.store.change(
            NODES, None, name, lambda node: node["status"]["allocatable"].update(amounts)
        )

    def silence(self, name: str) -> None:
        """Cut the node off: none of its pods changes until `wake`."""
        if name in self.cluster.silent_nodes:
            return
        self._blame(name, "is silent")
        self.cluster.silent_nodes.add(name)
        since = self._silent_since[name] = self.cluster.loop.now
        wait = self.cluster.choices.pick(f"silence of {name} is noticed", lags.NODE_SILENCE)
        self.cluster.loop.outside(wait, self._noticed, name, since)

    def lose(self, name: str) -> None:
        """Cut the node off for good: its cloud takes the machine, and removes the silent Node."""
        self.silence(name)
        self.cluster.loop.outside(lags.CLOUD, self.remove, name)

    def wake(self, name: str) -> None:
        """End the silence: the kubelet reports itself, and does what it has missed."""
        if self.store.get(NODES, None, name) is None:
            return  # its cloud has removed it
        self._tell(f"wakes {name}")
        self.cluster.silent_nodes.discard(name)
        self._silent_since.pop(name, None)
        now = self.cluster.loop.now
        self.store.change(NODES, None, name, lambda node: _beat(node, now))

    def _noticed(self, name: str, since: float) -> None:
        if self._silent_since.get(name) == since:
            self._lifecycle.miss(name)

    def _blame(self, name: str, why: str) -> None:
        """Note a cause for each AppWrapper with a pod on the node."""
        self._tell(f"node {name} {why}")
        for pod in self.store.items(PODS):
            if pod["spec"].get("nodeName") == name:
                self.cluster.causes.add_for(pod, f"node {name} {why}")

    def _tell(self, text: str) -> None:
        self.cluster.tell(f"nodes: {text}")


def _beat(node: JsonObject, now: float) -> None:
    """Write a heartbeat. A node that reports itself is Ready."""
    set_condition(node, "Ready", "True", "KubeletReady", now)
    for each in node["status"]["conditions"]:
        if each["type"] == "Ready":
            each["lastHeartbeatTime"] = stamp(now)
