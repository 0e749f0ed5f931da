"""Time, for those who may not read it: a clock, and pauses that grow."""

import asyncio
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

# The only module that reads the time.
#
# Decisions take `now` as an argument; whoever waits takes a `Clock`, so that a test can move time
# by hand.


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


# How long a key that failed waits before it is tried again. Pure bookkeeping, no clock.

K = TypeVar("K", bound=Hashable)


class ExponentialBackoff(Generic[K]):
    """Doubles the delay with every failure of the same key, up to `longest`.

    The first delay is short, because most failures are conflicts that the next look at the cache
    resolves. The longest keeps a hopeless key from costing much; it is also how late a key may be
    when the API server is back after an outage, since nothing but its delay need wake it then.
    """

    def __init__(self, first: float = 0.005, longest: float = 15.0) -> None:
        """Both in seconds."""
        self._first = first
        self._longest = longest
        self._failures: dict[K, int] = {}

    def next_delay(self, key: K) -> float:
        """Seconds to wait now; counts one more failure of `key`."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # The exponent is bounded before it is used: 2 to the 10,000th is no float.
        return min(self._longest, self._first * 2.0 ** min(failures, 60))

    def failures(self, key: K) -> int:
        """How often `key` failed since it was last forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """`key` is well again: its next failure counts as the first."""
        self._failures.pop(key, None)
