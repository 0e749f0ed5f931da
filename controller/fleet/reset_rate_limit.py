"""The rate limit of resets. Pure: the time is an argument.

A token bucket (`resetRateLimit`): a full bucket allows `burst` resets at once, and it fills at
`per_second`. AppWrappers that find it empty wait in a first-come, first-served queue. Each gets the
exact time of its turn.
"""

from datetime import datetime, timedelta
from typing import Final

from shared.config.fault_tolerance import ResetRateLimit

# An AppWrapper that does not ask again this long after its turn loses its place: it may be gone,
# and the others must not wait for it. If it asks again, it is last.
PATIENCE: Final = timedelta(seconds=30)


class ResetRate:
    """Grants tokens to AppWrappers, which UIDs identify.

    `empty_at`: the bucket is empty at that time; None: it is full. A new process does not know
    which tokens the previous one granted, and repeated restarts must not allow a burst each.
    """

    def __init__(self, limit: ResetRateLimit, empty_at: datetime | None = None) -> None:
        self._interval = timedelta(seconds=1) / limit.per_second  # to the microsecond
        self._burst = limit.burst
        # When the bucket will be full if no token is taken; None: no token was ever taken.
        self._full_at = None if empty_at is None else empty_at + limit.burst * self._interval
        # UID → the last turn that was announced, in the order of asking.
        self._waiting: dict[str, datetime] = {}

    def ask(self, uid: str, now: datetime) -> timedelta | None:
        """Take a token and return None, or return how long to wait before asking again."""
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
        """Remove an AppWrapper from the queue. The announced turns of the others stay valid."""
        self._waiting.pop(uid, None)

    @property
    def waiting(self) -> int:
        """The number of AppWrappers in the queue."""
        return len(self._waiting)

    def _bucket(self, now: datetime) -> datetime:
        """Return when the bucket is full. After a clock was set back, it is at worst empty.

        The corrected time is kept, or the bucket would stay empty until the clock caught up.
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
        """Drop absent AppWrappers from the front only; behind a present one every turn is later."""
        while self._waiting:
            first, turn = next(iter(self._waiting.items()))
            if turn + PATIENCE > now:
                return
            del self._waiting[first]
