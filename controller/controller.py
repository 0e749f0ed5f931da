"""The composition root of everything that decides and writes, for one term of leadership."""

import asyncio
import logging
from collections.abc import Hashable, Sequence
from functools import partial
from pathlib import Path

from prometheus_client import generate_latest

from controller.apply.annotation_warnings import AnnotationWarner
from controller.apply.applier import Applier
from controller.apply.creator import ComponentCreator
from controller.apply.deleter import Deleter
from controller.apply.events import Teller
from controller.apply.metrics import Meter
from controller.caches import Caches
from controller.facts.appwrapper_outline import Outline
from controller.facts.evacuation import PODS_BY_NODE
from controller.facts.pods import Pod, has_failed, touched
from controller.fleet.fleet import Fleet
from controller.gather.component_reads import ComponentLocator
from controller.gather.component_watches import ComponentWatches
from controller.gather.error_store_reader import ErrorStores
from controller.gather.live_pods import LivePods
from controller.gather.queue_watch import QueueWatch
from controller.gather.snapshot_gatherer import PODS_BY_APPWRAPPER, Key, SnapshotGatherer
from controller.gather.unserved_kinds import UnservedKinds
from controller.gauges import AppWrapperGauges, Watched
from controller.memory.memory import Memory
from controller.metrics import ControllerMetrics
from controller.reconciler import Reconciler
from controller.runtime.pass_limit import PassLimit
from controller.runtime.worker import WakeTimes, Workers
from controller.runtime.workqueue import QueueMetrics, WakeReason, WorkQueue
from shared.config.configuration import Configuration
from shared.injection.pod_template import pod_defaults
from shared.kube.client import KubeClient
from shared.kube.events import EventRecorder
from shared.kube.object_cache import Change
from shared.process.backoff import ExponentialBackoff
from shared.process.logs import object_fields
from shared.process.sources import Sources
from shared.process.supervisor import Runnable, Supervisor
from shared.waits import kueue_settings
from shared.waits.gpus import gpu_resources

logger = logging.getLogger(__name__)

# Seconds that current passes, and then their Events, have at shutdown. A pass takes milliseconds
# unless the API server is unavailable, and then cancelling it loses nothing.
GRACE = 5.0


class Controller:
    """Creates and connects all parts that decide and write.

    `config_file` is read again while the process runs, for `pauseResets`. `Replica` keeps `caches`
    full.
    """

    def __init__(
        self,
        client: KubeClient,
        config: Configuration,
        config_file: Path | None = None,
        *,
        sources: Sources,
        caches: Caches,
    ) -> None:
        self._sources = sources
        self._clock = clock = sources.clock
        self._config = config
        self._config_file = config_file
        self._metrics = ControllerMetrics(config.appwrapper.autopilot.resource_taints)
        self._wake_times: WakeTimes[Key] = WakeTimes(clock)
        self._memory = Memory()
        queue_metrics = QueueMetrics(self._metrics.registry, "appwrapper")
        limit = PassLimit()
        self._metrics.show_pass_limit(lambda: limit.limit)
        self._queue: WorkQueue[Key] = WorkQueue(clock, queue_metrics, limit)
        client.on_answer = self._queue.answered
        self._caches = caches
        self._appwrappers = self._caches.appwrappers
        self._pods = self._caches.pods
        kueue = kueue_settings.namespaces(config.appwrapper.exemptions.quota_managers)
        wakes = (self._wake, self._queue.add_after)
        self._queue_watch = QueueWatch(
            self._caches.kueue, client, clock, self._appwrappers, *wakes, kueue
        )
        self._watches = ComponentWatches(
            self._caches.components,
            self._pods,
            clock,
            self._wake,
            self._wake_at_once,
            self._memory,
        )
        self._show_metrics()
        self._appwrappers.add_handler(self._appwrapper_changed)
        self._pods.add_handler(self._pod_changed)
        self._recorder = EventRecorder(
            client, clock, component="appwrapper-controller", instance=sources.host
        )
        self._complainer = AnnotationWarner(
            self._recorder, config.appwrapper.fault_tolerance, self._memory
        )
        self._fleet = self._make_fleet(client)
        self._stores = self._make_stores()
        self._workers = self._make_workers(client)
        self._supervisor = Supervisor(self._parts(), clock, grace=GRACE)

    def _show_metrics(self) -> None:
        now = self._clock.now
        self._metrics.registry.register(
            AppWrapperGauges(self._outlines, self._has_pods, lambda: now().timestamp())
        )
        self._metrics.show_stuck_deletions(self._memory.deletions.stuck)

    def _make_fleet(self, client: KubeClient) -> Fleet:
        fleet = Fleet(
            client,
            self._sources,
            self._config,
            self._recorder,
            self._metrics.registry,
            self._caches.nodes,
            self._caches.devices,
            pod=self._pods.get,
            pods_on=lambda node: self._pods_by(PODS_BY_NODE, node),
            pods_of=lambda key: self._pods_by(PODS_BY_APPWRAPPER, key),
            wake=self._wake_at_once,
        )
        self._memory.on_forget(fleet.reset_gate.forget)
        return fleet

    def _make_stores(self) -> ErrorStores:
        config = self._config.appwrapper.fault_tolerance.error_aggregation
        stores = ErrorStores(
            config, self._wake_at_once, self._recorder, self._metrics.registry, self._sources
        )
        self._memory.on_forget(stores.forget)
        return stores

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set and all current passes have ended."""
        try:
            await self._supervisor.run(stop)
        finally:
            # Also without a drain: its alarm would keep this controller's queue alive for hours.
            self._queue.shut_down()
            self._stores.close()

    def _make_workers(self, client: KubeClient) -> Workers[Key]:
        clock = self._clock
        discovery = self._caches.discovery
        behaviour = self._config.appwrapper
        locator = ComponentLocator(client, clock, discovery, self._watches, self._memory)
        gatherer = SnapshotGatherer(
            client,
            clock,
            self._appwrappers,
            self._pods,
            discovery,
            locator,
            UnservedKinds(client, clock),
            self._memory,
            behaviour,
            self._fleet.nodes.tags,
            self._fleet.nodes.flagged,
            self._fleet.nodes.silent,
            self._fleet.devices.taints,
            self._fleet.lacks_node,
            self._fleet.nodes.largest,
            self._fleet.no_node_for,
            self._stores,
            self._queue_watch,
            LivePods(client, self._queue.only_waits),
        )
        creator = ComponentCreator(
            client,
            discovery,
            self._watches,
            self._memory.creations,
            pod_defaults(behaviour),
            self._fleet.avoided_hosts,
            behaviour.fault_tolerance.error_aggregation,
        )
        meter = Meter(self._metrics, clock, self._memory, self._wake_times.age)
        teller = Teller(self._recorder, meter)
        deleter = Deleter(client, self._memory.deletions, clock, teller.swept)
        applier = Applier(
            client,
            self._appwrappers,
            creator,
            deleter,
            teller,
            self._memory,
            gpu_resources(behaviour),
        )
        reconcile = Reconciler(gatherer, applier, clock, self._fleet.reset_gate).reconcile
        return Workers(
            self._queue,
            partial(self._wake_times.timed, reconcile),
            sources=self._sources,
            limiter=ExponentialBackoff(),
            log_fields=self._log_fields,
            observer=self._metrics,
        )

    def _parts(self) -> list[Runnable]:
        return [
            Runnable(
                "events",
                "decisions emit events",
                self._recorder.run,
                drain=self._recorder.drain,
            ),
            Runnable(
                "pods",
                "before AppWrappers, so that the first decisions see their pods",
                self._pods.follow,
                ready=self._pods.wait_synced,
            ),
            *self._fleet.parts(self._config_file),
            Runnable(
                "appwrappers",
                "fills the queue",
                self._appwrappers.follow,
                ready=self._appwrappers.wait_synced,
            ),
            Runnable(
                "workers",
                "last: they use the data of all other parts",
                self._workers.run,
                drain=self._queue.shut_down,
            ),
        ]

    def _appwrapper_changed(self, change: Change[Outline]) -> None:
        if change.new is None and change.old is not None:
            self._memory.forget(change.old.uid, change.key)
        elif change.new is not None:
            self._complainer.evaluate(change.new.read())
            wake = self._wake_at_once if change.new.suspend else self._wake
            wake(change.key)

    def _pods_by(self, index: str, value: Hashable) -> list[Pod]:
        return [pod for _, pod in self._pods.indexed(index, value)]

    def _pod_changed(self, change: Change[Pod]) -> None:
        if change.new is None and change.old is not None:
            self._fleet.devices.forget(change.old.uid)
        wake = self._wake_at_once if has_failed(change.old, change.new) else self._wake
        for key in touched(change.old, change.new):
            wake(key)

    def _wake(self, key: Key, why: WakeReason = WakeReason.CHANGE) -> None:
        self._wake_times.woken(key)
        self._queue.add(key, why)

    def _wake_at_once(self, key: Key) -> None:
        """Wake for a failure, an evacuation or a suspension: it goes first if the AppWrapper runs.

        Pods also fail because the controller deletes them.
        """
        known = self._appwrappers.get(*key)
        runs = known is None or known.runs
        self._wake(key, WakeReason.URGENT if runs else WakeReason.CHANGE)

    def _log_fields(self, key: Key) -> dict[str, object]:
        known = self._appwrappers.get(*key)
        if known is None:
            return object_fields(*key)
        return object_fields(*key, known.uid, phase=known.phase)

    def _outlines(self) -> list[tuple[Key, Outline]]:
        return [(key, each) for key, each in self._appwrappers.items() if each.is_ours]

    def _has_pods(self, key: Key) -> bool:
        """True if a pod of the AppWrapper exists, and always before the first list is complete."""
        return not self._pods.synced or bool(self._pods_by(PODS_BY_APPWRAPPER, key))

    @property
    def watched(self) -> Sequence[Watched]:
        """The informers that run during this term alone."""
        return self._fleet.informers

    def measured(self) -> bytes:
        """Return the metrics of what this process decides."""
        inhabited = {namespace for (namespace, _), _ in self._appwrappers.items()}
        self._metrics.by_namespace.forget(inhabited, self._clock.monotonic())
        return generate_latest(self._metrics.registry)
