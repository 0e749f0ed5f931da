"""Acts on AppWrappers in a simulated run: by users, by admins, and by their nodes.

An act names an AppWrapper. It does nothing if there is nothing left to act on.
"""

from collections.abc import Callable
from typing import Final

from shared.api.names import LABEL_COMPONENT, LABEL_UID
from shared.api.objects import APPWRAPPERS, NODES, PODS, JsonObject, label
from tests.simulation import lags
from tests.simulation.actors.kueue.kueue import Kueue
from tests.simulation.actors.nodes import Nodes
from tests.simulation.actors.user import User
from tests.simulation.cluster import Cluster
from tests.simulation.workloads import NAMESPACE
from tests.support.builders.autopilot import HEALTH

QUEUE: Final = "team1-cluster-queue"
_LASTS: Final = 60.0


class Acts:
    """`do` performs one act by its name. `seconds`: how long its effect lasts, if it ends."""

    def __init__(self, cluster: Cluster, kueue: Kueue, nodes: Nodes) -> None:
        self._cluster = cluster
        self._kueue = kueue
        self._nodes = nodes
        self.user = User(cluster, NAMESPACE)
        self.deactivated: set[str] = set()
        self._acts: dict[str, Callable[[str, str, float], object]] = {
            "evict": lambda _name, uid, _seconds: kueue.preempt(uid),
            "deactivate": self._deactivate,
            "hold": self._hold,
            "hold AppWrapper": self._hold_appwrapper,
            "annotate": lambda name, _uid, _seconds: self.user.annotate(name, "team/note", "seen"),
            "suspend": lambda name, _uid, _seconds: self.user.suspend(name),
            "delete": lambda name, _uid, _seconds: self.user.delete(name),
            "delete component": lambda name, _uid, _seconds: self._delete_component(name),
            "delete pod": lambda name, _uid, _seconds: self.user.delete_pod(name),
            "delete Workload": lambda _name, uid, _seconds: kueue.delete_workload(uid),
            "evacuate": self._evacuate,
            "silence": self._silence,
            "remove node": self._remove_node,
            "lose node": self._lose_node,
        }

    def do(self, what: str, name: str, seconds: float = _LASTS) -> None:
        """Perform an act on the AppWrapper `name`."""
        self._cluster.tell(f"act: {what} {name}")
        item = self._cluster.store.get(APPWRAPPERS, NAMESPACE, name)
        if item is not None:
            self._acts[what](name, item["metadata"]["uid"], seconds)

    def do_after(self, what: str, written: JsonObject) -> None:
        """Perform an act on the AppWrapper that a written object is, or belongs to, if any.

        A component that was just created is the one that is deleted.
        """
        uid = label(written, LABEL_UID) or written["metadata"]["uid"]
        index = label(written, LABEL_COMPONENT)
        for each in self._cluster.store.items(APPWRAPPERS, NAMESPACE):
            if each["metadata"]["uid"] != uid:
                continue
            name = each["metadata"]["name"]
            if what == "delete component" and index is not None:
                self.user.delete_component(name, int(index))
            else:
                self.do(what, name)

    def _later(self, seconds: float, act: Callable[..., object], *args: object) -> None:
        self._cluster.loop.outside(seconds, act, *args)

    def _deactivate(self, name: str, uid: str, seconds: float) -> None:
        self.user.deactivate(name)
        self.deactivated.add(uid)
        self._later(seconds, self._activate, name, uid)

    def _activate(self, name: str, uid: str) -> None:
        self.deactivated.discard(uid)
        self.user.deactivate(name, active=True)

    def _hold(self, name: str, uid: str, seconds: float) -> None:
        """Stop the queue, which evicts all AppWrappers in it."""
        self.user.stop_cluster_queue(QUEUE)
        self._later(seconds, self.user.stop_cluster_queue, QUEUE, "None")

    def _hold_appwrapper(self, name: str, uid: str, seconds: float) -> None:
        self.user.hold(name)
        self._later(seconds, self.user.release, name)

    def _delete_component(self, name: str) -> None:
        for index in range(3):
            if self.user.delete_component(name, index):
                return

    def _evacuate(self, name: str, uid: str, seconds: float) -> None:
        if node := self._node_of(uid):
            self._nodes.label(node, HEALTH, "EVICT")
            self._later(seconds, self._nodes.label, node, HEALTH, None)

    def _silence(self, name: str, uid: str, seconds: float) -> None:
        if node := self._node_of(uid):
            self._nodes.silence(node)
            self._later(seconds, self._nodes.wake, node)

    def _remove_node(self, name: str, uid: str, seconds: float) -> None:
        if node := self._node_of(uid):
            self._nodes.remove(node)
            self._later(seconds, self._replace_node, node)

    def _lose_node(self, name: str, uid: str, seconds: float) -> None:
        """Let a cloud take a node: it is silent, then removed; later a new one has its name."""
        if node := self._node_of(uid):
            self._nodes.lose(node)
            self._later(lags.CLOUD + seconds, self._replace_node, node)

    def _replace_node(self, node: str) -> None:
        if self._cluster.store.get(NODES, None, node) is None:
            self._nodes.add(node)

    def _node_of(self, uid: str) -> str:
        """Return the node of its first bound pod that is still a node; empty without any."""
        store = self._cluster.store
        for pod in store.items(PODS, NAMESPACE):
            node = str(pod["spec"].get("nodeName") or "")
            if label(pod, LABEL_UID) == uid and store.get(NODES, None, node) is not None:
                return node
        return ""
