"""A program of the cluster that reacts to writes, each reaction one atomic step after a delay."""

import re
from collections.abc import Hashable, Iterable
from typing import ClassVar, final

from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster


class Actor:
    """Subclasses define which keys a write concerns (`wants`), and the reaction to a key (`react`).

    A key that already waits is not added again, like in a work queue. The delays between steps of
    different actors make the interleavings.
    """

    DELAYS: ClassVar[tuple[float, ...]] = (0.005, 0.05, 0.5, 6.0)
    """The options for the delay of a reaction, in seconds; the first is the default."""
    ODDS: ClassVar[tuple[float, ...] | None] = (0.7, 0.2, 0.07, 0.03)
    """Their weights in random runs."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.store = cluster.store
        self.name = re.sub(r"(?<!^)(?=[A-Z])", " ", type(self).__name__).lower()
        self._waiting: set[Hashable] = set()
        cluster.store.listeners.append(self._see)

    def wants(self, write: Write) -> Iterable[Hashable]:
        """Return the keys that this write concerns."""
        raise NotImplementedError

    def react(self, key: Hashable) -> None:
        """Do one atomic step about `key`, from the state as it is now."""
        raise NotImplementedError

    def place(self, key: Hashable) -> str:
        """Return the name of the pick of a reaction's delay: the same in every schedule."""
        del key
        return self.name

    @property
    def now(self) -> float:
        return self.cluster.loop.now

    @final
    def later(self, key: Hashable, delay: float | None = None) -> None:
        """React to `key` after `delay`, or after a picked one, unless the key already waits."""
        if key in self._waiting:
            return
        self._waiting.add(key)
        if delay is None:
            delay = self.cluster.choices.pick(self.place(key), self.DELAYS, self.ODDS)
        self.cluster.loop.outside(delay, self._run, key)

    @final
    def awaits(self, key: Hashable) -> bool:
        """True if a reaction to `key` is arranged."""
        return key in self._waiting

    def tell(self, text: str) -> None:
        """Add a line to the trace that begins with the actor's name."""
        self.cluster.tell(f"{self.name} {text}")

    def _see(self, write: Write) -> None:
        for key in self.wants(write):
            self.later(key)

    def _run(self, key: Hashable) -> None:
        self._waiting.discard(key)
        self.react(key)
