"""The work queue: keys, the reasons and times of their next pass, and the worker that waits."""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.runtime.pass_limit import PassLimit
from shared.process.clock import Clock

# The rules of the work queue, without waiting: pure, times are arguments.

K = TypeVar("K", bound=Hashable)

# The heap is cleaned once it holds this many entries more than twice the valid ones.
_SPARE_MOMENTS: Final = 1000
# Each time after this many keys, the key that has waited longest is next, whatever its reason.
_FAIR: Final = 16
# Seconds after which a pass no longer counts: a slow answer to one pass must not stop the others.
SLOW: Final = 1.0
# Passes at once with those that do not count, unless the limit is higher: if all answers are slow,
# more passes would only make them slower.
WITH_SLOW: Final = 32
# The name of the task that waits for the next deadline.
ALARM: Final = "workqueue alarm"


class WakeReason(IntEnum):
    """Why a key needs work. The greatest of several reasons counts."""

    RESYNC = 0  # no known reason: a watch may have missed a change
    DEADLINE = 1  # a pass asked for this time, or failed and is retried
    CHANGE = 2  # a watch reported a change
    URGENT = 3  # a change that must be answered at once


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

    Urgent keys are taken first, resyncs last. Every sixteenth time it is the key that was wanted
    first, so every key is taken at last.
    """

    def __init__(self) -> None:
        urgent, usual, resyncs = (OrderedDict[K, None]() for _ in range(3))
        self._lines = (urgent, usual, resyncs)  # the ready keys
        self._line_of = {
            WakeReason.URGENT: urgent,
            WakeReason.CHANGE: usual,
            WakeReason.DEADLINE: usual,
            WakeReason.RESYNC: resyncs,
        }
        self._takes = 0
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
                line = self._line_of[wanted[0]]
                if key in line and line is not self._line_of[wake]:
                    del line[key]
                    self._make_ready(key)
            return False
        self._wanted[key] = (wake, now)
        if key not in self._in_work and key not in self._resting:
            self._make_ready(key)
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
                    self._make_ready(key)
            else:
                del self._moments[key, wake]
                added += self.add(key, moment, wake)
        return added

    def take(self, now: float) -> Taken[K] | None:
        """Take the next key; None if no key is ready. `now` never decreases."""
        lines = [each for each in self._lines if each]
        if not lines:
            return None
        self._takes += 1
        line = min(lines, key=self._wanted_since) if self._takes % _FAIR == 0 else lines[0]
        key, _ = line.popitem(last=False)
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
            self._make_ready(key)
        return began

    @property
    def ready(self) -> int:
        """The number of ready keys."""
        return sum(map(len, self._lines))

    @property
    def in_work(self) -> Mapping[K, float]:
        """The keys in work and the time at which each was taken, the earliest first."""
        return self._in_work

    def _make_ready(self, key: K) -> None:
        wake, _ = self._wanted[key]
        self._line_of[wake][key] = None

    def _wanted_since(self, line: OrderedDict[K, None]) -> float:
        return self._wanted[next(iter(line))][1]

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
    """A `KeyQueue` whose worker can wait. Only for one event loop, not for threads.

    `limit` decides how many keys are in work at once.
    """

    def __init__(self, clock: Clock, metrics: QueueMetrics, limit: PassLimit) -> None:
        self._clock = clock
        self._metrics = metrics
        self._limit = limit
        self._keys: KeyQueue[K] = KeyQueue()
        self._only_wait: set[K] = set()  # keys in work that do not count
        self._changed = asyncio.Event()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = float("inf")
        self._shut_down = False
        metrics.depth.set_function(lambda: self.depth)
        metrics.unfinished.set_function(lambda: sum(self.in_work_for()))
        metrics.longest.set_function(lambda: max(self.in_work_for(), default=0.0))

    def add(self, key: K, wake: WakeReason = WakeReason.CHANGE) -> None:
        """Report a change of `key`. Has no effect after `shut_down`."""
        self._add(key, wake)

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
        """Wait for the next key and for room, and take the key; the caller must call `done`.

        Raises ShutDown.
        """
        while not self._shut_down:
            now = self._clock.monotonic()
            # A deadline may have passed although its alarm has not rung yet.
            self._release(now)
            if self._has_room(now) and (taken := self._keys.take(now)) is not None:
                self._metrics.queued.observe(taken.waited)
                return taken
            await self._change(now)
        raise ShutDown

    def done(self, key: K, rest: float = 0.0) -> None:
        """End the work on a taken key.

        A key that was added meanwhile is ready again, but only after `rest` seconds.
        """
        now = self._clock.monotonic()
        began = self._keys.done(key, now + rest if rest > 0 else None)
        self._metrics.worked.observe(now - began)
        self._changed.set()
        if not self._shut_down:
            self._set_alarm()

    def shut_down(self) -> None:
        """Return no more keys; `done` remains allowed for keys in work."""
        self._shut_down = True
        if self._alarm is not None:
            self._alarm.cancel()
        self._changed.set()

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
        return [now - since for since in self._keys.in_work.values()]

    @contextmanager
    def only_waits(self, key: K) -> Iterator[None]:
        """Let another pass begin while this key's pass only waits for an answer that it shares."""
        self._only_wait.add(key)
        self._changed.set()
        try:
            yield
        finally:
            self._only_wait.discard(key)

    def answered(self, seconds: float, rejected: bool) -> None:
        """Report an answer of the API server to the limit (`KubeClient.on_answer`)."""
        now = self._clock.monotonic()
        self._limit.answered(seconds, len(self._counted(now)), now, rejected=rejected)

    def _counted(self, now: float) -> list[float]:
        """Return when the keys in work were taken that count, the earliest first."""
        in_work = self._keys.in_work.items()
        return [at for key, at in in_work if at + SLOW > now and key not in self._only_wait]

    def _has_room(self, now: float) -> bool:
        """True if a key is ready and may be taken."""
        if not self._keys.ready or not self._limit.has_room(len(self._counted(now))):
            return False
        return len(self._keys.in_work) < max(self._limit.limit, WITH_SLOW)

    async def _change(self, now: float) -> None:
        """Wait for a change. If a key is ready, also until the oldest pass no longer counts."""
        counted = self._counted(now) if self._keys.ready else ()
        self._changed.clear()
        if not counted:
            await self._changed.wait()
            return
        with suppress(TimeoutError):
            async with self._clock.timeout(counted[0] + SLOW - now):
                await self._changed.wait()

    def _add(self, key: K, wake: WakeReason) -> None:
        if self._shut_down:
            return
        if self._keys.add(key, self._clock.monotonic(), wake):
            self._metrics.adds.inc()
        self._changed.set()

    def _release(self, now: float) -> None:
        self._metrics.adds.inc(self._keys.release(now))

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
        self._changed.set()
        self._set_alarm()
