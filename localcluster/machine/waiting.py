"""Waits until nothing is missing."""

import asyncio
import time
from collections.abc import Awaitable, Callable

Probe = Callable[[], Awaitable[str | None]]
"""Asks once whether something is ready: None, or the missing part."""


async def still_missing(probe: Probe, seconds: float, *, pause: float = 0.1) -> str | None:
    """Asks until nothing is missing, and returns None; after `seconds` returns the missing part."""
    deadline = time.monotonic() + seconds
    while True:
        missing = await probe()
        if missing is None or time.monotonic() > deadline:
            return missing
        await asyncio.sleep(pause)
