"""A controller of another project: it reconciles keys, and repeats failed passes with backoff."""

from collections.abc import Generator, Hashable
from datetime import datetime
from typing import Any, ClassVar, Final

from shared.api.objects import JsonObject, Resource
from shared.kube.responses import ApiError
from tests.simulation import lags
from tests.simulation.actors.actor import Actor
from tests.simulation.api.store import ObjectKey, Write, key_of
from tests.simulation.cluster import Cluster

# The work queue of controller-runtime: 5 ms, doubled with each failure, at most 1,000 s.
_FIRST: Final = 0.005
_LONGEST: Final = 1000.0

Steps = Generator[str, None, float | None]
"""A pass that takes time: it yields the name of each request before it sends the request. It
returns after how many seconds the next pass is due; None: at an event.
"""


class Retry(Exception):
    """A pass cannot end now: the work queue repeats it."""


class Reconciler(Actor):
    """Repeat a pass that raised, and wake a key when its next deadline comes.

    The last part of a key is a name.
    """

    DELAYS = lags.EVENT
    ODDS = lags.ODDS

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._failures: dict[Hashable, int] = {}
        self._alarms: dict[Hashable, float] = {}

    def place(self, key: Any) -> str:
        return f"{self.name} sees {key[-1]}"

    @property
    def moment(self) -> datetime:
        """Return the time, as conditions have it."""
        return self.cluster.clock.now()

    def react(self, key: Hashable) -> None:
        try:
            self._passed(key, self.reconcile(key))
        except (ApiError, Retry):
            self._failed(key)

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

    def _passed(self, key: Hashable, after: float | None) -> None:
        self._failures.pop(key, None)
        if after is not None:
            self.wake(key, after)

    def _failed(self, key: Hashable) -> None:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.wake(key, min(_LONGEST, _FIRST * 2**failures))


class Operator(Reconciler):
    """Its passes take time, and send requests from what they read at their beginning.

    So it may create a pod although its owner was deleted meanwhile. One pass of a key runs at a
    time. It may hear of an object's end after that of its pods, but not of the beginning of its
    deletion: the pods are deleted after that.
    """

    RECONCILED: ClassVar[Resource | None] = None

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._unheard: dict[ObjectKey, tuple[JsonObject, float]] = {}
        cluster.store.listeners.append(self._lose)
        self._busy: set[Hashable] = set()
        self._again: set[Hashable] = set()

    def steps(self, key: Any) -> Steps:
        """Run one pass."""
        raise NotImplementedError

    def react(self, key: Hashable) -> None:
        if key in self._busy:
            self._again.add(key)
            return
        self._busy.add(key)
        self._advance(key, self.steps(key))

    def cached(self, namespace: str, name: str) -> JsonObject | None:
        """Return the reconciled object as this program knows it."""
        assert self.RECONCILED is not None
        found = self.store.get(self.RECONCILED, namespace, name)
        gone, until = self._unheard.get((namespace, name), (None, 0.0))
        return gone if found is None and self.now < until else found

    def _lose(self, write: Write) -> None:
        if write.resource == self.RECONCILED and write.type == "DELETED":
            place = f"{self.name} hears of the end of {write.item['metadata']['name']}"
            late = self.cluster.choices.pick(place, lags.UNHEARD, lags.RARE)
            self._unheard[key_of(write.item)] = write.item, self.now + late

    def _advance(self, key: Hashable, steps: Steps) -> None:
        try:
            request = next(steps)
        except StopIteration as end:
            self._end(key)
            self._passed(key, end.value)
        except (ApiError, Retry):
            self._end(key)
            self._failed(key)
        else:
            place = f"{self.name} {request}"
            delay = self.cluster.choices.pick(place, lags.REQUEST, lags.ODDS)
            self.cluster.loop.outside(delay, self._advance, key, steps)

    def _end(self, key: Hashable) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.later(key)

    def write_status(self, resource: Resource, item: JsonObject, status: JsonObject) -> None:
        """Write the status to the version that was read. Raise Conflict if it is outdated."""
        if status != item.get("status", {}):
            namespace, name = item["metadata"]["namespace"], item["metadata"]["name"]
            self.store.update(resource, namespace, name, {**item, "status": status}, "status")
