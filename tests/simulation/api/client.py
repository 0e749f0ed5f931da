"""A `KubeClient` of one simulated process, with latency and faults.

A request that was sent arrives, even if its sender dies meanwhile. A dead process sends nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

from shared.api.objects import JsonObject, Resource
from shared.kube.client import (
    ApiError,
    Gone,
    KubeClient,
    KubeError,
    ListPage,
    TooManyRequests,
    Unreachable,
    WatchEvent,
)
from shared.kube.connection import Timeouts
from shared.kube.requests import Request, list_page, retry_delay
from tests.simulation.api.http import answer, listed, place_of
from tests.simulation.api.store import Write
from tests.simulation.api.watch import Selection, Stream
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults

T = TypeVar("T")

_ANSWER_TAKES: Final = 0.001
_OVERTAKEN_ANSWER_TAKES: Final = 0.02
_EVENT_TAKES: Final = 0.002  # an answer usually overtakes the event of its write


@dataclass(slots=True)
class _Process:
    """The state that all connections of one process share."""

    alive: bool = True
    sent: int = 0


class SimulatedClient(KubeClient):
    """The connection of one process, `name`, whose clock is `ahead` of the server's.

    `permit` is called directly before each request is sent; if it raises, nothing is sent.
    """

    def __init__(
        self, cluster: Cluster, faults: Faults, name: str, ahead: timedelta = timedelta()
    ) -> None:
        self.name = name
        self.permit: Callable[[Request], None] | None = None
        self._process = _Process()
        self._cluster = cluster
        self._loop = cluster.loop
        self._faults = faults
        self._ahead = ahead

    @property
    def alive(self) -> bool:
        """True until the process dies."""
        return self._process.alive

    @property
    def sent(self) -> int:
        """Return how many requests the process has sent."""
        return self._process.sent

    def die(self) -> None:
        """Send nothing any more."""
        self._process.alive = False

    def another(self) -> "SimulatedClient":
        """Return another connection of the same process."""
        made = SimulatedClient(self._cluster, self._faults, self.name, self._ahead)
        made._process = self._process
        return made

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        """Send one request, and retry by the product's own rule."""
        place = place_of(request)
        return await self._exchange(
            request, lambda: answer(self._cluster.store, request), place, retry=retry
        )

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[ListPage, None]:
        """Yield the pages of one moment's state."""
        store = self._cluster.store
        request = list_page(resource, namespace, page_size=page_size)

        def act() -> tuple[list[JsonObject], int]:
            items = listed(
                store,
                resource,
                namespace,
                labels=label_selector,
                fields=field_selector,
                metadata_only=metadata_only,
            )
            return items, store.revision

        def act_again() -> bool:
            if revision < store.compacted[resource]:
                raise Gone(410, "Expired", "the continue token is too old")
            return True

        place = f"LIST {resource.plural}"
        items, revision = await self._exchange(request, act, place)
        while True:
            page, items = items[:page_size], items[page_size:]
            yield ListPage(page, str(revision))
            if not items:
                return
            await self._exchange(request, act_again, place)

    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        seconds: float = 450.0,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield changes until the watch's end, or until a fault."""
        await self._transfer(self._faults.latency())
        selection = Selection.of(
            resource, namespace, label_selector, field_selector, metadata_only=metadata_only
        )
        fault = self._faults.watch_fault(resource.plural)
        stream = self._cluster.watches.open(selection, resource_version, self._lag)
        self._plan_end(stream, fault, seconds)
        try:
            while (event := await stream.next()) is not None:
                yield event
        finally:
            self._cluster.watches.close(selection, stream)

    def chunks(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("no log is read here")

    def server_ahead(self) -> timedelta | None:
        return timedelta(seconds=round(-self._ahead.total_seconds()))

    async def close(self) -> None:
        """Close nothing: there are no connections."""

    def _plan_end(self, stream: Stream, fault: str, seconds: float) -> None:
        match fault.split():
            case ["cut", after]:
                self._loop.outside(float(after), stream.end, Unreachable("the watch was cut"))
            case ["silent"]:
                stream.is_silent = True
                overdue = Unreachable("the watch did not end when it should have")
                self._loop.outside(seconds + Timeouts().overtime, stream.end, overdue)
            case _:
                self._loop.outside(seconds, stream.end)

    def _lag(self, write: Write) -> float:
        return _EVENT_TAKES + self._faults.event_delay(write.resource.plural)

    async def _exchange(
        self, request: Request, act: Callable[[], T], place: str, *, retry: bool = True
    ) -> T:
        tries = 0
        while True:
            tries += 1
            try:
                return await self._exchange_once(request, act, place)
            except KubeError as error:
                delay = retry_delay(request, error, tries) if retry else None
                if delay is None:
                    raise
            await asyncio.sleep(delay)

    async def _exchange_once(self, request: Request, act: Callable[[], T], place: str) -> T:
        if not self.alive:
            await self._loop.create_future()
        if self.permit is not None:
            self.permit(request)
        self._process.sent += 1
        write, sent = request.method != "GET", self._loop.now
        reply: asyncio.Future[T] = self._loop.create_future()
        self._loop.outside(self._faults.latency(), self._arrive, act, place, write, reply)
        try:
            return await reply
        finally:
            self._report(reply, self._loop.now - sent, is_list=place.startswith("LIST"))

    def _arrive(
        self, act: Callable[[], T], place: str, write: bool, reply: asyncio.Future[T]
    ) -> None:
        if not self.alive:
            self._faults.land(lambda: self._faults.arrive(self.name, place, act, write=write))
            return
        result = self._faults.arrive(self.name, place, act, write=write)
        if result is not None:
            takes = _OVERTAKEN_ANSWER_TAKES if self._faults.is_overtaken else _ANSWER_TAKES
            self._loop.outside(takes, _deliver, reply, result)

    def _report(self, reply: asyncio.Future[T], seconds: float, *, is_list: bool) -> None:
        """Report an answer as `KubeClient` describes."""
        error = None if reply.cancelled() else reply.exception()
        answered = not reply.cancelled() and (error is None or isinstance(error, ApiError))
        rejected = isinstance(error, TooManyRequests)
        if self.on_answer is not None and answered and (not is_list or rejected):
            self.on_answer(seconds, rejected)

    async def _transfer(self, seconds: float) -> None:
        """Wait as long as a message to the server takes."""
        if not self.alive:
            await self._loop.create_future()
        await asyncio.sleep(seconds)


def _deliver(reply: asyncio.Future[T], result: T | KubeError) -> None:
    if reply.done():
        return  # its process crashed
    if isinstance(result, KubeError):
        reply.set_exception(result)
    else:
        reply.set_result(result)
