"""How fast AppWrappers may be reset, and whose turn it is. Pure: the time is an argument.

A token bucket (`resetRateLimit`): full it allows `burst` resets at once, and it fills at
`per_second`. Who finds it empty waits in a line, first come, first served, and is told exactly when
its turn is.
"""

from datetime import datetime, timedelta
from typing import Final

from shared.config.fleet import ResetRateLimit

_ZERO: Final = timedelta(0)
# Who does not ask again this long after its turn has lost its place: it may be gone, and those
# behind it must not wait for it. It may ask again, and is then the last.
PATIENCE: Final = timedelta(seconds=30)


class ResetRate:
    """Whoever asks is named by a text of its own, a UID.

    `empty_at`: the bucket is empty then. A process that begins does not know what the one before it
    took; one that is killed again and again must not allow a burst each time. None: it is full.
    """

    def __init__(self, limit: ResetRateLimit, empty_at: datetime | None = None) -> None:
        self._interval = timedelta(seconds=1) / limit.per_second  # to the microsecond
        self._burst = limit.burst
        # When the bucket will be full if nobody takes anything; None: it was never touched.
        self._full_at = None if empty_at is None else empty_at + limit.burst * self._interval
        # In the order of asking, with the last moment that each was told.
        self._waiting: dict[str, datetime] = {}

    def ask(self, uid: str, now: datetime) -> timedelta | None:
        """None: one token is taken. Else how long to wait before asking again."""
        self._drop_the_absent(now)
        full_at = self._bucket(now)
        ahead = self._ahead_of(uid)
        turn = full_at + (ahead + 1 - self._burst) * self._interval
        if turn <= now:
            self._full_at = full_at + self._interval
            self.withdraw(uid)
            return None
        self._waiting[uid] = turn
        return turn - now

    def withdraw(self, uid: str) -> None:
        """It no longer wants a token. Those behind it move up; what they were told stays true."""
        self._waiting.pop(uid, None)

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def _bucket(self, now: datetime) -> datetime:
        """When it is full. After a clock was set back it is empty at worst, not in debt.

        That is remembered: else it would stay empty until the clock has caught up.
        """
        latest = now + self._burst * self._interval
        if self._full_at is not None and self._full_at > latest:
            self._full_at = latest
            self._waiting = dict.fromkeys(self._waiting, now)  # in the same order
        return now if self._full_at is None else max(self._full_at, now)

    def _ahead_of(self, uid: str) -> int:
        if uid not in self._waiting:
            return len(self._waiting)
        return next(place for place, each in enumerate(self._waiting) if each == uid)

    def _drop_the_absent(self, now: datetime) -> None:
        """From the front only: whoever stands behind somebody present has its turn after it."""
        while self._waiting:
            first, turn = next(iter(self._waiting.items()))
            if turn + PATIENCE > now:
                return
            del self._waiting[first]
