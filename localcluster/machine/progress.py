"""Shows progress to a person: one line per step, with the elapsed time.

The steps report events; a reporter shows them. A terminal that is gone is no failure.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

HEARTBEAT_SECONDS = 15.0


class StepStage(StrEnum):
    """The kind of an event. STOPPED: the step was cancelled; `MESSAGE`: a line outside any step."""

    STARTED = "started"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Event:
    """One report. `seconds` is the time since the step started, `text` that of a MESSAGE."""

    stage: StepStage
    step: str = ""
    seconds: float = 0.0
    text: str = ""


Reporter = Callable[[Event], None]


def silent(event: Event) -> None:
    """Shows nothing."""


def announce(reporter: Reporter, text: str) -> None:
    """Reports one remark."""
    reporter(Event(StepStage.MESSAGE, text=text))


@contextlib.asynccontextmanager
async def step(reporter: Reporter, name: str) -> AsyncIterator[None]:
    """Reports the start and the end of the code inside, and every 15 seconds that it continues."""
    began = time.monotonic()
    reporter(Event(StepStage.STARTED, name))
    heartbeat = asyncio.create_task(_heartbeat(reporter, name, began))
    try:
        yield
    except asyncio.CancelledError:
        reporter(Event(StepStage.STOPPED, name, time.monotonic() - began))
        raise
    except BaseException:
        reporter(Event(StepStage.FAILED, name, time.monotonic() - began))
        raise
    else:
        reporter(Event(StepStage.DONE, name, time.monotonic() - began))
    finally:
        heartbeat.cancel()


async def _heartbeat(reporter: Reporter, name: str, began: float) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        reporter(Event(StepStage.RUNNING, name, time.monotonic() - began))


def duration_text(seconds: float) -> str:
    """Formats `0.4 s`, `12 s`, `3 min 5 s`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


_LINES = {
    StepStage.STARTED: "  ...  {step}",
    StepStage.RUNNING: "  ...  {step}: still at it after {duration}",
    StepStage.DONE: "  ok   {step}: {duration}",
    StepStage.FAILED: "  FAIL {step}: after {duration}",
    StepStage.STOPPED: "  --   {step}: stopped after {duration}",
}


def line_of(event: Event) -> str:
    """Formats the event as a line of plain text."""
    if event.stage is StepStage.MESSAGE:
        return event.text
    return _LINES[event.stage].format(step=event.step, duration=duration_text(event.seconds))


class LineReporter:
    """Writes plain lines, for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        with contextlib.suppress(OSError):
            print(line_of(event), file=self._stream, flush=True)


class TerminalReporter:
    """Writes lines for ended steps, and below them a live line with a clock per running step."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        with contextlib.suppress(OSError):
            self._show(event)

    def _show(self, event: Event) -> None:
        match event.stage:
            case StepStage.STARTED:
                self._start(event)
            case StepStage.DONE | StepStage.FAILED | StepStage.STOPPED:
                self._print(event)
                self._end(event.step)
            case StepStage.MESSAGE:
                self._print(event)
            case StepStage.RUNNING:
                pass  # the live clock shows it already

    def _start(self, event: Event) -> None:
        if not self._tasks:
            self._progress.start()
        self._tasks[event.step] = self._progress.add_task(event.step, total=None)

    def _end(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            self._progress.remove_task(task)
        if not self._tasks:
            self._progress.stop()

    def _print(self, event: Event) -> None:
        self._console.print(line_of(event), markup=False, soft_wrap=True)


def reporter_for(stream: TextIO | None = None) -> Reporter:
    """Returns a live display for a terminal, else plain lines; on standard error by default."""
    stream = stream or sys.stderr
    return TerminalReporter(stream) if stream.isatty() else LineReporter(stream)
