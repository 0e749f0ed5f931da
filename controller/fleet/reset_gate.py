"""Decide whether an AppWrapper may be reset now: pause, evacuation breaker and rate limit.

The gate remembers the AppWrappers that must wait, so that they can be woken when the reason is
gone. After a restart every AppWrapper asks again.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final, Protocol

from controller.phases.snapshot import HoldReason, ResetHold
from shared.config.fault_tolerance import ResetRateLimit

# The rate limit of resets. Pure: the time is an argument.
#
# A token bucket (`resetRateLimit`): a full bucket allows `burst` resets at once, and it fills at
# `per_second`. AppWrappers that find it empty wait in a first-come, first-served queue. Each gets
# the exact time of its turn.

_ZERO: Final = timedelta(0)
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


Key = tuple[str, str]  # namespace, name of an AppWrapper

_PAUSED: Final = ResetHold(HoldReason.PAUSED, "an admin has paused all resets (pauseResets)")


class EvacuationGate(Protocol):
    """Reports which breakers are open."""

    def closed_to(self, resources: Collection[str]) -> str | None:
        """Return why evacuations for these resources must wait; None if they may begin."""
        ...


class ResetGate:
    """Permits resets. The reader of the configuration sets `paused`.

    `began`: the start of the process, when the token bucket is empty; None: it is full.
    """

    def __init__(
        self, limit: ResetRateLimit, gate: EvacuationGate, began: datetime | None = None
    ) -> None:
        self._rate = ResetRate(limit, began)
        self._gate = gate
        self._throttled = f"resets in this cluster are paced at {limit.per_second:g} a second"
        self._held: dict[Key, frozenset[HoldReason]] = {}
        # AppWrappers with a token whose reset may not be written yet: a status write is retried.
        self._granted: set[str] = set()
        self.paused = False

    @contextmanager
    def asking(self, uid: str, key: Key, now: datetime) -> Iterator["Asking"]:
        """Begin one pass over an AppWrapper. Requests that it does not repeat are withdrawn.

        A pass that fails before its first request withdraws nothing: it may still need its token.
        """
        asking = Asking(self, uid, now)
        decided = False
        try:
            yield asking
            decided = True
        finally:
            if decided or asking.has_asked:
                self._keep(asking, uid, key)

    def _keep(self, asking: "Asking", uid: str, key: Key) -> None:
        """Keep the requests of this pass, and no others."""
        if asking.reasons:
            self._held[key] = frozenset(asking.reasons)
        else:
            self._held.pop(key, None)
        if not asking.asked_for_a_token:
            self._give_up(uid)

    def forget(self, uid: str, key: Key) -> None:
        """Forget an AppWrapper that is gone."""
        self._held.pop(key, None)
        self._give_up(uid)

    def held(self, reason: HoldReason) -> list[Key]:
        """Return the AppWrappers that wait for this reason."""
        return [key for key, reasons in self._held.items() if reason in reasons]

    def evacuation(self, resources: Collection[str]) -> ResetHold | None:
        """Return why an evacuation must wait; None if it may begin. It takes no token."""
        if self.paused:
            return _PAUSED
        told = self._gate.closed_to(resources)
        return None if told is None else ResetHold(HoldReason.BREAKER, told)

    def ordinary(self, uid: str, now: datetime) -> ResetHold | None:
        """Return why another reset must wait; None if it has a token. Used by `Asking`.

        An AppWrapper keeps its token while it asks.
        """
        if self.paused:
            return _PAUSED
        if uid in self._granted:
            return None
        wait = self._rate.ask(uid, now)
        if wait is not None:
            return ResetHold(HoldReason.RATE, self._throttled, wait)
        self._granted.add(uid)
        return None

    def _give_up(self, uid: str) -> None:
        self._granted.discard(uid)
        self._rate.withdraw(uid)


class Asking:
    """The requests of one pass over an AppWrapper."""

    def __init__(self, reset_gate: ResetGate, uid: str, now: datetime) -> None:
        self._reset_gate = reset_gate
        self._uid = uid
        self._now = now
        self.reasons: set[HoldReason] = set()
        self.asked_for_a_token = False

    @property
    def has_asked(self) -> bool:
        """True if a reset waits for something, or asked for a token."""
        return bool(self.reasons) or self.asked_for_a_token

    def hold(self, evacuation: Collection[str] | None) -> ResetHold | None:
        """Return why the reset must wait; None if it may begin.

        `evacuation`: the resources whose nodes the pods must leave; None for any other reset,
        which needs a token.
        """
        if evacuation is not None:
            hold = self._reset_gate.evacuation(evacuation)
        else:
            self.asked_for_a_token = True
            hold = self._reset_gate.ordinary(self._uid, self._now)
        if hold is not None:
            self.reasons.add(hold.reason)
        return hold
