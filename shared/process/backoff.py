"""Growing delays of failed keys. Pure bookkeeping, without a clock."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class ExponentialBackoff(Generic[K]):
    """Double the delay with every failure of the same key, up to `longest`.

    The first delay is short, because most failures are conflicts that the next read of the cache
    resolves. The longest limits the cost of a hopeless key. It is also the longest wait of a key
    after an outage of the API server: only its delay wakes the key then.
    """

    def __init__(self, first: float = 0.005, longest: float = 15.0) -> None:
        """Both arguments are in seconds."""
        self._first = first
        self._longest = longest
        self._failures: dict[K, int] = {}

    def next_delay(self, key: K) -> float:
        """Return the seconds to wait now, and count one more failure of `key`."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # Limit the exponent first: 2 to the 10,000th is no float.
        return min(self._longest, self._first * 2.0 ** min(failures, 60))

    def failures(self, key: K) -> int:
        """Return how often `key` failed since it was last forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """Reset `key` after a success: its next failure counts as the first."""
        self._failures.pop(key, None)
