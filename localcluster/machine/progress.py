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


def reporter_for(stream: TextIO | None = None) -> Reporter:
    """Returns a reporter that prints plain lines, on standard error by default."""
    shown = stream or sys.stderr

    def report(event: Event) -> None:
        with contextlib.suppress(OSError):
            print(line_of(event), file=shown, flush=True)

    return report
