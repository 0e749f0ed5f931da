"""The controller's composition root: configuration in, a running process out."""

import argparse
import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial
from http import HTTPStatus
from itertools import chain
from pathlib import Path

import uvloop
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from controller.apply.applier import Applier
from controller.apply.creator import ComponentCreator
from controller.apply.deleter import Deleter
from controller.apply.events import AnnotationWarner, Teller
from controller.apply.metrics import Meter
from controller.facts.evacuation import PODS_BY_NODE, by_node
from controller.facts.outline import project_appwrapper
from controller.facts.own_status import Outline
from controller.facts.pods import Pod, project_pod, touched
from controller.fleet.fleet import Fleet
from controller.gather.component_watches import ComponentWatches
from controller.gather.components import ComponentLocator
from controller.gather.error_store import ErrorStores, missing_drivers
from controller.gather.queue_watch import WAITING, QueueWatch, by_queue
from controller.gather.snapshot_gatherer import (
    PODS_BY_APPWRAPPER,
    Key,
    SnapshotGatherer,
    by_appwrapper,
)
from controller.gather.unserved_kinds import UnservedKinds
from controller.gauges import Watched
from controller.memory import Memory
from controller.metrics import ControllerMetrics
from controller.reconciler import Reconciler
from controller.runtime.worker import WakeTimes, Workers
from controller.runtime.workqueue import QueueMetrics, WorkQueue
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, PODS
from shared.config.command_line import add_config_flags, changed_values, config_from_flags
from shared.config.configuration import Configuration
from shared.config.loading import LoadedConfig
from shared.config.values import parse_bind_address
from shared.injection.pod_template import pod_defaults
from shared.kube.client import CannotConnect, KubeClient
from shared.kube.discovery import Discovery
from shared.kube.events import EventRecorder
from shared.kube.http_client import connect
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.clock import ExponentialBackoff
from shared.process.listener import Answer, CannotListen, Listener
from shared.process.logs import add_log_flag, log_failure, log_to, object_fields
from shared.process.sources import Sources
from shared.process.supervisor import Runnable, Supervisor, stop_on_signals
from shared.waits import kueue_settings

logger = logging.getLogger(__name__)

# AppWrappers that may wait for the API server at once; each pass sends a few requests.
WORKERS = 32
# Seconds that current passes, and then their Events, have at shutdown. A pass takes milliseconds
# unless the API server is unavailable, and then cancelling it loses nothing.
GRACE = 5.0
EXIT_FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal. Return the exit code: 1 if the start or a part failed."""
    parser = argparse.ArgumentParser(
        prog="python -m controller", description="The AppWrapper controller."
    )
    add_config_flags(parser)
    add_log_flag(parser)
    flags = parser.parse_args(arguments)
    log_to(level=flags.log_level)
    loaded = config_from_flags(flags, unusable=_unusable)
    # Decoded JSON consists of hundreds of thousands of objects without cycles. Measured: with the
    # default thresholds the garbage collector needs over half of the CPU time of the first lists.
    gc.set_threshold(10_000, 20, 20)
    try:
        uvloop.run(_run(loaded, Path(flags.config)))
    except (CannotConnect, CannotListen) as error:
        # The message is complete; a traceback would not help.
        logger.error("the controller cannot start: %s", error)  # noqa: TRY400
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001  logged with its traceback, then the process ends
        log_failure(logger, "the controller ends because a part of it failed", error)
        return EXIT_FAILED
    logger.info("stopped")
    return 0


def _unusable(config: Configuration) -> list[str]:
    return missing_drivers(config.appwrapper.fault_tolerance.error_aggregation)


async def _run(loaded: LoadedConfig, config_file: Path) -> None:
    """Raises CannotConnect, CannotListen, and any error of a part."""
    logger.info("configuration, as far as it is not the default: %s", changed_values(loaded))
    stop = asyncio.Event()
    stop_on_signals(stop)
    client = await connect(user_agent="appwrapper-controller/0.1")
    try:
        sources = Sources.of_the_machine()
        await Controller(client, loaded.config, config_file, sources=sources).run(stop)
    finally:
        await client.close()


class Controller:
    """Creates and connects all parts of the process.

    `config_file` is read again while the process runs, for `pauseResets`. With other `sources` than
    the machine's, and another client, a simulation runs the whole process.
    """

    def __init__(
        self,
        client: KubeClient,
        config: Configuration,
        config_file: Path | None = None,
        *,
        sources: Sources,
    ) -> None:
        self._sources = sources
        self._clock = clock = sources.clock
        self._config = config
        self._config_file = config_file
        self._metrics = ControllerMetrics(config.appwrapper.autopilot.resource_taints)
        self._wake_times: WakeTimes[Key] = WakeTimes(clock)
        self._memory = Memory()
        queue_metrics = QueueMetrics(self._metrics.registry, "appwrapper")
        self._queue: WorkQueue[Key] = WorkQueue(clock, queue_metrics)
        queue_metrics.show(self._queue)
        measured = tuple(config.appwrapper.autopilot.resource_taints)
        self._appwrappers: Informer[Outline] = Informer(
            client,
            APPWRAPPERS,
            transform=partial(project_appwrapper, resources=measured),
            sources=sources,
            indexes={WAITING: by_queue},
            page_size=50,  # objects of up to 1 MiB, which the API server also holds in memory
        )
        kueue = kueue_settings.namespaces(config.appwrapper.exemptions.quota_managers)
        wakes = (self._wake, self._queue.add_after)
        self._queue_watch = QueueWatch(client, sources, self._appwrappers, *wakes, kueue)
        self._pods: Informer[Pod] = Informer(
            client,
            PODS,
            transform=project_pod,
            sources=sources,
            label_selector=LABEL_APPWRAPPER,
            indexes={PODS_BY_APPWRAPPER: by_appwrapper, PODS_BY_NODE: by_node},
        )
        self._watches = ComponentWatches(
            client, self._pods, sources, self._wake, self._is_alive, self._memory
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
        self._listeners = self._make_listeners()
        self._supervisor = Supervisor(self._parts(), clock, grace=GRACE)

    def _show_metrics(self) -> None:
        self._metrics.show_phases(self._count_phases)
        self._metrics.show_ready(lambda: not self._problems())
        self._metrics.show_standings(self._outlines, lambda: self._clock.now().timestamp())
        self._metrics.show_watches(self._watched, self._clock.monotonic)

    def _make_fleet(self, client: KubeClient) -> Fleet:
        fleet = Fleet(
            client,
            self._sources,
            self._config,
            self._recorder,
            self._metrics.registry,
            pods_on=lambda node: self._pods_by(PODS_BY_NODE, node),
            pods_of=lambda key: self._pods_by(PODS_BY_APPWRAPPER, key),
            wake=self._wake,
        )
        self._memory.tell_others(fleet.reset_gate.forget)
        return fleet

    def _make_stores(self) -> ErrorStores:
        config = self._config.appwrapper.fault_tolerance.error_aggregation
        stores = ErrorStores(
            config, self._wake, self._recorder, self._metrics.registry, self._sources
        )
        self._memory.tell_others(stores.forget)
        return stores

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set and all current passes have ended. Raises CannotListen."""
        try:
            for listener in self._listeners.values():
                listener.open()
            await self._supervisor.run(stop)
        finally:
            self._stores.close()
            for listener in self._listeners.values():
                listener.close()

    def _make_workers(self, client: KubeClient) -> Workers[Key]:
        clock = self._clock
        discovery = Discovery(client, clock)
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
            self._fleet.nodes.largest,
            self._stores,
            self._queue_watch,
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
            self._fleet.suspects.look,
        )
        reconcile = Reconciler(gatherer, applier, clock, self._fleet.reset_gate).reconcile
        return Workers(
            self._queue,
            partial(self._wake_times.timed, reconcile),
            count=WORKERS,
            sources=self._sources,
            limiter=ExponentialBackoff(),
            log_fields=self._log_fields,
            observer=self._metrics,
        )

    def _make_listeners(self) -> dict[str, Listener]:
        bound = self._config.controller_manager
        probes = {"/healthz": self._healthy, "/readyz": self._ready}
        served = [
            ("probes", bound.health.bind_address, probes),
            ("metrics", bound.metrics.bind_address, {"/metrics": self._measured}),
        ]
        return {
            name: Listener(address, paths)
            for name, text, paths in served
            if (address := parse_bind_address(text)) is not None
        }

    def _parts(self) -> list[Runnable]:
        return [
            *(
                Runnable(name, "reports health from the first moment", listener.run)
                for name, listener in self._listeners.items()
            ),
            Runnable(
                "events",
                "decisions emit events",
                self._recorder.run,
                drain=self._recorder.drain,
            ),
            Runnable(
                "pods",
                "before AppWrappers, so that the first decisions see their pods",
                self._pods.run,
                ready=self._pods.wait_synced,
            ),
            *self._fleet.parts(self._config_file),
            Runnable("queues", "shows why AppWrappers wait in them", self._queue_watch.run),
            Runnable(
                "appwrappers",
                "fills the queue",
                self._appwrappers.run,
                ready=self._appwrappers.wait_synced,
            ),
            Runnable("components", "watches the objects that the workers use", self._watches.run),
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
            self._fleet.suspects.look(change.key, ())
        elif change.new is not None:
            self._complainer.look(change.new.read())
            self._fleet.suspects.look(change.key, change.new.blames if change.new.is_ours else ())
            self._wake(change.key)

    def _pods_by(self, index: str, value: Hashable) -> list[Pod]:
        return [pod for _, pod in self._pods.indexed(index, value)]

    def _is_alive(self, key: Key, uid: str) -> bool:
        """True if the AppWrapper exists, and always before the first list is complete."""
        known = self._appwrappers.get(*key)
        return not self._appwrappers.synced or (known is not None and known.uid == uid)

    def _pod_changed(self, change: Change[Pod]) -> None:
        for key in touched(change.old, change.new):
            self._wake(key)

    def _wake(self, key: Key) -> None:
        self._wake_times.woken(key)
        self._queue.add(key)

    def _log_fields(self, key: Key) -> dict[str, object]:
        known = self._appwrappers.get(*key)
        if known is None:
            return object_fields(*key)
        return object_fields(*key, known.uid, phase=known.phase)

    def _count_phases(self) -> Counter[str]:
        return Counter(each.phase for _, each in self._appwrappers.items() if each.is_ours)

    def _outlines(self) -> list[tuple[Key, Outline]]:
        return [(key, each) for key, each in self._appwrappers.items() if each.is_ours]

    def _watched(self) -> list[Watched]:
        others = (self._watches.informers, self._queue_watch.informers, self._fleet.informers)
        return [self._appwrappers, self._pods, *chain.from_iterable(others)]

    def _healthy(self) -> Answer:
        return Answer(HTTPStatus.OK, b"ok\n")

    def _ready(self) -> Answer:
        said = self._problems()
        if not said:
            return Answer(HTTPStatus.OK, b"ok\n")
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, said.encode())

    def _problems(self) -> str:
        """Return one line for each cache that is not complete; empty if all are."""
        problems = (self._appwrappers.problem(), self._pods.problem())
        return "".join(f"{problem}\n" for problem in problems if problem is not None)

    def _measured(self) -> Answer:
        inhabited = {namespace for (namespace, _), _ in self._appwrappers.items()}
        self._metrics.by_namespace.forget(inhabited, self._clock.monotonic())
        body = generate_latest(self._metrics.registry)
        return Answer(HTTPStatus.OK, body, CONTENT_TYPE_PLAIN_0_0_4)
