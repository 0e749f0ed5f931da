"""Read several logs at once, in bounded memory, and print their lines in the order of time."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

from cli.logs.choosing import LogPod
from cli.logs.lines import LogLine
from cli.logs.merging import TimeMerge
from cli.logs.output import LogOutput
from cli.tasks import next_change
from shared.process.clock import Clock

# The lines of one log that wait for earlier ones of others. A log that has as many is not read.
MOST_WAITING: Final = 100

Lines = AsyncGenerator[LogLine, None]


class LogPumps:
    """One task a log. `at_once`: the most logs that are read at the same time, None for all.

    With `at_once`, each log must have at most MOST_WAITING lines: until a log is read, the lines of
    the others wait. `changed` wakes the printing.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        clock: Clock,
        output: LogOutput,
        *,
        patience: float | None,
        at_once: int | None = None,
        changed: asyncio.Event | None = None,
    ) -> None:
        self._tasks = tasks
        self._clock = clock
        self._output = output
        self._merge: TimeMerge[LogPod] = TimeMerge(patience)
        self._at_once = asyncio.Semaphore(at_once) if at_once else None
        self._room: list[asyncio.Semaphore] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.changed = changed or asyncio.Event()

    @property
    def open(self) -> int:
        """The number of logs that have not ended."""
        return self._merge.open_sources

    @property
    def is_over(self) -> bool:
        return self._merge.is_over

    def start(self, pod: LogPod, lines: Callable[[], Lines]) -> None:
        """Read a log in a task of its own."""
        number = self._merge.open(pod)
        self._room.append(asyncio.Semaphore(MOST_WAITING))
        self.tasks.append(self._tasks.create_task(self._pump(number, lines)))

    def print_ready(self) -> float | None:
        """Print what may be printed; return the seconds until more may be, None if unknown."""
        now = self._clock.monotonic()
        printed = False
        for number, pod, line in self._merge.ready(now):
            self._output.line(number, pod, line)
            self._room[number].release()
            printed = True
        if printed:
            self._output.flush()
        return self._merge.wait(now)

    async def wait(self, seconds: float | None) -> None:
        """Wait for a line, the end of a log, or `changed` for another reason."""
        await next_change(self.changed, self._clock, seconds)

    async def _pump(self, number: int, lines: Callable[[], Lines]) -> None:
        try:
            if self._at_once is None:
                await self._read(number, lines)
            else:
                async with self._at_once:
                    await self._read(number, lines)
        finally:
            self._merge.close(number)
            self.changed.set()

    async def _read(self, number: int, lines: Callable[[], Lines]) -> None:
        async with aclosing(lines()) as found:
            async for line in found:
                await self._room[number].acquire()
                self._merge.add(number, line, self._clock.monotonic())
                self.changed.set()
