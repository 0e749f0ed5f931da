"""A controller of another project: it reconciles keys, and repeats failed passes with backoff."""

from collections.abc import Hashable
from datetime import datetime
from typing import Any, Final

from shared.kube.responses import ApiError
from tests.simulation.actors.actor import Actor
from tests.simulation.cluster import Cluster

# The work queue of controller-runtime: 5 ms, doubled with each failure, at most 1,000 s.
_FIRST: Final = 0.005
_LONGEST: Final = 1000.0


class Retry(Exception):
    """A pass cannot end now: the work queue repeats it."""


class Reconciler(Actor):
    """Repeat a pass that raised, and wake a key when its next deadline comes."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._failures: dict[Hashable, int] = {}
        self._alarms: dict[Hashable, float] = {}

    def react(self, key: Hashable) -> None:
        try:
            after = self.reconcile(key)
        except (ApiError, Retry):
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self.wake(key, min(_LONGEST, _FIRST * 2**failures))
            return
        self._failures.pop(key, None)
        if after is not None:
            self.wake(key, after)

    @property
    def moment(self) -> datetime:
        """Return the time, as conditions have it."""
        return self.cluster.clock.now()

    def reconcile(self, key: Any) -> float | None:
        """Run one pass. Return after how many seconds the next one is due; None: at an event."""
        raise NotImplementedError

    def wake(self, key: Hashable, seconds: float) -> None:
        """Run a pass after that time, unless an alarm of the key rings earlier."""
        at = self.now + seconds
        if self._alarms.get(key, at + 1) <= at:
            return
        self._alarms[key] = at
        self.cluster.loop.outside(seconds, self._ring, key, at)

    def _ring(self, key: Hashable, at: float) -> None:
        if self._alarms.get(key) == at:
            del self._alarms[key]
            self.later(key)
