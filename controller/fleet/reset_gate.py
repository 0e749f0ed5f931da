"""May an AppWrapper be reset now? One answer for the pause, the breaker and the pace.

Whoever asks and must wait is remembered here, so that it can be woken when the reason is gone. All
of it is memory: after a restart everybody asks again.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final, Protocol

from controller.phases.snapshot import HoldReason, ResetHold
from shared.config.fault_tolerance import ResetRateLimit

# How fast AppWrappers may be reset, and whose turn it is. Pure: the time is an argument.
#
# A token bucket (`resetRateLimit`): full it allows `burst` resets at once, and it fills at
# `per_second`. Who finds it empty waits in a line, first come, first served, and is told exactly
# when its turn is.

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


Key = tuple[str, str]  # namespace, name of an AppWrapper

_PAUSED: Final = ResetHold(HoldReason.PAUSED, "an admin has paused all resets (pauseResets)")


class EvacuationGate(Protocol):
    """Knows the breakers."""

    def closed_to(self, resources: Collection[str]) -> str | None:
        """Why nobody may be evacuated for all of these resources; None: they may."""
        ...


class ResetGate:
    """`paused` is to be set by whoever reads the configuration. `began`: this process, and with it
    the bucket of tokens, which is empty then.
    """

    def __init__(
        self, limit: ResetRateLimit, gate: EvacuationGate, began: datetime | None = None
    ) -> None:
        self._rate = ResetRate(limit, began)
        self._gate = gate
        self._throttled = f"resets in this cluster are paced at {limit.per_second:g} a second"
        self._held: dict[Key, frozenset[HoldReason]] = {}
        # Who has a token and perhaps no reset yet: writing the status may fail and be tried again.
        self._granted: set[str] = set()
        # Of whom any of this is remembered. All others need not say that they ask for nothing.
        self.askers: set[Key] = set()
        self.paused = False

    @contextmanager
    def asking(self, uid: str, key: Key, now: datetime) -> Iterator["Asking"]:
        """One pass over an AppWrapper. What it does not ask for again it no longer waits for."""
        asking = Asking(self, uid, now)
        try:
            yield asking
        finally:
            if asking.reasons:
                self._held[key] = frozenset(asking.reasons)
            else:
                self._held.pop(key, None)
            if not asking.asked_for_a_token:
                self._give_up(uid)
            if asking.reasons or asking.asked_for_a_token:
                self.askers.add(key)
            else:
                self.askers.discard(key)

    def forget(self, uid: str, key: Key) -> None:
        """The AppWrapper is gone."""
        self._held.pop(key, None)
        self._give_up(uid)
        self.askers.discard(key)

    def held(self, reason: HoldReason) -> list[Key]:
        """Who waits for that."""
        return [key for key, reasons in self._held.items() if reason in reasons]

    def evacuation(self, resources: Collection[str]) -> ResetHold | None:
        """For `Asking`."""
        if self.paused:
            return _PAUSED
        told = self._gate.closed_to(resources)
        return None if told is None else ResetHold(HoldReason.BREAKER, told)

    def ordinary(self, uid: str, now: datetime) -> ResetHold | None:
        """For `Asking`. A token that was given stays given until its owner asks no more."""
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
    """What one pass over an AppWrapper asks."""

    def __init__(self, reset_gate: ResetGate, uid: str, now: datetime) -> None:
        self._reset_gate = reset_gate
        self._uid = uid
        self._now = now
        self.reasons: set[HoldReason] = set()
        self.asked_for_a_token = False

    def hold(self, evacuation: Collection[str] | None) -> ResetHold | None:
        """None: the reset may begin.

        `evacuation` holds the resources whose nodes are to be left; None: it is another reset,
        which takes a token.
        """
        if evacuation is not None:
            hold = self._reset_gate.evacuation(evacuation)
        else:
            self.asked_for_a_token = True
            hold = self._reset_gate.ordinary(self._uid, self._now)
        if hold is not None:
            self.reasons.add(hold.reason)
        return hold
