"""The time by which certificates are judged: the API servers' time, not this machine's.

A machine whose clock is wrong would else make certificates that are not valid yet, replace good
ones as expired, or call itself not ready. All replicas so have the same time.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from shared.process.clock import Clock

# What clocks may differ by before that is worth a word. Certificates begin five minutes early.
TOLERANCE: Final = timedelta(minutes=1)


class VerifiersTime:
    """Goes on evenly, whatever happens to the machine's clock, between two calls of `look`.

    `ahead` says by how much the API server's clock is ahead of ours; None where that is not known.
    """

    def __init__(self, clock: Clock, ahead: Callable[[], timedelta | None]) -> None:
        self._clock = clock
        self._ahead = ahead
        # A moment of the API server's time, and of monotonic time.
        self._known: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        """This machine's time as long as nothing is known of the API server's."""
        if self._known is None:
            return self._clock.now()
        moment, at = self._known
        return moment + timedelta(seconds=self._clock.monotonic() - at)

    def look(self) -> None:
        """Sets it right, after an answer of the API server."""
        ahead = self._ahead()
        if ahead is None:
            return
        found = self._clock.now() + ahead
        # Not for less: answers take their time, and name whole seconds.
        if self._known is None or abs(found - self.now()) > TOLERANCE:
            self._known = found, self._clock.monotonic()

    def warning(self) -> str | None:
        """What is wrong with this machine's clock; None if nothing."""
        ahead = self._ahead()
        if ahead is None or abs(ahead) <= TOLERANCE:
            return None
        difference = timedelta(minutes=round(abs(ahead) / timedelta(minutes=1)))
        place = "behind" if ahead > timedelta(0) else "ahead of"
        return f"this machine's clock is {difference} {place} the API server's"
