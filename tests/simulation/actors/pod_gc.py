"""PodGC removes pods that no kubelet will remove: of deleted nodes, without a node, or too many."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from shared.api.objects import NODES, PODS, JsonObject, is_being_deleted
from tests.simulation import lags
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.objects import Key, has_ended, set_condition, title
from tests.simulation.api.store import Write
from tests.simulation.choices import chance
from tests.simulation.cluster import Cluster


class _Missing(NamedTuple):
    """A node that was missing when a pod, or its deletion, was seen."""

    node: str


class PodGc(Actor):
    """`removes_ended`: how probable it is that an ended pod is one too many."""

    DELAYS = lags.POD_GC
    ODDS = lags.ODDS

    def __init__(self, cluster: Cluster, *, removes_ended: float = 0.0) -> None:
        super().__init__(cluster)
        self._removes_ended = removes_ended
        self._asked: set[str] = set()  # UIDs of ended pods

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == NODES and write.type == "DELETED":
            yield _Missing(write.item["metadata"]["name"])
        if write.resource != PODS or write.type == "DELETED":
            return
        pod = write.item
        node = pod["spec"].get("nodeName")
        if node and self.store.get(NODES, None, node) is None:
            yield _Missing(node)
        if (is_being_deleted(pod) and not node) or (has_ended(pod) and self._is_surplus(pod)):
            yield Key.of(PODS, pod)

    def place(self, key: Hashable) -> str:
        if isinstance(key, _Missing):
            return f"{self.name} misses node {key.node}"
        assert isinstance(key, Key)
        pod = key.read(self.store)
        return f"{self.name} sees {key.name if pod is None else title(pod)}"

    def react(self, key: Hashable) -> None:
        if isinstance(key, _Missing):
            self.cluster.loop.outside(lags.NODE_QUARANTINE, self._remove_pods_of, key.node)
            return
        assert isinstance(key, Key)
        pod = key.read(self.store)
        if pod is not None:
            self._remove(pod)

    def _is_surplus(self, pod: JsonObject) -> bool:
        uid = pod["metadata"]["uid"]
        if not self._removes_ended or uid in self._asked:
            return False
        self._asked.add(uid)
        place = f"{self.name} removes ended {title(pod)}"
        return chance(self.cluster.choices, place, self._removes_ended)

    def _remove_pods_of(self, node: str) -> None:
        if self.store.get(NODES, None, node) is not None:
            return  # a node of this name is there again
        for pod in self.store.items(PODS):
            if pod["spec"].get("nodeName") == node:
                self._remove(pod, "DeletionByPodGC", "PodGC: node no longer exists")

    def _remove(self, pod: JsonObject, reason: str = "", text: str = "") -> None:
        """Remove the pod without grace; one that has not ended fails first."""
        key, now = Key.of(PODS, pod), self.now

        def fail(item: JsonObject) -> None:
            item["status"]["phase"] = "Failed"
            if reason:
                set_condition(item, "DisruptionTarget", "True", reason, now, text)

        if not has_ended(pod):
            if reason:
                self.cluster.causes.add_for(pod, f"pod {key.name}: {text}")
            key.change(self.store, fail)
        key.delete(self.store, grace=0)
