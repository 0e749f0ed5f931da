"""A clock that does not advance until a test moves it."""

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

from shared.process.clock import Clock
from shared.process.sources import Sources, start_daemon_thread

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


class FakeClock:
    """Implements `clock.Clock`. `slept` records every requested sleep, in seconds."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        """Raises TimeoutError once time was moved that far. `slept` does not show it."""
        loop = asyncio.get_running_loop()
        due: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), due))
        inside = True
        async with asyncio.timeout(None) as limit:

            def expire(moment: asyncio.Future[None]) -> None:
                if inside and not moment.cancelled():
                    limit.reschedule(loop.time())

            due.add_done_callback(expire)
            try:
                yield
            finally:
                inside = False
                due.cancel()

    async def advance(self, seconds: float) -> None:
        """Moves time; wakes each sleeper at its own moment and lets it run."""
        target = self._elapsed + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= target:
            at, _, woken = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, at)
            if not woken.done():
                woken.set_result(None)
            await settle()
        self._elapsed = target
        await settle()

    def set_ahead(self, by: timedelta) -> None:
        """Sets the wall clock ahead, or back by a negative amount."""
        self._start += by

    def pass_by(self, seconds: float) -> None:
        """Moves time without waking a sleeper."""
        self._elapsed += seconds

    @property
    def sleeping(self) -> list[float]:
        """Returns the seconds until each live sleeper wakes, soonest first."""
        return [at - self._elapsed for at, _, woken in sorted(self._sleepers) if not woken.done()]


class ImpatientClock(FakeClock):
    """Sleeping only moves the time: for code whose waits are recorded, not watched."""

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._elapsed += max(0.0, seconds)
        await asyncio.sleep(0)


def fake_sources(clock: Clock | None = None) -> Sources:
    """Return sources that repeat: this clock, one seed, this name; threads are real."""
    return Sources(clock or FakeClock(), Random(0), start_daemon_thread, "test")


async def settle(rounds: int = 20) -> None:
    """Lets every task that can run do so."""
    for _ in range(rounds):
        await asyncio.sleep(0)
