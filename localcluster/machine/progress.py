"""Shows progress to a person: a line at the start and at the end of each step."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import TextIO

HEARTBEAT_SECONDS = 15.0

Reporter = Callable[[str], None]
"""Shows one line."""


def silent(line: str) -> None:
    """Shows nothing."""


def reporter_for(stream: TextIO | None = None) -> Reporter:
    """Returns a reporter that prints, on standard error by default.

    A terminal that is gone is no failure.
    """
    shown = stream or sys.stderr

    def report(line: str) -> None:
        with contextlib.suppress(OSError):
            print(line, file=shown, flush=True)

    return report


@contextlib.asynccontextmanager
async def step(reporter: Reporter, name: str) -> AsyncIterator[None]:
    """Reports the start and the end of the code inside, and every 15 seconds that it continues."""
    began = time.monotonic()

    def elapsed() -> str:
        return duration_text(time.monotonic() - began)

    async def continues() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            reporter(f"  ...  {name}: still at it after {elapsed()}")

    reporter(f"  ...  {name}")
    heartbeat = asyncio.create_task(continues())
    try:
        yield
    except asyncio.CancelledError:
        reporter(f"  --   {name}: stopped after {elapsed()}")
        raise
    except BaseException:
        reporter(f"  FAIL {name}: after {elapsed()}")
        raise
    else:
        reporter(f"  ok   {name}: {elapsed()}")
    finally:
        heartbeat.cancel()


def duration_text(seconds: float) -> str:
    """Formats `0.4 s`, `12 s`, `3 min 5 s`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
