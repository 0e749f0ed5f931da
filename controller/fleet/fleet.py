"""The nodes, the breakers, the pause and the reset gate of one controller, wired together."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from controller.facts.evacuation import Key, users
from controller.facts.nodes import Node, NodeProjection, WithheldBy
from controller.facts.pods import Pod
from controller.facts.suspects import suspects_of
from controller.facts.unschedulable import NoNode, no_node_for
from controller.fleet.breaker_keeper import BreakerKeeper
from controller.fleet.device_watch import DeviceWatch
from controller.fleet.node_events import NodeEvents
from controller.fleet.node_index import ChangedResources, NodeIndex
from controller.fleet.reset_holds import ResetGate
from controller.fleet.reset_pause_switch import PauseSwitch
from controller.gather.device_caches import DeviceCaches
from controller.gauges import ComputedGauge, Samples, Watched
from controller.phases.snapshot import HoldReason
from controller.slack.keeper import SlackKeeper
from controller.slack.reports import show_slack_quota
from shared.api.appwrapper import AppWrapper
from shared.api.objects import is_label_value
from shared.config.configuration import AppWrapperConfig, Configuration
from shared.injection.avoided_hosts import AvoidedHosts
from shared.kube.client import KubeClient
from shared.kube.events import EventRecorder
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.sources import Sources
from shared.process.supervisor import Runnable

# Metrics of nodes, breakers and the reset gate, computed at each scrape.

_OPEN: Final = "1 while evacuations wait because too many nodes turned bad at once."
_NO_EXECUTE: Final = "Nodes that have the resource and a label that evacuates its pods."
_LATCHED: Final = "Nodes that stay NoExecute by the latch although their label is gone."
_UNSCHEDULABLE: Final = (
    "How much of the resource no new pod can have though nodes have it, each amount under one"
    " reason."
)
_OVERDUE: Final = "Nodes with a label TESTING for longer than nodeHealth.testingTimeout."


def show_resets(registry: CollectorRegistry, reset_gate: ResetGate) -> None:
    """Register gauges of the waiting resets and of the pause."""
    text = "1 while pauseResets holds all resets and evacuations."
    paused = Gauge("appwrapper_resets_paused", text, registry=registry)
    paused.set_function(lambda: reset_gate.paused)
    text = "AppWrappers whose reset must wait, by reason."

    def waiting() -> Samples:
        return {(reason.value,): len(reset_gate.held(reason)) for reason in HoldReason}

    registry.register(ComputedGauge("appwrapper_resets_waiting", text, ["reason"], waiting))


def show_nodes(registry: CollectorRegistry, nodes: NodeIndex, breakers: BreakerKeeper) -> None:
    """Register gauges for each resource with taints: its nodes, lost capacity, and breaker."""
    gauges: dict[str, tuple[str, Callable[[str], float]]] = {
        "appwrapper_nodes": ("Nodes that have the resource.", nodes.population),
        "appwrapper_nodes_no_execute": (_NO_EXECUTE, lambda name: len(nodes.tagged(name))),
        "appwrapper_nodes_latched": (_LATCHED, lambda name: len(nodes.latched(name))),
        "appwrapper_nodes_test_overdue": (_OVERDUE, lambda name: len(nodes.overdue(name))),
    }

    def samples(value: Callable[[str], float]) -> Samples:
        return {(resource,): value(resource) for resource in nodes.resources}

    def opened() -> Samples:
        return {(name,): breakers.is_open(name) for name in breakers.names}

    name = "appwrapper_evacuation_breaker_open"
    registry.register(ComputedGauge(name, _OPEN, ["resource"], opened))
    for name, (text, value) in gauges.items():
        registry.register(ComputedGauge(name, text, ["resource"], partial(samples, value)))

    def unschedulable() -> Samples:
        lost = nodes.unschedulable_by_reason()
        return {
            (resource, reason.value): float(lost.get((resource, reason), 0))
            for resource in nodes.resources
            for reason in WithheldBy
        }

    labels, name = ["resource", "reason"], "appwrapper_unschedulable_capacity"
    registry.register(ComputedGauge(name, _UNSCHEDULABLE, labels, unschedulable))


logger = logging.getLogger(__name__)

# Seconds that the start waits for the breakers' record. Without the record only evacuations wait.
RECORD_PATIENCE: Final = 5.0
# Seconds until the end of a latch, or an overdue test, is noticed. Both periods last hours.
CHECK_SECONDS: Final = 5.0


def node_projection(section: AppWrapperConfig) -> NodeProjection:
    """Return what the nodes' cache keeps of each node."""
    taints = section.autopilot.resource_taints
    # All labels: pods may select nodes by any of them. With a slack queue also all resources:
    # ResourceFlavors may name any of them.
    return NodeProjection(None, None if section.slack_queue.name else taints)


class Fleet:
    """Owns the node index, the breakers, the reset gate and the slack queue.

    `pods_on` and `pods_of` return pods by node and by AppWrapper, and `pod` one by namespace and
    name; `wake` fills the queue. `Replica` keeps `informer` and `devices` full. If
    `autopilot.monitorNodes` is off, `nodes` stays empty and no AppWrapper is evacuated.
    """

    def __init__(
        self,
        client: KubeClient,
        sources: Sources,
        config: Configuration,
        recorder: EventRecorder,
        registry: CollectorRegistry,
        informer: Informer[Node],
        devices: DeviceCaches,
        *,
        pod: Callable[[str, str], Pod | None],
        pods_on: Callable[[str], Iterable[Pod]],
        pods_of: Callable[[Key], Iterable[Pod]],
        wake: Callable[[Key], None],
    ) -> None:
        section = config.appwrapper
        taints = section.autopilot.resource_taints
        self._clock = clock = sources.clock
        self._began = clock.now()
        self._config = config
        self._watched = section.autopilot.monitor_nodes
        self._injects = section.autopilot.inject_anti_affinities
        self._pods_on = pods_on
        self._pods_of = pods_of
        self._wake = wake
        self.nodes = NodeIndex(taints, section.node_health)
        self._node_events = NodeEvents(recorder, section.node_health)
        # Nodes whose NoExecute state changed, with the resources: their users are not woken yet.
        self._turned: dict[str, frozenset[str]] = {}
        self._device_watch = DeviceWatch(
            devices, clock, pod, self._devices_turned, lambda key: self._wake(key)
        )
        # The taints of the devices that pods hold.
        self.devices = self._device_watch.index
        self._breakers = BreakerKeeper(
            client,
            sources,
            self.nodes,
            self.devices,
            section.evacuation_breaker,
            config.cert_management.namespace,
            recorder,
            lambda: self._wake_held(HoldReason.BREAKER),
            self._nodes_turned,
        )
        closed_to = self._breakers.closed_to
        self.reset_gate = ResetGate(section.reset_rate_limit, closed_to, self._began)
        self.reset_gate.paused = section.pause_resets
        self._informer = informer
        informer.add_handler(self._node_changed)
        show_resets(registry, self.reset_gate)
        # None without a slack queue.
        self.slack: SlackKeeper | None = None
        if self._watched:
            show_nodes(registry, self.nodes, self._breakers)
            if section.slack_queue.name:
                self.slack = slack = SlackKeeper(
                    client, sources, self.nodes, section.slack_queue, recorder, self._nodes_certain
                )
                show_slack_quota(registry, lambda: slack.rows)

    def parts(self, config_file: Path | None) -> list[Runnable]:
        """Return the parts to run before the workers. Without a file pauseResets stays as it is."""
        parts: list[Runnable] = []
        if config_file is not None:
            switch = PauseSwitch(config_file, self._config, self._clock, self._turn)
            parts.append(Runnable("pauseResets", "may change at any time", switch.run))
        if self._watched:
            parts += [
                self._device_watch.part(),
                Runnable(
                    "nodes",
                    "before AppWrappers, so that the first decisions know what is tagged",
                    self._informer.follow,
                    ready=self._nodes_known,
                ),
                Runnable(
                    "node health record",
                    "what was known of breakers and latches before",
                    self._breakers.record.run,
                    ready=self._record_known,
                ),
                Runnable("breakers", "are written down", self._breakers.run),
                Runnable("node deadlines", "latches end, tests are overdue", self._watch_the_time),
            ]
        if self.slack is not None:
            parts.append(Runnable("slack queue", "follows the nodes that it knows", self.slack.run))
        elif self._config.appwrapper.slack_queue.name:
            logger.warning(
                "slackQueue.name has no effect: autopilot.monitorNodes is false, so no node is read"
            )
        return parts

    @property
    def informers(self) -> tuple[Watched, ...]:
        """The informers that run beside that of the nodes: of the record, of the slack queue."""
        if not self._watched:
            return ()
        slack = () if self.slack is None else self.slack.informers
        return (self._breakers.record, *slack)

    def avoided_hosts(self, appwrapper: AppWrapper) -> AvoidedHosts:
        """Return the nodes that the pods of the current attempt avoid."""
        latched = self.nodes.avoided_hosts() if self._injects else {}
        return AvoidedHosts(by_resource=latched, unwanted=self._suspect_hosts(appwrapper))

    def lacks_node(self, name: str) -> bool:
        """True if a pod's node may not exist: the watch of nodes shows none of that name."""
        return bool(name) and self.nodes.known_since is not None and self.nodes.node(name) is None

    def no_node_for(self, pods: Iterable[Pod], now: datetime) -> NoNode:
        """Return which of the pods no node can hold, if that is known."""
        if self._informer.failing:  # a larger node may have come
            return NoNode(look_again=timedelta(seconds=CHECK_SECONDS))
        return no_node_for(pods, self.nodes.recent(), now)

    def _suspect_hosts(self, appwrapper: AppWrapper) -> tuple[str, ...]:
        """Return the host names of its suspect nodes. An unknown node's name serves as its own."""
        if self._config.appwrapper.suspect_nodes == "Off":
            return ()
        names = [each.node for each in suspects_of(appwrapper.status, self._clock.now())]
        return tuple(filter(is_label_value, map(self.nodes.hostname, names)))

    def _nodes_certain(self) -> bool:
        """True if latches are loaded and the API server does not reject the watch of nodes."""
        return self._breakers.adopted and not self._informer.refused

    async def _nodes_known(self) -> None:
        await self._informer.wait_synced()
        self.nodes.known_since = self._clock.now()
        for resource, taint, found in self.nodes.matches():
            logger.info(
                "resourceTaints: %s: %s=%s (%s) is on %d of %d nodes",
                resource,
                taint.key,
                taint.value,
                taint.effect,
                found,
                len(self.nodes),
            )
        self._breakers.nodes_known()

    async def _record_known(self) -> None:
        try:
            async with self._clock.timeout(RECORD_PATIENCE):
                await self._breakers.record.wait_synced()
        except TimeoutError:
            logger.warning("the record of node health cannot be read yet: evacuations wait for it")
        self._breakers.evaluate()

    def _devices_turned(self) -> None:
        self._breakers.evaluate()

    def _node_changed(self, change: Change[Node]) -> None:
        now, name = self._clock.now(), change.key[1]
        resources = self.nodes.update(change, now)
        # First, so that woken AppWrappers meet a breaker that counts this node.
        self._breakers.evaluate()
        if self.slack is not None:
            self.slack.changed()
        self._nodes_turned({name: resources} if resources else {})
        old, new = change.old, change.new
        annotated = new is not None and (old is None or old.latch_cleared != new.latch_cleared)
        if new is not None and annotated and name in self.nodes.tags:
            self._node_events.unusable_clearing(new, now)

    async def _watch_the_time(self) -> None:
        """End latches and find overdue tests, until cancelled."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            now = self._clock.now()
            overdue, turned = self.nodes.overdue_tests(now), self.nodes.pass_time(now)
            for node, resource, test in overdue:
                self._node_events.overdue(node, resource, test)
            if turned:
                self._breakers.evaluate()
                self._nodes_turned(turned)
            if self.slack is not None and overdue:
                self.slack.changed()

    def _nodes_turned(self, turned: ChangedResources) -> None:
        if not turned:
            return
        if self.slack is not None:
            self.slack.changed()
        if not self._turned:
            asyncio.get_running_loop().call_soon(self._wake_users)
        for name, resources in turned.items():
            self._turned[name] = self._turned.get(name, frozenset()) | resources
            self._report_latches(name, resources)

    def _report_latches(self, name: str, resources: frozenset[str]) -> None:
        """Report new latches; the previous process reported the older ones."""
        node, tags = self.nodes.node(name), self.nodes.tags.get(name, {})
        for resource in sorted(resources & tags.keys()):
            tag = tags[resource]
            if node is not None and tag.gone is not None and tag.gone >= self._began:
                self._node_events.latched(node, resource, tag.label, tag.gone)

    def _wake_users(self) -> None:
        """Wake the users of all nodes that changed in one event-loop step, by priority."""
        turned, self._turned = self._turned, {}
        driven = ((pod, turned[node]) for node in turned for pod in self._pods_on(node))
        for key in users(driven):
            self._wake(key)

    def _turn(self, paused: bool) -> None:
        self.reset_gate.paused = paused
        if not paused:
            self._wake_held(HoldReason.PAUSED)

    def _wake_held(self, reason: HoldReason) -> None:
        """Wake the AppWrappers held for this reason, highest priority first."""
        for key in sorted(self.reset_gate.held(reason), key=self._priority, reverse=True):
            self._wake(key)

    def _priority(self, key: Key) -> int:
        return max((pod.priority for pod in self._pods_of(key)), default=0)
