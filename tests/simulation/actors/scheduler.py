"""The scheduler binds each pod to a node with room, or reports that there is none."""

from collections.abc import Hashable, Iterable
from typing import Final

from shared.api.objects import NODES, PODS, JsonObject
from tests.simulation import lags
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.objects import Key, has_ended, is_active, set_condition, title
from tests.simulation.actors.placement import message, refusal, requests_of
from tests.simulation.api.store import Write

_NODES: Final = "nodes"


class Scheduler(Actor):
    """The pods of every scheduler name are bound here: only their placement differs."""

    DELAYS = lags.SCHEDULER
    ODDS = lags.ODDS

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == NODES:
            yield _NODES
        elif write.resource == PODS:
            if write.type != "DELETED" and is_unbound(write.item):
                yield Key.of(PODS, write.item)
            elif write.type == "DELETED" or has_ended(write.item):
                yield _NODES  # there may be room now

    def place(self, key: Hashable) -> str:
        if not isinstance(key, Key) or (pod := key.read(self.store)) is None:
            return f"{self.name} sees nodes"
        return f"{self.name} sees {title(pod)}"

    def react(self, key: Hashable) -> None:
        if isinstance(key, Key):
            pod = key.read(self.store)
            if pod is not None and is_unbound(pod):
                self._schedule(key, pod)
            return
        for pod in self.store.items(PODS):
            if is_unbound(pod):
                self.later(Key.of(PODS, pod))

    def _schedule(self, key: Key, pod: JsonObject) -> None:
        fitting: list[tuple[int, str]] = []
        refusals: list[str] = []
        for node in self.store.items(NODES):
            name = node["metadata"]["name"]
            there = [each for each in self._live_pods() if each["spec"].get("nodeName") == name]
            if why := refusal(pod, node, requests_of(there)):
                refusals.append(why)
            else:
                fitting.append((len(there), name))
        now = self.now
        if not fitting:
            text = message(refusals)
            if all(refusal(pod, node, {}) for node in self.store.items(NODES)):
                self.cluster.causes.add_for(pod, f"pod {key.name}: no node can hold it")
            key.change(
                self.store,
                lambda item: set_condition(
                    item, "PodScheduled", "False", "Unschedulable", now, text
                ),
            )
            return
        place = f"{self.name} binds {title(pod)}"  # the real one scores nodes by more than this
        _, chosen = self.cluster.choices.pick(place, sorted(fitting))

        def bind(item: JsonObject) -> None:
            item["spec"]["nodeName"] = chosen
            set_condition(item, "PodScheduled", "True", "", now)

        key.change(self.store, bind)
        if chosen in self.cluster.silent_nodes:  # its silence is not noticed yet
            self.cluster.causes.add_for(pod, f"pod {key.name}: bound to the silent node {chosen}")

    def _live_pods(self) -> Iterable[JsonObject]:
        """Return the pods that have room on their node, also while they are being deleted."""
        return (each for each in self.store.items(PODS) if not has_ended(each))


def is_unbound(pod: JsonObject) -> bool:
    """True if the pod waits for a node; a pod with a scheduling gate waits for its gate first."""
    spec = pod["spec"]
    return is_active(pod) and not spec.get("nodeName") and not spec.get("schedulingGates")
