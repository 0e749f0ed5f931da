"""How long ago the change was seen that a pass answers: a memory, for metrics only."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from shared.clock import Clock

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class WakeTimes(Generic[K]):
    """Seconds of the monotonic clock. A pass that nothing but a deadline began has none.

    Of several changes that one pass answers the earliest counts; one that comes during a pass is
    for the next.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[K, float] = {}
        self._in_pass: dict[K, float] = {}

    def woken(self, key: K) -> None:
        """A watch told of a change. The key must be worked on after this."""
        self._waiting.setdefault(key, self._clock.monotonic())

    async def timed(self, reconcile: Callable[[K], Awaitable[T]], key: K) -> T:
        """Reconciles. Where that fails the next try answers the same change, which then is older.

        Raises what `reconcile` does.
        """
        woken = self._waiting.pop(key, None)
        if woken is None:
            return await reconcile(key)
        self._in_pass[key] = woken
        try:
            return await reconcile(key)
        except BaseException:
            self._waiting[key] = woken
            raise
        finally:
            del self._in_pass[key]

    def age(self, key: K) -> float | None:
        """Seconds since the change was seen that the pass under way answers. None: no change."""
        woken = self._in_pass.get(key)
        return None if woken is None else self._clock.monotonic() - woken
