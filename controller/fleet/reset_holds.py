"""Decide whether a reset must wait: for the pause, the evacuation breaker or the rate limit.

The gate remembers the AppWrappers that must wait, so that they can be woken when the reason is
gone. After a restart every AppWrapper asks again.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from controller.facts.evacuation import Key
from controller.fleet.reset_rate_limit import ResetRate
from controller.phases.snapshot import HoldReason, ResetHold
from shared.config.fault_tolerance import ResetRateLimit

PAUSED: Final = ResetHold(HoldReason.PAUSED, "an admin has paused all resets (pauseResets)")


class ResetGate:
    """Permits resets. The reader of the configuration sets `paused`.

    `closed_to` returns why evacuations for these resources must wait; None if they may begin.
    `began`: the start of the process, when the token bucket is empty; None: it is full.
    """

    def __init__(
        self,
        limit: ResetRateLimit,
        closed_to: Callable[[Collection[str]], str | None],
        began: datetime | None = None,
    ) -> None:
        self._rate = ResetRate(limit, began)
        self._closed_to = closed_to
        self._throttled = f"resets in this cluster are paced at {limit.per_second:g} a second"
        self._held: dict[Key, frozenset[HoldReason]] = {}
        # AppWrappers with a token whose reset may not be written yet: a status write is retried.
        self._granted: set[str] = set()
        self.paused = False

    @contextmanager
    def request(self, uid: str, key: Key, now: datetime) -> Iterator["ResetRequest"]:
        """Begin one pass over an AppWrapper. Requests that it does not repeat are withdrawn.

        A pass that fails before its first request withdraws nothing: it may still need its token.
        """
        request = ResetRequest(self, uid, now)
        decided = False
        try:
            yield request
            decided = True
        finally:
            if decided or request.pending:
                self._keep(request, uid, key)

    def _keep(self, request: "ResetRequest", uid: str, key: Key) -> None:
        """Keep the requests of this pass, and no others."""
        if request.reasons:
            self._held[key] = frozenset(request.reasons)
        else:
            self._held.pop(key, None)
        if not request.needs_token:
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
            return PAUSED
        why = self._closed_to(resources)
        return None if why is None else ResetHold(HoldReason.BREAKER, why)

    def ordinary(self, uid: str, now: datetime) -> ResetHold | None:
        """Return why another reset must wait; None if it has a token. Used by `ResetRequest`.

        An AppWrapper keeps its token while it asks.
        """
        if self.paused:
            return PAUSED
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


class ResetRequest:
    """The requests of one pass over an AppWrapper."""

    def __init__(self, reset_gate: ResetGate, uid: str, now: datetime) -> None:
        self._reset_gate = reset_gate
        self._uid = uid
        self._now = now
        self.reasons: set[HoldReason] = set()
        self.needs_token = False

    @property
    def pending(self) -> bool:
        """True if a reset waits for something, or asked for a token."""
        return bool(self.reasons) or self.needs_token

    def hold(self, evacuation: Collection[str] | None) -> ResetHold | None:
        """Return why the reset must wait; None if it may begin.

        `evacuation`: the resources whose nodes the pods must leave; None for any other reset,
        which needs a token.
        """
        if evacuation is not None:
            hold = self._reset_gate.evacuation(evacuation)
        else:
            self.needs_token = True
            hold = self._reset_gate.ordinary(self._uid, self._now)
        if hold is not None:
            self.reasons.add(hold.reason)
        return hold
