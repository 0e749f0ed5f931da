"""The work queue: keys, the reasons and times of their next pass, and workers that wait."""

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from shared.process.clock import Clock

# The rules of the work queue, without waiting: pure, times are arguments.

K = TypeVar("K", bound=Hashable)

# The heap is cleaned once it holds this many entries more than twice the valid ones.
_SPARE_MOMENTS: Final = 1000
# The name of the task that waits for the next deadline.
ALARM: Final = "workqueue alarm"


class WakeReason(IntEnum):
    """Why a key needs work. The greatest of several reasons counts."""

    RESYNC = 0  # no known reason: a watch may have missed a change
    DEADLINE = 1  # a pass asked for this time, or failed and is retried
    CHANGE = 2  # a watch reported a change


@dataclass(frozen=True, slots=True)
class Taken(Generic[K]):
    """A key to reconcile, the reason, and the seconds since the key was first wanted."""

    key: K
    wake: WakeReason
    waited: float


class KeyQueue(Generic[K]):
    """Keys that are ready, in work, or waiting for a time. Times are seconds of one clock.

    A key is ready at most once, however often it is added. A key that is added while in work
    becomes ready when that work ends: no key has two workers, and no change is lost.
    A key has at most one time per reason, the earliest. Taking the key drops its times, because a
    pass checks everything and sets the next time.

    A key may rest after its work: a key that is added meanwhile becomes ready after the rest.
    """

    def __init__(self) -> None:
        self._ready: deque[K] = deque()
        # Keys that are ready, or become so after their work or rest: why, and since when.
        self._wanted: dict[K, tuple[WakeReason, float]] = {}
        self._in_work: dict[K, float] = {}  # since when
        self._moments: dict[tuple[K, WakeReason], float] = {}
        self._resting: dict[K, float] = {}  # until when
        # May hold outdated entries: `_moments` and `_resting` decide. No reason: a rest's end.
        self._heap: list[tuple[float, int, K, WakeReason | None]] = []
        self._pushed = 0

    def add(self, key: K, now: float, wake: WakeReason = WakeReason.CHANGE) -> bool:
        """Mark `key` as wanted now. Return False if it was wanted already."""
        if (wanted := self._wanted.get(key)) is not None:
            if wake > wanted[0]:
                self._wanted[key] = (wake, wanted[1])
            return False
        self._wanted[key] = (wake, now)
        if key not in self._in_work and key not in self._resting:
            self._ready.append(key)
        return True

    def add_at(self, key: K, moment: float, wake: WakeReason = WakeReason.DEADLINE) -> None:
        """Mark `key` as wanted at `moment`, unless it is taken earlier."""
        if moment >= self._moments.get((key, wake), float("inf")):
            return
        self._moments[key, wake] = moment
        self._push(moment, key, wake)

    def next_moment(self) -> float | None:
        """Return when the next wait or rest ends; None if no key waits or rests."""
        while self._heap and not self._counts(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def release(self, now: float) -> int:
        """Process the times up to `now`. Return how many keys became wanted by this."""
        added = 0
        while (moment := self.next_moment()) is not None and moment <= now:
            _, _, key, wake = heapq.heappop(self._heap)
            if wake is None:
                del self._resting[key]
                if key in self._wanted:
                    self._ready.append(key)
            else:
                del self._moments[key, wake]
                added += self.add(key, moment, wake)
        return added

    def take(self, now: float) -> Taken[K] | None:
        """Take the key that has been ready longest; None if no key is ready."""
        if not self._ready:
            return None
        key = self._ready.popleft()
        wake, since = self._wanted.pop(key)
        for each in WakeReason:
            self._moments.pop((key, each), None)
        self._in_work[key] = now
        return Taken(key, wake, now - since)

    def done(self, key: K, until: float | None = None) -> float:
        """End the work on a taken key, which rests until `until`. Return when it was taken."""
        began = self._in_work.pop(key)
        if until is not None:
            self._resting[key] = until
            self._push(until, key, None)
        elif key in self._wanted:
            self._ready.append(key)
        return began

    @property
    def ready(self) -> int:
        """The number of ready keys."""
        return len(self._ready)

    @property
    def in_work_since(self) -> Iterable[float]:
        """The time at which each key in work was taken."""
        return self._in_work.values()

    def _push(self, moment: float, key: K, wake: WakeReason | None) -> None:
        # The counter prevents the heap from comparing keys.
        self._pushed += 1
        heapq.heappush(self._heap, (moment, self._pushed, key, wake))
        if len(self._heap) > 2 * (len(self._moments) + len(self._resting)) + _SPARE_MOMENTS:
            self._heap = [each for each in self._heap if self._counts(each)]
            heapq.heapify(self._heap)

    def _counts(self, entry: tuple[float, int, K, WakeReason | None]) -> bool:
        moment, _, key, wake = entry
        known = self._resting.get(key) if wake is None else self._moments.get((key, wake))
        return known == moment


class ShutDown(Exception):
    """The queue is shut down and returns no more keys."""


# Metrics of the work queue, under client-go's names: existing dashboards work with them.

# client-go's buckets: from ten nanoseconds to a thousand seconds, by factors of ten.
_BUCKETS = tuple(float(f"1e{exponent}") for exponent in range(-8, 4))


class QueueMetrics:
    """The metrics of one queue, all zero at the start; the queue sets them."""

    def __init__(self, registry: CollectorRegistry, name: str) -> None:
        label = ("name",)

        def counter(metric: str, text: str) -> Counter:
            return Counter(metric, text, label, registry=registry).labels(name)

        def histogram(metric: str, text: str) -> Histogram:
            return Histogram(metric, text, label, registry=registry, buckets=_BUCKETS).labels(name)

        def gauge(metric: str, text: str) -> Gauge:
            return Gauge(metric, text, label, registry=registry).labels(name)

        self.adds = counter("workqueue_adds_total", "Keys added to the queue.")
        self.retries = counter("workqueue_retries_total", "Keys retried after a failure.")
        self.queued = histogram(
            "workqueue_queue_duration_seconds", "How long a key waited in the queue."
        )
        self.worked = histogram("workqueue_work_duration_seconds", "How long work on a key took.")
        self.depth = gauge("workqueue_depth", "Keys that wait in the queue.")
        self.unfinished = gauge(
            "workqueue_unfinished_work_seconds", "How long all unfinished work has taken, summed."
        )
        self.longest = gauge(
            "workqueue_longest_running_processor_seconds",
            "How long the longest unfinished work has taken.",
        )


class WorkQueue(Generic[K]):
    """A `KeyQueue` whose workers can wait. Only for one event loop, not for threads."""

    def __init__(self, clock: Clock, metrics: QueueMetrics) -> None:
        self._clock = clock
        self._metrics = metrics
        self._keys: KeyQueue[K] = KeyQueue()
        self._takers: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = float("inf")
        self._shut_down = False
        metrics.depth.set_function(lambda: self.depth)
        metrics.unfinished.set_function(lambda: sum(self.in_work_for()))
        metrics.longest.set_function(lambda: max(self.in_work_for(), default=0.0))

    def add(self, key: K) -> None:
        """Report a change of `key`. Has no effect after `shut_down`."""
        self._add(key, WakeReason.CHANGE)

    def add_after(self, key: K, delay: float, wake: WakeReason = WakeReason.DEADLINE) -> None:
        """Mark `key` as wanted in `delay` seconds, unless it is taken earlier."""
        if delay <= 0:
            self._add(key, wake)
        elif not self._shut_down:
            self._keys.add_at(key, self._clock.monotonic() + delay, wake)
            self._set_alarm()

    def retry_after(self, key: K, delay: float, wake: WakeReason) -> None:
        """Retry a failed pass; `wake` is the reason of that pass and remains the reason."""
        self._metrics.retries.inc()
        self.add_after(key, delay, wake)

    async def take(self) -> Taken[K]:
        """Wait for the next key and take it; the caller must call `done`. Raises ShutDown."""
        while not self._shut_down:
            now = self._clock.monotonic()
            # A deadline may have passed although its alarm has not rung yet.
            self._release(now)
            taken = self._keys.take(now)
            if taken is not None:
                self._metrics.queued.observe(taken.waited)
                return taken
            await self._woken()
        raise ShutDown

    def done(self, key: K, rest: float = 0.0) -> None:
        """End the work on a taken key.

        A key that was added meanwhile is ready again, but only after `rest` seconds.
        """
        now = self._clock.monotonic()
        began = self._keys.done(key, now + rest if rest > 0 else None)
        self._metrics.worked.observe(now - began)
        self._wake()
        if not self._shut_down:
            self._set_alarm()

    def shut_down(self) -> None:
        """Return no more keys; `done` remains allowed for keys in work."""
        self._shut_down = True
        if self._alarm is not None:
            self._alarm.cancel()
        while self._takers:
            _resolve(self._takers.popleft())

    @property
    def is_shut_down(self) -> bool:
        """True after `shut_down`."""
        return self._shut_down

    @property
    def depth(self) -> int:
        """The number of ready keys."""
        return self._keys.ready

    def in_work_for(self) -> list[float]:
        """Return for each key in work the seconds since it was taken."""
        now = self._clock.monotonic()
        return [now - since for since in self._keys.in_work_since]

    def _add(self, key: K, wake: WakeReason) -> None:
        if self._shut_down:
            return
        if self._keys.add(key, self._clock.monotonic(), wake):
            self._metrics.adds.inc()
        self._wake()

    def _release(self, now: float) -> None:
        self._metrics.adds.inc(self._keys.release(now))

    async def _woken(self) -> None:
        taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        try:
            await taker
        except asyncio.CancelledError:
            if taker.done() and not taker.cancelled():
                # This taker was woken for a key and does not take it: wake another.
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
        self._alarm = asyncio.get_running_loop().create_task(self._ring(moment), name=ALARM)

    async def _ring(self, moment: float) -> None:
        await self._clock.sleep(moment - self._clock.monotonic())
        self._alarm = None
        # At least up to `moment`: a timer may fire a rounding error early.
        self._release(max(moment, self._clock.monotonic()))
        self._wake()
        self._set_alarm()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
