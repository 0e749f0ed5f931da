"""A `KeyQueue` that workers can wait for. Knows nothing of what a key stands for."""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from controller.runtime.key_queue import KeyQueue, Taken, Wake
from shared.clock import Clock

K = TypeVar("K", bound=Hashable)


class ShutDown(Exception):
    """The queue gives out no more keys."""


class QueueObserver(Protocol):
    """Hears what happens to keys: for metrics. Durations in seconds."""

    def added(self, number: int) -> None:
        """So many keys became wanted that were not."""
        ...

    def taken(self, waited: float) -> None:
        """A key was taken, so long after it had become wanted."""
        ...

    def done(self, worked: float) -> None:
        """The work on a key ended, so long after the key was taken."""
        ...

    def retried(self) -> None:
        """A key is to come back because the work on it failed."""
        ...


class WorkQueue(Generic[K]):
    """For one event loop; not for threads."""

    def __init__(self, clock: Clock, observer: QueueObserver | None = None) -> None:
        self._clock = clock
        self._observer = observer
        self._keys: KeyQueue[K] = KeyQueue()
        self._takers: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = float("inf")
        self._shut_down = False

    def add(self, key: K) -> None:
        """`key` needs work now: something happened. Without effect after `shut_down`."""
        self._add(key, Wake.CHANGE)

    def add_after(self, key: K, delay: float, wake: Wake = Wake.DEADLINE) -> None:
        """`key` needs work in `delay` seconds, unless it comes back earlier."""
        if delay <= 0:
            self._add(key, wake)
        elif not self._shut_down:
            self._keys.add_at(key, self._clock.monotonic() + delay, wake)
            self._set_alarm()

    def retry_after(self, key: K, delay: float, wake: Wake) -> None:
        """The same after a failure of a pass that `wake` had woken, which is still the reason."""
        if self._observer is not None:
            self._observer.retried()
        self.add_after(key, delay, wake)

    async def take(self) -> Taken[K]:
        """The next key; to be given back with `done`. Waits for one. Raises ShutDown."""
        while not self._shut_down:
            now = self._clock.monotonic()
            # A deadline that has passed by now is a reason too, though its alarm has yet to ring.
            self._release(now)
            taken = self._keys.take(now)
            if taken is not None:
                if self._observer is not None:
                    self._observer.taken(taken.waited)
                return taken
            await self._woken()
        raise ShutDown

    def done(self, key: K) -> None:
        """The work on a taken key has ended; it is ready again if it was added meanwhile."""
        began = self._keys.done(key)
        if self._observer is not None:
            self._observer.done(self._clock.monotonic() - began)
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

    def in_work_for(self) -> list[float]:
        """For each key being worked on, for how many seconds already."""
        now = self._clock.monotonic()
        return [now - since for since in self._keys.in_work_since]

    def _add(self, key: K, wake: Wake) -> None:
        if self._shut_down:
            return
        if self._keys.add(key, self._clock.monotonic(), wake) and self._observer is not None:
            self._observer.added(1)
        self._wake()

    def _release(self, now: float) -> None:
        added = self._keys.release(now)
        if added and self._observer is not None:
            self._observer.added(added)

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
        self._release(max(moment, self._clock.monotonic()))
        self._wake()
        self._set_alarm()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
