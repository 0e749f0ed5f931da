"""Works on the keys of a queue, several at once, one at a time per key."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

from controller.runtime.workqueue import ShutDown, Taken, Wake, WorkQueue
from shared.kube.client import ApiError, Conflict, KubeError
from shared.process.clock import Clock, ExponentialBackoff

# What a reconcile may say about its key. An exception means: a failure, try again later.


@dataclass(frozen=True, slots=True)
class Done:
    """There is no such object, or it is none of ours; nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Look again after `delay`, or earlier if something changes; None: if something changes.

    `acted`: this pass did more than wait. Where nothing but a resync woke it, that was a repair.
    `rest`: no pass begins before that, whatever changes; what changes meanwhile is one pass.
    """

    delay: timedelta | None = None
    acted: bool = False
    rest: timedelta = timedelta(0)


Result = Done | RequeueAfter


# How many passes begin at once, so that a busy API server is not made busier.
#
# While it is busy, a pass that waits in our queue gathers what happens meanwhile: one decision,
# and one write, then stand for several. A pass that waits in the API server's queue gathers
# nothing. Measured with a hundred AppWrappers at once on two cores: three passes at a time cost a
# tenth less CPU in all than thirty-two, and the last AppWrapper ended no later.

# That many, each a few requests long, keep an API server busy that answers in milliseconds.
AT_ONCE: Final = 3
# Seconds after which a pass no longer counts: it waits for something that others need not wait for.
SLOW: Final = 1.0


class PassLimit:
    """Lets `at_once` passes work; one that takes longer than `slow` seconds makes room for another.

    Whoever wants to work waits for `room`, then either works or gives the room back.
    """

    def __init__(self, clock: Clock, *, at_once: int = AT_ONCE, slow: float = SLOW) -> None:
        self._clock = clock
        self._at_once = at_once
        self._slow = slow
        self._free = at_once
        self._turns = count()
        # Turn -> when it stops to count. In the order of both.
        self._counted: dict[int, float] = {}
        # One waits for room, the others for that one: a wake-up is for one only.
        self._turnstile = asyncio.Lock()
        self._changed = asyncio.Event()

    async def room(self) -> None:
        """Returns once there is some; it is then taken."""
        async with self._turnstile:
            while not self._has_room():
                self._changed.clear()
                with suppress(TimeoutError):
                    async with self._clock.timeout(self._until_slow()):
                        await self._changed.wait()
            self._free -= 1

    def give_back(self) -> None:
        """There was nothing to do."""
        self._free += 1
        self._changed.set()

    @contextmanager
    def work(self) -> Iterator[None]:
        """The pass, in the room that was waited for."""
        turn = next(self._turns)
        self._counted[turn] = self._clock.monotonic() + self._slow
        try:
            yield
        finally:
            if self._counted.pop(turn, None) is not None:
                self.give_back()

    def _has_room(self) -> bool:
        now = self._clock.monotonic()
        for turn in [turn for turn, until in self._counted.items() if until <= now]:
            del self._counted[turn]
            self._free += 1
        return self._free > 0

    def _until_slow(self) -> float:
        """Until the oldest pass no longer counts. Without any, somebody will give room back."""
        if not self._counted:
            return self._slow
        return next(iter(self._counted.values())) - self._clock.monotonic()


logger = logging.getLogger(__name__)

# Every key that is not done comes back at least so often, to repair what no watch told of.
RESYNC: Final = timedelta(minutes=10)
# Times this, drawn anew each time: keys that came together do not come back together.
RESYNC_JITTER: Final = (0.9, 1.1)

# At the end of the process, what a pass goes on with at once is still done: what was just created
# is recorded, so that whoever takes over does not make it a second time.
LAST_PASSES: Final = 2

K = TypeVar("K", bound=Hashable)
Reconcile = Callable[[K], Awaitable[Result]]


class WakeTimes(Generic[K]):
    """How long ago the change was seen that a pass answers: for metrics only.

    In seconds of the monotonic clock. A pass that nothing but a deadline began has none.

    Of several changes that one pass answers the earliest counts; one that comes during a pass is
    for the next.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[K, float] = {}
        self._in_pass: dict[K, float] = {}

    def woken(self, key: K) -> None:
        """A watch told of a change. The key must be worked on after this."""
        self._waiting.setdefault(key, self._clock.monotonic())

    async def timed(self, reconcile: Reconcile[K], key: K) -> Result:
        """Reconciles. Where that fails the next try answers the same change, which then is older.

        Raises what `reconcile` does.
        """
        woken = self._waiting.pop(key, None)
        if woken is None:
            return await reconcile(key)
        self._in_pass[key] = woken
        try:
            return await reconcile(key)
        except BaseException:
            self._waiting[key] = woken
            raise
        finally:
            del self._in_pass[key]

    def age(self, key: K) -> float | None:
        """Seconds since the change was seen that the pass under way answers. None: no change."""
        woken = self._in_pass.get(key)
        return None if woken is None else self._clock.monotonic() - woken


@dataclass(frozen=True, slots=True)
class _Failed:
    """`least` is how many seconds must pass before the next try."""

    least: float = 0.0


class WorkObserver(Protocol):
    """Hears how each pass ended: for metrics."""

    def passed(self, result: str, seconds: float) -> None:
        """`result` is success, requeue_after or error."""
        ...

    def repaired(self) -> None:
        """A pass acted that nothing but the resync had woken: a change had been missed."""
        ...


class Workers(Generic[K]):
    """`count` tasks that take keys, reconcile them and act on the outcome.

    `log_fields` names the object of a key in log lines. Delays of failures come from `limiter`.
    """

    def __init__(
        self,
        queue: WorkQueue[K],
        reconcile: Reconcile[K],
        *,
        count: int,
        clock: Clock,
        limiter: ExponentialBackoff[K],
        log_fields: Callable[[K], Mapping[str, object]],
        observer: WorkObserver | None = None,
    ) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._count = count
        self._clock = clock
        self._limiter = limiter
        self._log_fields = log_fields
        self._observer = observer
        self._pace = PassLimit(clock)

    async def run(self) -> None:
        """Works until the queue is shut down and what is in work has ended."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._work(), name=f"worker {number}")

    async def _work(self) -> None:
        while True:
            await self._pace.room()
            try:
                taken = await self._queue.take()
            except ShutDown:
                self._pace.give_back()
                return
            with self._pace.work():
                rest = timedelta(0)
                try:
                    rest = await self.work_on(taken)
                finally:
                    self._queue.done(taken.key, rest.total_seconds())
            # A pass may have waited for nothing. A key that is always ready must not keep watches,
            # probes and signals from being heard.
            await asyncio.sleep(0)

    async def work_on(self, taken: Taken[K]) -> timedelta:
        """Make one pass over a key, act on its outcome, and return how long the key rests."""
        started = self._clock.monotonic()
        outcome = await self._outcome_of(taken.key)
        for _ in range(LAST_PASSES):
            if not (self._queue.is_shut_down and _goes_on_at_once(outcome)):
                break
            outcome = await self._outcome_of(taken.key)
        result = self._act_on(taken, outcome)
        if self._observer is not None:
            self._observer.passed(result, self._clock.monotonic() - started)
        return outcome.rest if isinstance(outcome, RequeueAfter) else timedelta(0)

    def _act_on(self, taken: Taken[K], outcome: Result | _Failed) -> str:
        key = taken.key
        match outcome:
            case Done():
                self._limiter.forget(key)
                return "success"
            case RequeueAfter(delay=delay, acted=acted):
                self._limiter.forget(key)
                if acted and taken.wake is Wake.RESYNC:
                    self._tell_of_repair(key)
                return self._come_back(key, delay)
            case _Failed(least):
                # A failure is no reason of its own: what the next pass finds, this one would have.
                delay_seconds = max(self._limiter.next_delay(key), least)
                self._queue.retry_after(key, delay_seconds, taken.wake)
                return "error"

    def _come_back(self, key: K, delay: timedelta | None) -> str:
        resync = RESYNC.total_seconds() * random.uniform(*RESYNC_JITTER)
        self._queue.add_after(key, resync, Wake.RESYNC)
        if delay is None:
            return "success"
        self._queue.add_after(key, delay.total_seconds())
        return "requeue_after"

    def _tell_of_repair(self, key: K) -> None:
        logger.warning(
            "the resync found a change that no watch reported", extra=self._log_fields(key)
        )
        if self._observer is not None:
            self._observer.repaired()

    async def _outcome_of(self, key: K) -> Result | _Failed:
        """Failures are logged here: our bugs with their traceback."""
        try:
            return await self._reconcile(key)
        except Conflict as conflict:
            # The cache was behind; the next look at it settles that. Nobody needs to read of it.
            logger.debug("conflict: %s", conflict, extra=self._log_fields(key))
        except KubeError as error:
            logger.warning("request failed: %s", error, extra=self._log_fields(key))
            return _Failed(_asked_for(error))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody cancelled this worker: something that the reconcile awaited was cancelled.
            # Let through, it would end the worker without a word.
            logger.exception("reconcile was cancelled from within", extra=self._log_fields(key))
        except Exception:
            logger.exception("reconcile failed", extra=self._log_fields(key))
        return _Failed()


def _goes_on_at_once(outcome: Result | _Failed) -> bool:
    return isinstance(outcome, RequeueAfter) and outcome.delay == timedelta(0)


def _asked_for(error: KubeError) -> float:
    """How many seconds the API server asks to be left alone for."""
    return (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
