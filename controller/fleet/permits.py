"""May an AppWrapper be reset now? One answer for the pause, the breaker and the pace.

Whoever asks and must wait is remembered here, so that it can be woken when the reason is gone. All
of it is memory: after a restart everybody asks again.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Protocol

from controller.fleet.reset_rate import ResetRate
from controller.phases.snapshot import HoldReason, ResetHold
from shared.config.fleet import ResetRateLimit

Key = tuple[str, str]  # namespace, name of an AppWrapper

_PAUSED: Final = ResetHold(HoldReason.PAUSED, "an admin has paused all resets (pauseResets)")


class EvacuationGate(Protocol):
    """Knows the breakers."""

    def closed_to(self, resources: Collection[str]) -> str | None:
        """Why nobody may be evacuated for all of these resources; None: they may."""
        ...


class ResetPermits:
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

    def forget(self, uid: str, key: Key) -> None:
        """The AppWrapper is gone."""
        self._held.pop(key, None)
        self._give_up(uid)

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

    def __init__(self, permits: ResetPermits, uid: str, now: datetime) -> None:
        self._permits = permits
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
            hold = self._permits.evacuation(evacuation)
        else:
            self.asked_for_a_token = True
            hold = self._permits.ordinary(self._uid, self._now)
        if hold is not None:
            self.reasons.add(hold.reason)
        return hold
