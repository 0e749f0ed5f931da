"""The suspect nodes of all AppWrappers: which pods avoid them, and which are reported to admins."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import orjson
from prometheus_client import CollectorRegistry, Gauge

from controller.facts.pods import Pod
from controller.facts.room import Room, pod_groups, resources_of
from controller.facts.suspects import (
    SUSPECTED_FOR,
    Blame,
    reported_nodes,
    suspects_of,
    words_of_blame,
)
from controller.fleet.node_index import NodeIndex
from shared.api.appwrapper import AppWrapper
from shared.api.objects import NODES, is_label_value
from shared.config.configuration import AppWrapperConfig
from shared.injection.avoided_hosts import NO_HOSTS, AvoidedHosts
from shared.kube.events import EventRecorder, ObjectReference
from shared.process.clock import Clock

logger = logging.getLogger(__name__)

Key = tuple[str, str]  # namespace, name of an AppWrapper
REASON: Final = "SuspectNode"
_SUSPECTS: Final = (
    "Nodes on which pods of at least two users' AppWrappers failed first within 24 hours."
)


class Suspects:
    """Collects suspects from the statuses of the AppWrappers, so a restart loses nothing.

    If `autopilot.monitorNodes` is off, `nodes` is empty: then a node's name serves as its host
    name, and no node is ever forbidden.
    """

    def __init__(
        self,
        config: AppWrapperConfig,
        nodes: NodeIndex,
        recorder: EventRecorder,
        clock: Clock,
        pods_on: Callable[[str], Iterable[Pod]],
    ) -> None:
        self._mode = config.suspect_nodes
        self._resource_taints = config.autopilot.resource_taints
        self._watched = config.autopilot.monitor_nodes
        self._nodes = nodes
        self._recorder = recorder
        self._clock = clock
        self._pods_on = pods_on
        self._blames: dict[Key, tuple[Blame, ...]] = {}
        self._by_node: dict[str, dict[Key, Blame]] = {}  # only those in force when recorded
        self._told: dict[str, datetime] = {}  # node → time of its Event

    def show(self, registry: CollectorRegistry) -> None:
        """Register a gauge of the reported nodes, computed at each scrape."""
        gauge = Gauge("appwrapper_suspect_nodes", _SUSPECTS, registry=registry)
        gauge.set_function(lambda: float(len(self.reported(self._clock.now()))))

    def avoided_hosts(self, appwrapper: AppWrapper, texts: Sequence[bytes]) -> AvoidedHosts:
        """Return the hosts that the next pods of an AppWrapper avoid.

        `texts` are its complete components as JSON. Hosts are forbidden only if the other nodes
        certainly have room for all pods, and only for pods whose resources the node index knows.
        """
        if self._mode == "Off":
            return NO_HOSTS
        names = [each.node for each in suspects_of(appwrapper.status, self._clock.now())]
        hosts = tuple(filter(is_label_value, map(self._nodes.hostname, names)))
        if not hosts:
            return NO_HOSTS
        required: Mapping[str, tuple[str, ...]] = {}
        if self._mode == "Required":
            required = dict.fromkeys(self._resources_with_room(appwrapper, texts, names), hosts)
        return AvoidedHosts(by_resource=required, unwanted=hosts)

    def _resources_with_room(
        self, appwrapper: AppWrapper, texts: Sequence[bytes], without: Sequence[str]
    ) -> Iterable[str]:
        room = Room(
            nodes=self._nodes.all(),
            resource_taints=self._resource_taints,
            withheld=self._nodes.withheld,
            pods_on=self._pods_on,
            own=appwrapper,
        )
        try:
            groups = pod_groups(map(orjson.loads, texts), self._nodes.resources)
            enough = room.suffices(groups, without)
        except Exception as error:  # noqa: BLE001  a template that no webhook checked
            # Creating the component reports the error to the user. Here it only proves no room.
            place = (appwrapper.namespace, appwrapper.name)
            logger.debug("%s/%s: no room is proved: %r", *place, error)
            return ()
        return sorted(resources_of(groups)) if enough else ()

    def look(self, key: Key, blames: tuple[Blame, ...]) -> None:
        """Record the suspects of an AppWrapper; none for one that is gone. Never raises."""
        before = self._blames.get(key, ())
        if blames == before:
            return  # the usual case
        for each in before:
            self._by_node.get(each.suspect.node, {}).pop(key, None)
        self._blames.pop(key, None)
        if blames:
            self._blames[key] = blames
        now = self._clock.now()
        for each in blames:
            if each.suspect.is_in_force(now):
                self._by_node.setdefault(each.suspect.node, {})[key] = each
        for node in dict.fromkeys(each.suspect.node for each in (*before, *blames)):
            if not self._by_node.get(node):
                self._by_node.pop(node, None)
            else:
                self._tell(node, now)

    def reported(self, now: datetime) -> Mapping[str, tuple[Blame, ...]]:
        """Return the existing nodes that AppWrappers of several users suspect."""
        return {
            node: blames
            for name in self._by_node
            for node, blames in self._reported(name, now).items()
        }

    def _reported(self, name: str, now: datetime) -> Mapping[str, tuple[Blame, ...]]:
        gone = self._watched and self._nodes.node(name) is None
        if self._mode == "Off" or gone:
            return {}
        return reported_nodes(self._by_node[name].values(), now)

    def _tell(self, node: str, now: datetime) -> None:
        """Emit an Event once per node and day, and again after a restart."""
        told = self._told.get(node)
        if told is not None and now < told + SUSPECTED_FOR:
            return
        for name, blames in self._reported(node, now).items():
            self._told[name] = now
            message = (
                f"{words_of_blame(blames)}: check its hardware; to keep new pods off it:"
                f" kubectl cordon {name}"
            )
            logger.warning("node %s: %s", name, message, extra={"reason": REASON})
            self._recorder.warning(self._reference(name), REASON, message)

    def _reference(self, name: str) -> ObjectReference:
        """Refer to the node by its UID, or by its name like the kubelet; kubectl finds both."""
        node = self._nodes.node(name)
        uid = name if node is None else node.uid
        return ObjectReference("v1", NODES.kind, "", name, uid)
