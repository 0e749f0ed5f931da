"""One replica of the controller: caches and listeners at all times, decisions while it leads.

Each term of leadership has a `Controller` of its own, which remembers nothing of an earlier term:
another replica may have led since. So a term begins as a process does, but with full caches.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from controller import controller
from controller.caches import Caches
from controller.controller import Controller
from controller.gauges import Watched, watch_gauge
from controller.replica_metrics import ReplicaMetrics
from controller.runtime.leadership import Leadership, LeaseState
from shared.config.configuration import Configuration
from shared.config.values import parse_bind_address
from shared.kube.client import KubeClient
from shared.process.listener import Answer, Listener
from shared.process.sources import Sources
from shared.process.supervisor import Runnable, Supervisor

logger = logging.getLogger(__name__)

# Seconds for the end of a term and the release of the lease.
GRACE: Final = controller.GRACE + 2.0


class Replica:
    """Creates and connects the parts of one process.

    `client` sends what the controller sends; with `leadership` it must ask `leadership.permit`
    before each request. Without one, this replica always leads: no other may run.
    """

    def __init__(
        self,
        client: KubeClient,
        config: Configuration,
        config_file: Path | None = None,
        *,
        sources: Sources,
        leadership: Leadership | None = None,
        begun: Callable[[Controller], None] = lambda _: None,
    ) -> None:
        """`begun` is called with the controller of each term, before it runs."""
        self._client = client
        self._config = config
        self._config_file = config_file
        self._sources = sources
        self._leadership = leadership
        self._begun = begun
        self._caches = Caches.of(client, config, sources)
        self._controller: Controller | None = None
        self._ending = asyncio.Event()
        self._metrics = ReplicaMetrics(
            lambda: not self._caches.problems(),
            # Without a lease this replica always leads.
            LeaseState(leads=True) if leadership is None else leadership.state,
            watch_gauge(self._watched, sources.clock.monotonic),
        )
        self._listeners = self._make_listeners()
        self._supervisor = Supervisor(self._parts(), sources.clock, grace=GRACE)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set and all current passes have ended.

        Raises CannotListen, StillWriting, and any error of a part.
        """
        try:
            for listener in self._listeners.values():
                listener.open()
            await self._supervisor.run(stop)
        finally:
            for listener in self._listeners.values():
                listener.close()

    def _parts(self) -> Sequence[Runnable]:
        return [
            *(
                Runnable(name, "reports health from the first moment", listener.run)
                for name, listener in self._listeners.items()
            ),
            *(
                Runnable(
                    each.resource.plural,
                    "a standby knows them, too",
                    each.run,
                    ready=each.wait_synced,
                )
                for each in self._caches.used
            ),
            *(
                [Runnable("device caches", "a standby knows them, too", self._caches.devices.run)]
                if self._caches.monitors_nodes
                else []
            ),
            Runnable("queues", "a standby knows them, too", self._caches.kueue.run),
            Runnable("components", "a standby knows them, too", self._caches.components.run),
            *self._standby_parts(),
            Runnable(
                "decisions",
                "last: they need full caches, and the lease",
                self._decide,
                drain=self._ending.set,
            ),
        ]

    def _standby_parts(self) -> Sequence[Runnable]:
        if self._leadership is None:
            return []  # it is never a standby
        watch = partial(self._caches.components.watch_kinds, self._caches.kinds)
        return [Runnable("component kinds", "a standby watches what the leader uses", watch)]

    async def _decide(self) -> None:
        if self._leadership is None:
            await self._term()
        else:
            await self._leadership.run(self._term, self._ending)

    async def _term(self) -> None:
        """Decide until `_ending` is set, or until cancelled because the lease is lost."""
        self._controller = leader = Controller(
            self._client,
            self._config,
            self._config_file,
            sources=self._sources,
            caches=self._caches,
        )
        self._begun(leader)
        try:
            await leader.run(self._ending)
        finally:
            self._controller = None
            self._caches.drop_handlers()

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

    def _watched(self) -> Sequence[Watched]:
        leader = self._controller
        return [*self._caches.all, *(() if leader is None else leader.watched)]

    def _healthy(self) -> Answer:
        return Answer(text="ok\n")

    def _ready(self) -> Answer:
        problems = self._caches.problems()
        if not problems:
            return Answer(text="ok\n")
        return Answer(text=problems, status=503)

    def _measured(self) -> Answer:
        body = generate_latest(self._metrics.registry)
        if self._controller is not None:
            body += self._controller.measured()
        return Answer(body=body, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
