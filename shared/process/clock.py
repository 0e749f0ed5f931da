"""Provide a clock to code that may not read the time itself."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Protocol

# No other module reads the time (lint: ruff.toml). Decisions take `now` as an argument.
# Code that waits takes a `Clock`, so that a test can set the time.


class Clock(Protocol):
    """Wall-clock time for stored values, monotonic time for waits."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards, for measuring durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; a negative number does not wait."""
        ...

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """Limit a block: `async with clock.timeout(2):` raises TimeoutError if it takes longer."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Read the event loop's own clock, so that timers and sleeps agree."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)
