"""Reconcile the keys of a work queue: several keys at once, each key by one pass."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Generic, Protocol, TypeVar

from controller.runtime.workqueue import ShutDown, Taken, WakeReason, WorkQueue
from shared.kube.client import ApiError, Conflict, KubeError
from shared.process.backoff import ExponentialBackoff
from shared.process.clock import Clock
from shared.process.sources import Sources

# The results of a reconcile. An exception is a failure: the key is retried later.


@dataclass(frozen=True, slots=True)
class Done:
    """The object is absent or another controller manages it: no requeue."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Reconcile again after `delay` or at the next change; None: only at the next change.

    `acted`: this pass did more than wait. If only a resync caused the pass, it was a repair.
    `rest`: the next pass begins no earlier; all changes until then cause one pass.
    """

    delay: timedelta | None = None
    acted: bool = False
    rest: timedelta = timedelta(0)


Result = Done | RequeueAfter


logger = logging.getLogger(__name__)

# Every key that is not `Done` is reconciled at least this often, to repair missed changes.
RESYNC: Final = timedelta(minutes=10)
# Random factors for RESYNC: keys that arrived together are not reconciled together again.
RESYNC_JITTER: Final = (0.9, 1.1)

# Further passes over a key after shutdown, if the last pass asked for the next one immediately:
# they record created components, so the next process does not create these again.
LAST_PASSES: Final = 2

K = TypeVar("K", bound=Hashable)
Reconcile = Callable[[K], Awaitable[Result]]


class WakeTimes(Generic[K]):
    """Measures how long ago a watch reported the change that a pass handles: for metrics only.

    Ages are seconds of the monotonic clock. A pass that only a deadline caused has no age.
    If a pass handles several changes, the earliest counts. A change during a pass counts for the
    next pass.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[K, float] = {}
        self._in_pass: dict[K, float] = {}

    def woken(self, key: K) -> None:
        """Record that a watch reported a change. Call this before adding the key to the queue."""
        self._waiting.setdefault(key, self._clock.monotonic())

    async def timed(self, reconcile: Reconcile[K], key: K) -> Result:
        """Reconcile. After a failure the retry handles the same change, whose age has grown.

        Raises what `reconcile` raises.
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
        """Return the age of the change that the current pass handles; None: no change."""
        woken = self._in_pass.get(key)
        return None if woken is None else self._clock.monotonic() - woken


@dataclass(frozen=True, slots=True)
class _Failed:
    """`least`: seconds that must pass before the retry, from the API server's Retry-After."""

    least: float = 0.0


class WorkObserver(Protocol):
    """Counts passes for metrics."""

    def passed(self, result: str, seconds: float) -> None:
        """Count a pass; `result` is success, requeue_after or error."""
        ...

    def repaired(self) -> None:
        """Count a pass that only the resync caused and that acted: a watch missed a change."""
        ...


class Workers(Generic[K]):
    """Takes keys, reconciles each in a task of its own, and requeues them.

    `log_fields` returns the log fields that name a key's object. `limiter` sets retry delays.
    """

    def __init__(
        self,
        queue: WorkQueue[K],
        reconcile: Reconcile[K],
        *,
        sources: Sources,
        limiter: ExponentialBackoff[K],
        log_fields: Callable[[K], Mapping[str, object]],
        observer: WorkObserver,
    ) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._clock = sources.clock
        self._random = sources.random
        self._limiter = limiter
        self._log_fields = log_fields
        self._observer = observer

    async def run(self) -> None:
        """Work until the queue is shut down and all current passes have ended."""
        async with asyncio.TaskGroup() as passes:
            with suppress(ShutDown):
                while True:
                    taken = await self._queue.take()
                    passes.create_task(self._work(taken), name="pass")
                    # Passes compute before their first request. Watches, probes and signal handlers
                    # must not wait for all of them.
                    await asyncio.sleep(0)

    async def _work(self, taken: Taken[K]) -> None:
        rest = timedelta(0)
        try:
            rest = await self.work_on(taken)
        finally:
            self._queue.done(taken.key, rest.total_seconds())

    async def work_on(self, taken: Taken[K]) -> timedelta:
        """Make one pass over a key, act on its outcome, and return how long the key rests."""
        started = self._clock.monotonic()
        outcome = await self._outcome_of(taken.key)
        for _ in range(LAST_PASSES):
            at_once = isinstance(outcome, RequeueAfter) and outcome.delay == timedelta(0)
            if not (self._queue.is_shut_down and at_once):
                break
            outcome = await self._outcome_of(taken.key)
        result = self._act_on(taken, outcome)
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
                if acted and taken.wake is WakeReason.RESYNC:
                    self._report_repair(key)
                return self._come_back(key, delay)
            case _Failed(least):
                # The retry keeps the reason of this pass: it handles the same change or resync.
                delay_seconds = max(self._limiter.next_delay(key), least)
                self._queue.retry_after(key, delay_seconds, taken.wake)
                return "error"

    def _come_back(self, key: K, delay: timedelta | None) -> str:
        resync = RESYNC.total_seconds() * self._random.uniform(*RESYNC_JITTER)
        self._queue.add_after(key, resync, WakeReason.RESYNC)
        if delay is None:
            return "success"
        self._queue.add_after(key, delay.total_seconds())
        return "requeue_after"

    def _report_repair(self, key: K) -> None:
        logger.warning(
            "the resync found a change that no watch reported", extra=self._log_fields(key)
        )
        self._observer.repaired()

    async def _outcome_of(self, key: K) -> Result | _Failed:
        """Reconcile and log a failure; an unexpected exception is logged with its traceback."""
        try:
            return await self._reconcile(key)
        except Conflict as conflict:
            # The cache was behind, and the retry reads the newer version: no admin needs a log.
            logger.debug("conflict: %s", conflict, extra=self._log_fields(key))
        except KubeError as error:
            logger.warning("request failed: %s", error, extra=self._log_fields(key))
            asked_for = error.retry_after if isinstance(error, ApiError) else None
            return _Failed(asked_for or 0.0)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This worker was not cancelled, but a task that the reconcile awaited was. Raising the
            # error again would end the worker without a log line.
            logger.exception("reconcile was cancelled from within", extra=self._log_fields(key))
        except Exception:
            logger.exception("reconcile failed", extra=self._log_fields(key))
        return _Failed()
