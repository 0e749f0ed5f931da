"""How long a key that failed waits before it is tried again. Pure bookkeeping, no clock."""

from collections.abc import Hashable
from typing import Generic, TypeVar

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
