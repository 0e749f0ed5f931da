"""The only module that reads the time.

Decisions take `now` as an argument; whoever waits takes a `Clock`, so that a test can move time by
hand.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time for what is stored, monotonic time for what is waited for."""

    def now(self) -> datetime:
        """The current time, timezone-aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards, for measuring how long something took."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; negative means not at all."""
        ...

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """`async with clock.timeout(2):` raises TimeoutError if the block takes longer."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """See `Clock`."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """See `Clock`. The event loop's own clock, so that timers and sleeps agree."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        await asyncio.sleep(max(0.0, seconds))

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """See `Clock`."""
        return asyncio.timeout(seconds)
