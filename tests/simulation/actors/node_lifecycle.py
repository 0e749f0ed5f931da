"""The node lifecycle controller and the taint eviction controller.

A node that sends no heartbeat becomes unreachable: its condition Ready is Unknown, it gets taints,
and its pods are deleted once they no longer tolerate that.
"""

from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

from shared.api.conditions import condition, conditions_of
from shared.api.objects import NODES, PODS, JsonObject, is_being_deleted
from tests.simulation import lags
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.objects import Key, has_ended, set_condition, title
from tests.simulation.actors.placement import tolerations_of
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster

UNREACHABLE: Final = "node.kubernetes.io/unreachable"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
# The controller's own taints: it removes them when the node is well again.
_OWN: Final = frozenset({UNREACHABLE, NOT_READY, UNSCHEDULABLE})
_TEXT: Final = "Taint manager: deleting due to NoExecute taint"


class _Eviction(NamedTuple):
    """The deletion of a pod that tolerates a taint for some time only."""

    pod: Key
    taints: tuple[str, ...]


class NodeLifecycle(Actor):
    """Keeps the taints of nodes in step with their conditions, and evicts pods by taints."""

    DELAYS = lags.EVENT
    ODDS = lags.ODDS

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._since: dict[Key, float] = {}  # when a pod's toleration began to count

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == NODES and write.type != "DELETED":
            if _taints(write.item) or _own_taints(write.item) or _taints(write.old or {}):
                yield Key.of(NODES, write.item)
        elif write.resource == PODS and write.type == "DELETED":
            self._since.pop(Key.of(PODS, write.item), None)
        elif write.resource == PODS and _was_bound(write) and self._taints_of(write.item):
            yield Key.of(PODS, write.item)

    def place(self, key: Hashable) -> str:
        about = key.pod if isinstance(key, _Eviction) else key
        assert isinstance(about, Key)
        pod = about.read(self.store)
        return f"{self.name} sees {about.name if pod is None else title(pod)}"

    def react(self, key: Hashable) -> None:
        if isinstance(key, _Eviction):
            self._evict(key)
            return
        assert isinstance(key, Key)
        item = key.read(self.store)
        if item is not None and key.resource == NODES:
            self._update(key, item)
        elif item is not None:
            self._judge(key, item)

    def miss(self, node: str) -> None:
        """Report that the node has sent no heartbeat for too long."""
        now = self.now

        def change(item: JsonObject) -> None:
            text = "Kubelet stopped posting node status."
            set_condition(item, "Ready", "Unknown", "NodeStatusUnknown", now, text)

        if node in self.cluster.silent_nodes:
            self.store.change(NODES, None, node, change)
            for pod in self._pods_on(node):
                Key.of(PODS, pod).change(
                    self.store,
                    lambda item: set_condition(item, "Ready", "False", "NodeNotReady", now),
                )

    def _update(self, key: Key, node: JsonObject) -> None:
        """Set the taints that follow from the node's conditions, then see to its pods."""
        wanted = _own_taints(node)
        others = [
            each for each in (node.get("spec") or {}).get("taints") or () if each["key"] not in _OWN
        ]
        taints = [*others, *wanted]

        def change(item: JsonObject) -> None:
            spec = item.setdefault("spec", {})
            if taints:
                spec["taints"] = taints
            else:
                spec.pop("taints", None)

        key.change(self.store, change)
        for pod in self._pods_on(key.name):
            self._judge(Key.of(PODS, pod), pod)

    def _judge(self, key: Key, pod: JsonObject) -> None:
        """Arrange the eviction of a pod by the taints of its node."""
        taints = self._taints_of(pod)
        if not taints:
            self._since.pop(key, None)
            return
        tolerated = _tolerated_for(pod, taints)
        if is_being_deleted(pod) or tolerated is None:
            return
        since = self._since.setdefault(key, self.now)
        due = _Eviction(key, tuple(each["key"] for each in taints))
        self.later(due, max(0.0, since + tolerated - self.now))

    def _evict(self, due: _Eviction) -> None:
        pod = due.pod.read(self.store)
        if pod is None or is_being_deleted(pod):
            return
        taints = self._taints_of(pod)
        tolerated = _tolerated_for(pod, taints) if taints else None
        since = self._since.get(due.pod)
        if tolerated is None or since is None or since + tolerated > self.now + 0.001:
            return  # the taint is gone, or was added again later
        now = self.now
        if not has_ended(pod):
            self.cluster.causes.add_for(pod, f"pod {due.pod.name}: taints {due.taints}")
        due.pod.change(
            self.store,
            lambda item: set_condition(
                item, "DisruptionTarget", "True", "DeletionByTaintManager", now, _TEXT
            ),
        )
        due.pod.delete(self.store)

    def _taints_of(self, pod: JsonObject) -> list[JsonObject]:
        """Return the NoExecute taints of the pod's node."""
        node = self.store.get(NODES, None, pod["spec"]["nodeName"])
        return [each for each in _taints(node or {}) if each["effect"] == "NoExecute"]

    def _pods_on(self, node: str) -> list[JsonObject]:
        return [each for each in self.store.items(PODS) if each["spec"].get("nodeName") == node]


def _taints(node: JsonObject) -> list[JsonObject]:
    return [*((node.get("spec") or {}).get("taints") or ())]


def _was_bound(write: Write) -> bool:
    """True for the write that gives a pod its node."""
    before = (write.old or {}).get("spec") or {}
    return bool(write.item["spec"].get("nodeName")) and not before.get("nodeName")


def _own_taints(node: JsonObject) -> list[JsonObject]:
    ready = condition(conditions_of(node.get("status") or {}), "Ready") or {}
    found: list[JsonObject] = []
    if (node.get("spec") or {}).get("unschedulable"):
        found.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
    key = {"Unknown": UNREACHABLE, "False": NOT_READY}.get(ready.get("status", "True"))
    if key is not None:
        found += [{"key": key, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    return found


def _tolerated_for(pod: JsonObject, taints: Iterable[JsonObject]) -> float | None:
    """Return for how many seconds the pod tolerates all taints; None: forever.

    The API server gives each pod tolerations of an unreachable or unready node.
    """
    shortest: float | None = None
    for taint in taints:
        matching = tolerations_of(pod, taint)
        seconds = [each["tolerationSeconds"] for each in matching if "tolerationSeconds" in each]
        if not matching:
            by_default = taint["key"] in (UNREACHABLE, NOT_READY)
            seconds = [lags.DEFAULT_TOLERATION if by_default else 0.0]
        if seconds:
            least = max(0.0, min(seconds))
            shortest = least if shortest is None else min(shortest, least)
    return shortest
