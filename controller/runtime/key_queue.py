"""The rules of the work queue, without waiting: pure, moments are arguments."""

import heapq
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# The heap is cleaned once it holds this many moments beyond twice those that still count.
_SPARE_MOMENTS: Final = 1000


class Wake(IntEnum):
    """Why a key needs work. Of several reasons the greatest counts."""

    RESYNC = 0  # for no reason that is known: in case that a change was missed
    DEADLINE = 1  # a pass named this moment, or failed and is tried again
    CHANGE = 2  # something happened


@dataclass(frozen=True, slots=True)
class Taken(Generic[K]):
    """A key to work on, why, and for how many seconds it was ready, or wanted while in work."""

    key: K
    wake: Wake
    waited: float


class KeyQueue(Generic[K]):
    """Keys that are ready, in work, or waiting for a moment. Moments are seconds of one clock.

    A key is ready at most once however often it is added. One that is added while in work becomes
    ready when that work ends, so no key is ever worked on twice at once and no change is lost.
    Of several moments that a key is to come back at for one reason only the earliest counts, and
    all are dropped when the key is taken: who works on it looks at everything and names the next.
    """

    def __init__(self) -> None:
        self._ready: deque[K] = deque()
        # Ready, or to become so when the work on it ends: why, and since when.
        self._wanted: dict[K, tuple[Wake, float]] = {}
        self._in_work: dict[K, float] = {}  # since when
        self._moments: dict[tuple[K, Wake], float] = {}
        # May hold moments that no longer count; `_moments` decides.
        self._heap: list[tuple[float, int, K, Wake]] = []
        self._pushed = 0

    def add(self, key: K, now: float, wake: Wake = Wake.CHANGE) -> bool:
        """`key` needs work now. False: it was wanted already."""
        if (wanted := self._wanted.get(key)) is not None:
            if wake > wanted[0]:
                self._wanted[key] = (wake, wanted[1])
            return False
        self._wanted[key] = (wake, now)
        if key not in self._in_work:
            self._ready.append(key)
        return True

    def add_at(self, key: K, moment: float, wake: Wake = Wake.DEADLINE) -> None:
        """`key` needs work at `moment`, unless it comes back earlier."""
        if moment >= self._moments.get((key, wake), float("inf")):
            return
        self._moments[key, wake] = moment
        # The counter keeps the heap from comparing keys.
        self._pushed += 1
        heapq.heappush(self._heap, (moment, self._pushed, key, wake))
        if len(self._heap) > 2 * len(self._moments) + _SPARE_MOMENTS:
            self._heap = [each for each in self._heap if self._counts(each)]
            heapq.heapify(self._heap)

    def next_moment(self) -> float | None:
        """When the next waiting key becomes ready."""
        while self._heap and not self._counts(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def release(self, now: float) -> int:
        """Makes the keys ready whose moment has come; how many were not wanted before."""
        added = 0
        while (moment := self.next_moment()) is not None and moment <= now:
            _, _, key, wake = heapq.heappop(self._heap)
            del self._moments[key, wake]
            added += self.add(key, moment, wake)
        return added

    def take(self, now: float) -> Taken[K] | None:
        """The key that has been ready longest, now in work; None if none is ready."""
        if not self._ready:
            return None
        key = self._ready.popleft()
        wake, since = self._wanted.pop(key)
        for each in Wake:
            self._moments.pop((key, each), None)
        self._in_work[key] = now
        return Taken(key, wake, now - since)

    def done(self, key: K) -> float:
        """The work on a taken key has ended; the moment it was taken at."""
        began = self._in_work.pop(key)
        if key in self._wanted:
            self._ready.append(key)
        return began

    @property
    def ready(self) -> int:
        """How many keys are ready."""
        return len(self._ready)

    @property
    def in_work_since(self) -> Iterable[float]:
        """For each key being worked on, when it was taken."""
        return self._in_work.values()

    @property
    def waiting(self) -> int:
        """How many moments are waited for."""
        return len(self._moments)

    def _counts(self, entry: tuple[float, int, K, Wake]) -> bool:
        moment, _, key, wake = entry
        return self._moments.get((key, wake)) == moment
