"""Which keys need work, and when. Knows nothing of what a key stands for.

`KeyQueue` holds the rules and is pure; `WorkQueue` lets workers wait for it.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from shared.clock import Clock

K = TypeVar("K", bound=Hashable)


class ShutDown(Exception):
    """The queue gives out no more keys."""


class KeyQueue(Generic[K]):
    """Keys that are ready, in work, or waiting for a moment. Moments are seconds of one clock.

    A key is ready at most once however often it is added. One that is added while in work becomes
    ready when that work ends, so no key is ever worked on twice at once and no change is lost.
    Of several moments that a key is to come back at only the earliest counts, and it is dropped
    when the key is taken: who works on it looks at everything and names the next moment.
    """

    def __init__(self) -> None:
        self._ready: deque[K] = deque()
        self._wanted: set[K] = set()  # ready, or to become so when the work on it ends
        self._in_work: set[K] = set()
        self._moments: dict[K, float] = {}
        # May hold moments that no longer count; `_moments` decides.
        self._heap: list[tuple[float, int, K]] = []
        self._pushed = 0

    def add(self, key: K) -> None:
        """`key` needs work now."""
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._in_work:
            self._ready.append(key)

    def add_at(self, key: K, moment: float) -> None:
        """`key` needs work at `moment`, unless it comes back earlier."""
        if moment >= self._moments.get(key, float("inf")):
            return
        self._moments[key] = moment
        # The counter keeps the heap from comparing keys.
        self._pushed += 1
        heapq.heappush(self._heap, (moment, self._pushed, key))

    def next_moment(self) -> float | None:
        """When the next waiting key becomes ready."""
        while self._heap and self._moments.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def release(self, now: float) -> None:
        """Makes the keys ready whose moment has come."""
        moment = self.next_moment()
        while moment is not None and moment <= now:
            key = heapq.heappop(self._heap)[2]
            del self._moments[key]
            self.add(key)
            moment = self.next_moment()

    def take(self) -> K | None:
        """The key that has been ready longest, now in work; None if none is ready."""
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._wanted.discard(key)
        self._moments.pop(key, None)
        self._in_work.add(key)
        return key

    def done(self, key: K) -> None:
        """The work on a taken key has ended."""
        self._in_work.remove(key)
        if key in self._wanted:
            self._ready.append(key)

    @property
    def ready(self) -> int:
        """How many keys are ready."""
        return len(self._ready)

    @property
    def in_work(self) -> int:
        """How many keys are being worked on."""
        return len(self._in_work)

    @property
    def waiting(self) -> int:
        """How many keys wait for a moment."""
        return len(self._moments)


class WorkQueue(Generic[K]):
    """A `KeyQueue` that workers can wait for. For one event loop; not for threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: KeyQueue[K] = KeyQueue()
        self._takers: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = float("inf")
        self._shut_down = False

    def add(self, key: K) -> None:
        """`key` needs work now. Without effect after `shut_down`."""
        if self._shut_down:
            return
        self._keys.add(key)
        self._wake()

    def add_after(self, key: K, delay: float) -> None:
        """`key` needs work in `delay` seconds, unless it comes back earlier."""
        if delay <= 0:
            self.add(key)
        elif not self._shut_down:
            self._keys.add_at(key, self._clock.monotonic() + delay)
            self._set_alarm()

    async def take(self) -> K:
        """The next key; to be given back with `done`. Waits for one. Raises ShutDown."""
        while not self._shut_down:
            key = self._keys.take()
            if key is not None:
                return key
            await self._woken()
        raise ShutDown

    def done(self, key: K) -> None:
        """The work on a taken key has ended; it is ready again if it was added meanwhile."""
        self._keys.done(key)
        self._wake()

    def shut_down(self) -> None:
        """Gives out no more keys; those in work may still be given back."""
        self._shut_down = True
        if self._alarm is not None:
            self._alarm.cancel()
        while self._takers:
            _resolve(self._takers.popleft())

    @property
    def depth(self) -> int:
        """How many keys are ready."""
        return self._keys.ready

    @property
    def in_work(self) -> int:
        """How many keys are being worked on."""
        return self._keys.in_work

    async def _woken(self) -> None:
        taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        try:
            await taker
        except asyncio.CancelledError:
            if taker.done() and not taker.cancelled():
                # It was woken for a key that it will now not take: another must.
                self._wake()
            raise

    def _wake(self) -> None:
        for _ in range(self._keys.ready):
            while self._takers and self._takers[0].done():
                self._takers.popleft()
            if not self._takers:
                return
            _resolve(self._takers.popleft())

    def _set_alarm(self) -> None:
        moment = self._keys.next_moment()
        if moment is None or (self._alarm is not None and self._alarm_at <= moment):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = moment
        self._alarm = asyncio.get_running_loop().create_task(
            self._ring(moment), name="workqueue alarm"
        )

    async def _ring(self, moment: float) -> None:
        await self._clock.sleep(moment - self._clock.monotonic())
        self._alarm = None
        # At least up to the moment slept for: timers may fire a rounding error early.
        self._keys.release(max(moment, self._clock.monotonic()))
        self._wake()
        self._set_alarm()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
