"""Make and check certificates by the API server's time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from shared.process.clock import Clock

# The difference of clocks above which there is a warning. Certificates begin five minutes early.
_TOLERANCE: Final = timedelta(minutes=1)


class ServerClock:
    """Return the API server's time, so that all replicas have the same time.

    A machine with a wrong clock would otherwise make certificates that are not valid yet, or
    replace good ones. Between two calls of `correct`, only monotonic time counts. `ahead` returns
    how far the API server's clock is ahead of this machine's; None if unknown.
    """

    def __init__(self, clock: Clock, ahead: Callable[[], timedelta | None]) -> None:
        self._clock = clock
        self._ahead = ahead
        # The same moment in the API server's time and in monotonic time.
        self._known: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        """Return the API server's time, or this machine's while the former is unknown."""
        if self._known is None:
            return self._clock.now()
        moment, at = self._known
        return moment + timedelta(seconds=self._clock.monotonic() - at)

    def correct(self) -> None:
        """Correct the time after an answer of the API server."""
        ahead = self._ahead()
        if ahead is None:
            return
        found = self._clock.now() + ahead
        # A smaller difference proves nothing: answers take time and contain whole seconds.
        if self._known is None or abs(found - self.now()) > _TOLERANCE:
            self._known = found, self._clock.monotonic()

    def warning(self) -> str | None:
        """Return what is wrong with this machine's clock; None if nothing."""
        ahead = self._ahead()
        if ahead is None or abs(ahead) <= _TOLERANCE:
            return None
        difference = timedelta(minutes=round(abs(ahead) / timedelta(minutes=1)))
        place = "behind" if ahead > timedelta(0) else "ahead of"
        return f"this machine's clock is {difference} {place} the API server's"
