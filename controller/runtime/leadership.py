"""Hold the lease while this process writes, and end its writers before another process begins.

A holder that cannot renew cancels its writers after RENEW_DEADLINE. A frozen one cannot cancel
them, so `permit` also checks the deadline directly before each write is sent. A write sent before
that arrives late fails by its resourceVersion or UID, or its object is deleted as unexpected.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from controller.runtime import lease
from controller.runtime.lease import RENEW_DEADLINE, RETRY, Seen
from shared.api.names import GO_OPERATORS_LEASE, LEASE_NAME
from shared.api.objects import LEASES, JsonObject
from shared.kube.client import AlreadyExists, ApiError, Conflict, KubeClient, KubeError, NotFound
from shared.kube.requests import Request
from shared.process.clock import Clock
from shared.process.sources import Sources

logger = logging.getLogger(__name__)

# Seconds for one request about a lease: a second one fits into the renew deadline.
# For the release, too: without it the next leader waits for 15 s.
_REQUEST: Final = 3.0
# Seconds that cancelled writers have to end.
STOP_WRITING: Final = 2.0
# They also have so many turns of the event loop: a process that got no CPU time is not stuck.
_TURNS: Final = 200
# While this process leads it reads the Go operator's lease this often.
_READ_GO_LEASE: Final = 10.0


class NotLeading(KubeError):
    """Raised instead of sending a write: the lease may belong to another process."""


class StillWriting(RuntimeError):
    """Raised if the writers did not end after the lease was lost: the process must end."""


class _Lost(Exception):
    """Raised when the lease is lost; the message has the reason."""


@dataclass(slots=True)
class LeaseState:
    """The lease as this process knows it, for metrics. `gained` and `lost` count its own terms."""

    leads: bool = False
    holder: str = ""
    acquired: datetime | None = None
    gained: int = 0
    lost: int = 0


T = TypeVar("T")
Lead = Callable[[], Awaitable[None]]
"""Everything that writes. It ends by itself only after a stop request or with a failure."""


class Leadership:
    """Compete for the lease in `namespace`. `client` sends nothing but requests about leases."""

    def __init__(self, client: KubeClient, namespace: str, sources: Sources) -> None:
        self._client = client
        self._clock: Clock = sources.clock
        self._namespace = namespace
        self._place = f"{namespace}/{LEASE_NAME}"
        self.identity = f"{sources.host}_{sources.random.getrandbits(64):016x}"
        self.state = LeaseState()
        self._lease: JsonObject | None = None
        self._seen: Seen | None = None
        self._go: Seen | None = None
        self._go_read_at = float("-inf")
        self._until = float("-inf")  # monotonic: no write is sent from then on
        self._logged = ""

    def permit(self, request: Request) -> None:
        """Raise NotLeading if this process may not send `request` now. Reads are always allowed."""
        if request.method != "GET" and self._clock.monotonic() >= self._until:
            raise NotLeading(f"{request.method}: not sent, because the lease has run out")

    async def run(self, lead: Lead, stop: asyncio.Event) -> None:
        """Run `lead` whenever this process holds the lease, until `stop` is set.

        Raise StillWriting, and what `lead` raises.
        """
        while not stop.is_set():
            delay = await self._compete()
            if delay is None:
                await self._lead(lead)
            elif not stop.is_set():
                with suppress(TimeoutError):
                    async with self._clock.timeout(delay):
                        await stop.wait()

    async def _compete(self) -> float | None:
        """Try to take the lease. Return None with it, else the seconds until the next try."""
        try:
            if (wait := await self._in_time(self._go_operator_for())) > 0.0:
                if self._is_new(go := _holder(self._go)):
                    logger.info("waits for the Go operator: %s holds its lease", go)
                return min(wait, RETRY.total_seconds())
            return await self._try_to_take()
        except (AlreadyExists, Conflict):
            self._lease = None
            return RETRY.total_seconds()  # another process was faster
        except (KubeError, TimeoutError) as error:
            if self._is_new(type(error).__name__):
                why = str(error) or "no answer in time"
                logger.warning("lease %s cannot be read or taken: %s", self._place, why)
            return RETRY.total_seconds()

    async def _try_to_take(self) -> float | None:
        await self._in_time(self._read())
        now = self._clock.monotonic()
        if (wait := lease.free_in(self._seen, self.identity, now)) > 0.0:
            if self._is_new(holder := _holder(self._seen)):
                logger.info("on standby: %s holds lease %s", holder, self._place)
            return min(wait, RETRY.total_seconds())
        await self._in_time(self._write())
        return None

    async def _in_time(self, request: Awaitable[T]) -> T:
        """Raise TimeoutError if one request takes too long. Several may take longer together."""
        async with self._clock.timeout(_REQUEST):
            return await request

    async def _lead(self, lead: Lead) -> None:
        self.state.leads, self.state.gained = True, self.state.gained + 1
        self._logged = ""
        logger.info("leads: %s holds lease %s", self.identity, self._place)
        term = asyncio.ensure_future(lead())
        keeping = asyncio.create_task(self._keep(), name="lease renewals")
        try:
            await asyncio.wait([term, keeping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.state.leads = False
            self._until = float("-inf")
            lost = await _end(keeping)
            await self._end_writers(term)
            await self._release()
        if isinstance(lost, _Lost):
            self.state.lost += 1
            logger.warning("leads no longer: %s", lost)
        elif lost is not None:
            raise lost
        if not term.cancelled():
            term.result()

    async def _end_writers(self, term: asyncio.Future[None]) -> None:
        """Cancel the writers unless they have ended. Raise StillWriting."""
        if term.done():
            return
        term.cancel()
        timer = asyncio.create_task(self._clock.sleep(STOP_WRITING))
        await asyncio.wait([term, timer], return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()
        for _ in range(_TURNS):
            if term.done():
                return
            await asyncio.sleep(0)
        if not term.done():
            raise StillWriting(f"writers have not stopped {STOP_WRITING:g} s after the lease ended")

    async def _keep(self) -> None:
        """Renew until the lease is lost, then raise _Lost."""
        began = self._until - RENEW_DEADLINE.total_seconds()
        while True:
            # From the begin of the last try: after one that hung, the next one begins at once.
            due = min(began + RETRY.total_seconds(), self._until)
            await self._clock.sleep(due - self._clock.monotonic())
            began = self._clock.monotonic()
            left = self._until - began
            if left <= 0.0:
                raise _Lost(f"no renewal for {RENEW_DEADLINE.total_seconds():g} s")
            try:
                async with self._clock.timeout(min(_REQUEST, left)):
                    await self._renew()
            except (KubeError, TimeoutError) as error:
                logger.warning("the lease is not renewed: %s", str(error) or "no answer in time")

    async def _renew(self) -> None:
        try:
            await self._write()
        except (AlreadyExists, Conflict, NotFound):
            # Another client changed or deleted it; another controller is only one of them.
            await self._read()
            if (holder := _holder(self._seen)) != self.identity:
                raise _Lost(f"{holder or 'no process'} holds lease {self._place}") from None
            await self._write()
        if self._clock.monotonic() - self._go_read_at < _READ_GO_LEASE:
            return
        if await self._go_operator_for() > 0.0:
            raise _Lost(f"the Go operator runs: {_holder(self._go)} holds its lease")

    async def _release(self) -> None:
        """Let another process begin at once: all writers have ended."""
        try:
            async with self._clock.timeout(_REQUEST):
                try:
                    await self._write_released()
                except Conflict:
                    # The renewal that was on its way at the end of the term has taken effect.
                    await self._read()
                    await self._write_released()
        except (KubeError, TimeoutError) as error:
            logger.warning("the lease is not released: %s", str(error) or "no answer in time")

    async def _write_released(self) -> None:
        if self._lease is None or lease.holding_of(self._lease).holder != self.identity:
            return
        body = lease.released(self._lease, self._namespace, self._clock.now())
        self._see(await self._client.update(LEASES, self._namespace, LEASE_NAME, body))

    async def _go_operator_for(self) -> float:
        """Return the seconds for which the Go operator may still act; 0 without one."""
        self._go_read_at = self._clock.monotonic()
        with suppress(NotFound):
            found = _checked(await self._client.get(LEASES, self._namespace, GO_OPERATORS_LEASE))
            self._go = lease.see(self._go, found, self._clock.monotonic())
        return lease.free_in(self._go, "", self._clock.monotonic())

    async def _read(self) -> None:
        """Read the lease. A deleted one stays in `_seen`: its holder writes until it notices."""
        try:
            answer = await self._client.get(LEASES, self._namespace, LEASE_NAME)
        except NotFound:
            self._lease = None
        else:
            self._see(answer)

    async def _write(self) -> None:
        """Take or renew the lease as last read. Raise Conflict, AlreadyExists, NotFound."""
        began = self._clock.monotonic()
        body = lease.taken(self._lease, self._namespace, self.identity, self._clock.now())
        if self._lease is None:
            answer = await self._client.create(LEASES, self._namespace, body)
        else:
            answer = await self._client.update(LEASES, self._namespace, LEASE_NAME, body)
        self._see(answer)
        self._until = began + RENEW_DEADLINE.total_seconds()

    def _see(self, answer: JsonObject) -> None:
        self._lease = _checked(answer)
        self._seen = lease.see(self._seen, self._lease, self._clock.monotonic())
        self.state.holder = self._seen.holding.holder
        self.state.acquired = lease.time_of(self._seen.holding.acquired)

    def _is_new(self, text: str) -> bool:
        """True unless the last try ended the same, which the log has already."""
        known, self._logged = self._logged, text
        return known != text


def _checked(answer: JsonObject) -> JsonObject:
    """Return a Lease. Raise ApiError for an answer that is none: a proxy may have sent it."""
    if answer.get("kind") != "Lease":
        raise ApiError(200, "NotALease", "the answer is no Lease: is this an API server?")
    return answer


def _holder(seen: Seen | None) -> str:
    return "" if seen is None else seen.holding.holder


async def _end(task: asyncio.Task[None]) -> BaseException | None:
    """Cancel a task and wait for its end. Return its error."""
    task.cancel()
    await asyncio.wait([task])
    return None if task.cancelled() else task.exception()
