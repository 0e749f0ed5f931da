"""An event loop in virtual time: no descriptors, no threads, no wall clock.

Time advances only when nothing is ready. Every task belongs to the process that created it, so that
a process can crash, or freeze and wake.
"""

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from contextvars import Context, ContextVar, copy_context
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, TypeVarTuple, Unpack

from shared.api.times import format_time

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The time at second 0."""

PROCESS: ContextVar[str | None] = ContextVar("PROCESS", default=None)
"""The simulated process (a controller) that the current task belongs to."""

Arguments = TypeVarTuple("Arguments")
Timer = tuple[float, int, events.TimerHandle]
Work = Generator[Any, None, Any] | Coroutine[Any, Any, Any]


class Deadlock(RuntimeError):
    """No callback is ready, and no timer is set: no task can ever run again."""


class NumberedTask(asyncio.Task[Any]):
    """A task whose hash is its number: sets of tasks iterate in the same order in every run."""

    def __init__(self, work: Work, *, number: int, **options: Any) -> None:
        self.number = number  # before the base class puts the task into a set
        super().__init__(work, **options)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class VirtualLoop(asyncio.BaseEventLoop):
    """Run tasks in virtual time. `now` is in seconds since EPOCH."""

    _ready: deque[events.Handle]  # the base class's own
    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.tasks_of: dict[str, dict[int, NumberedTask]] = {}
        self._timers: list[Timer] = []
        self._timers_made = 0
        self._tasks_made = 0
        self._frozen: dict[str, list[events.Handle]] = {}
        self._outside = copy_context()
        self._outside.run(PROCESS.set, None)
        self.set_task_factory(self._numbered_task)

    def __del__(self) -> None:
        """Warn of nothing: an open loop holds no descriptors."""

    def time(self) -> float:
        return self.now

    def call_soon(
        self,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> events.Handle:
        """Do as the base class, without its checks."""
        handle = events.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> events.TimerHandle:
        """Do as the base class, and keep the order of calls at the same time."""
        handle = events.TimerHandle(when, callback, args, self, context)
        self._add_timer(handle)
        return handle

    def outside(self, delay: float, callback: Callable[..., object], *args: Any) -> None:
        """Call back after `delay` seconds as no process: neither crash nor freeze stops it."""
        self.call_at(self.now + delay, callback, *args, context=self._outside)

    def arranged(self) -> list[tuple[float, events.Handle]]:
        """Return everything that will run, each with its time."""
        at_once = [(self.now, each) for each in self._ready]
        timers = [(when, handle) for when, _, handle in sorted(self._timers, key=itemgetter(0, 1))]
        return [each for each in (*at_once, *timers) if not each[1].cancelled()]

    def freeze(self, process: str) -> None:
        """Run nothing of this process until `wake`. Its answers and timers wait."""
        if process not in self._frozen:
            self._frozen[process] = []

    def wake(self, process: str) -> None:
        """Continue a frozen process: first with the answers that came, then with its timers."""
        held = self._frozen.pop(process, [])
        for handle in held:
            if isinstance(handle, events.TimerHandle):
                self._add_timer(handle)
            else:
                self._ready.append(handle)

    def is_frozen(self, process: str | None) -> bool:
        return process in self._frozen

    def _hold(self) -> None:
        """Set the callbacks and timers of frozen processes aside."""
        self._ready = deque(each for each in self._ready if not self._held(each))
        self._timers = [each for each in self._timers if not self._held(each[2])]
        heapq.heapify(self._timers)

    def _held(self, handle: events.Handle) -> bool:
        context: Context = handle._context  # type: ignore[attr-defined]
        held = self._frozen.get(context[PROCESS] or "") if PROCESS in context else None
        if held is None:
            return False
        held.append(handle)
        return True

    def _run_once(self) -> None:
        """Run what is ready, else what is due next. `run_forever` repeats it. Raise Deadlock."""
        if self._frozen:
            self._hold()
        ready, timers = self._ready, self._timers
        if not ready and not self._stopping:
            if not timers:
                raise Deadlock("no task can ever run again")
            self.now = max(self.now, timers[0][0])
        while timers and timers[0][0] <= self.now:
            ready.append(heapq.heappop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    def _add_timer(self, handle: events.TimerHandle) -> None:
        self._timers_made += 1
        heapq.heappush(self._timers, (handle.when(), self._timers_made, handle))

    def _numbered_task(
        self, loop: asyncio.AbstractEventLoop, work: Work, *, context: Context | None = None
    ) -> NumberedTask:
        self._tasks_made += 1
        task = NumberedTask(work, number=self._tasks_made, loop=loop, context=context)
        # Else `asyncio.all_tasks` compares it with tasks of ended loops, which have the same hash.
        asyncio._unregister_task(task)
        process = PROCESS.get() if context is None else context.get(PROCESS)
        if process is not None:
            tasks = self.tasks_of.setdefault(process, {})
            tasks[task.number] = task
            task.add_done_callback(lambda done: tasks.pop(done.number, None))
        return task

    def _write_to_self(self) -> None:
        """Do nothing: there is no thread to wake."""


class VirtualClock:
    """The loop's time as the product's `Clock`. `ahead`: how far a process's wall clock is off."""

    def __init__(self, loop: VirtualLoop, ahead: timedelta = timedelta()) -> None:
        self._loop = loop
        self._epoch = EPOCH + ahead

    def now(self) -> datetime:
        return self._epoch + timedelta(seconds=self._loop.now)

    def monotonic(self) -> float:
        return self._loop.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)


def stamp(seconds: float) -> str:
    """Return the time at `seconds` as the API server writes it."""
    return _stamp(int(seconds))


@lru_cache(maxsize=1024)
def _stamp(seconds: int) -> str:
    return format_time(EPOCH + timedelta(seconds=seconds))
