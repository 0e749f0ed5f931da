"""Start the parts of a process in a stated order, and end all of them when one ends.

If a part fails or returns, the process ends: half a controller is worse than none, and the kubelet
restarts a whole one. On a stop request the parts with `drain` finish first, the last one first and
within a time limit, while all others still run. Then the others are cancelled, the last one first.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from shared.process.clock import Clock

logger = logging.getLogger(__name__)


class PartEnded(RuntimeError):
    """Raised if a part returns that must run until it is cancelled."""


@dataclass(frozen=True, slots=True)
class Runnable:
    """One long-running part of a process.

    `reason` explains its place in the order. `run` runs until cancelled. The next part starts when
    `ready` returns. `drain` makes `run` finish its work and return; a part without it is cancelled
    at once.
    """

    name: str
    reason: str
    run: Callable[[], Awaitable[None]]
    ready: Callable[[], Awaitable[None]] | None = None
    drain: Callable[[], None] | None = None


class Supervisor:
    """Run `parts`. `grace` is how many seconds all of them together may take to finish."""

    def __init__(self, parts: Sequence[Runnable], clock: Clock, *, grace: float = 10.0) -> None:
        self._parts = tuple(parts)
        self._clock = clock
        self._grace = grace
        self._running: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Return after `stop` is set and all parts have ended.

        Raise the first failing part's error, or PartEnded, after all other parts have ended. If it
        is cancelled, it cancels all parts at once: none finishes its work.
        """
        stopping = asyncio.create_task(stop.wait(), name="stop requested")
        drains = True
        try:
            for part in self._parts:
                if not await self._start(part, stopping):
                    break
            await self._first_of(stopping)
        except asyncio.CancelledError:
            drains = False
            raise
        finally:
            stopping.cancel()
            try:
                if drains:
                    await self._drain()
            finally:
                for name, task in reversed(list(self._running.items())):
                    await _end(name, task)

    def also_run(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Start one more part while running: an informer of a Kind that came into use."""
        if name in self._running:
            raise ValueError(f"a part named {name!r} runs already")
        self._running[name] = asyncio.create_task(_awaited(run), name=name)
        # `_first_of` may be waiting: it must wait for this part too.
        self._changed.set()

    async def _start(self, part: Runnable, stopping: asyncio.Task[bool]) -> bool:
        logger.info("starting %s (%s)", part.name, part.reason)
        self.also_run(part.name, part.run)
        if part.ready is None:
            return not stopping.done()
        ready = asyncio.create_task(_awaited(part.ready), name=f"{part.name} ready")
        try:
            await self._first_of(stopping, ready)
            if not ready.done():
                return False
            await ready  # raises the task's error
        finally:
            ready.cancel()
        return not stopping.done()

    async def _first_of(self, *awaited: asyncio.Task[bool] | asyncio.Task[None]) -> None:
        """Wait for one of `awaited`. Raise if a part ends before."""
        while not any(task.done() for task in awaited):
            self._changed.clear()
            changed = asyncio.create_task(self._changed.wait())
            try:
                await asyncio.wait(
                    [*awaited, changed, *self._running.values()],
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                changed.cancel()
            for name, task in self._running.items():
                if task.done():
                    await task  # raises the task's error
                    raise PartEnded(f"{name} ended by itself")

    async def _drain(self) -> None:
        deadline = self._clock.monotonic() + self._grace
        for part in reversed(self._parts):
            if part.drain is None or part.name not in self._running:
                continue
            task = self._running[part.name]
            if not task.done():
                part.drain()
                await self._ended_by(task, deadline)
            await _end(part.name, task)
            del self._running[part.name]

    async def _ended_by(self, task: asyncio.Task[None], deadline: float) -> None:
        timer = asyncio.create_task(self._clock.sleep(deadline - self._clock.monotonic()))
        try:
            await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        if not task.done():
            logger.warning(
                "%s did not finish in %.0f s and is cancelled", task.get_name(), self._grace
            )


def stop_on_signals(stop: asyncio.Event) -> None:
    """Set `stop` on SIGTERM and SIGINT; a second signal ends the process as if unhandled."""
    loop = asyncio.get_running_loop()

    def asked(number: signal.Signals) -> None:
        logger.info("%s: finishing what is running", number.name)
        loop.remove_signal_handler(number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked, number)


async def _end(name: str, task: asyncio.Task[None]) -> None:
    """Cancel a part and wait for its end, also if another cancellation arrives meanwhile."""
    task.cancel()
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    if not task.cancelled() and task.exception() is not None:
        logger.error("%s failed", name, exc_info=task.exception())


async def _awaited(run: Callable[[], Awaitable[None]]) -> None:
    await run()
