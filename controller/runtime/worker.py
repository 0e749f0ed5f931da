"""Works on the keys of a queue, several at once, one at a time per key."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Generic, Protocol, TypeVar

from controller.runtime.outcome import Done, Outcome, RequeueAfter, Retry
from controller.runtime.workqueue import ShutDown, WorkQueue
from shared.backoff import ExponentialBackoff
from shared.clock import Clock
from shared.kube.errors import Conflict, KubeError

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
Reconcile = Callable[[K], Awaitable[Outcome]]


class WorkObserver(Protocol):
    """Hears how each pass ended: for metrics."""

    def passed(self, result: str, seconds: float) -> None:
        """`result` is success, requeue_after, requeue or error."""
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

    async def run(self) -> None:
        """Works until the queue is shut down and what is in work has ended."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._work(), name=f"worker {number}")

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.take()
            except ShutDown:
                return
            try:
                await self.work_on(key)
            finally:
                self._queue.done(key)

    async def work_on(self, key: K) -> None:
        """One pass over `key`, and what follows from it."""
        started = self._clock.monotonic()
        result = self._act_on(key, await self._outcome_of(key))
        if self._observer is not None:
            self._observer.passed(result, self._clock.monotonic() - started)

    def _act_on(self, key: K, outcome: Outcome | None) -> str:
        match outcome:
            case Done():
                self._limiter.forget(key)
                return "success"
            case RequeueAfter(delay):
                self._limiter.forget(key)
                self._queue.add_after(key, delay.total_seconds())
                return "requeue_after"
            case Retry(reason):
                delay_seconds = self._limiter.next_delay(key)
                fields = self._log_fields(key)
                logger.info("retry in %.3f s: %s", delay_seconds, reason, extra=fields)
                self._queue.add_after(key, delay_seconds)
                return "requeue"
            case None:
                self._queue.add_after(key, self._limiter.next_delay(key))
                return "error"

    async def _outcome_of(self, key: K) -> Outcome | None:
        """None for a failure, which has been logged: our bugs with their traceback."""
        fields = self._log_fields(key)
        try:
            return await self._reconcile(key)
        except Conflict as conflict:
            # The cache was behind; the next look at it settles that. Nobody needs to read of it.
            logger.debug("conflict: %s", conflict, extra=fields)
        except KubeError as error:
            logger.warning("request failed: %s", error, extra=fields)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody cancelled this worker: something that the reconcile awaited was cancelled.
            # Let through, it would end the worker without a word.
            logger.exception("reconcile was cancelled from within", extra=fields)
        except Exception:
            logger.exception("reconcile failed", extra=fields)
        return None
