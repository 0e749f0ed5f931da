"""The time, the objects and the choices that the actors of one simulated cluster share."""

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shared.api.names import LABEL_UID
from shared.api.objects import JsonObject, label
from tests.simulation.api.store import Store
from tests.simulation.api.watch import Watches
from tests.simulation.choices import Choices
from tests.simulation.loop import VirtualClock, VirtualLoop

T = TypeVar("T")


@dataclass(slots=True)
class Causes:
    """The injected events that may explain a retry or a failure, by the AppWrapper's UID.

    `deleted`: the UIDs of the components and pods that a user deleted.
    """

    by_uid: dict[str, list[str]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def add(self, uid: str, why: str) -> None:
        self.by_uid.setdefault(uid, []).append(why)

    def add_for(self, item: JsonObject, why: str) -> None:
        """Add a cause for the AppWrapper that a pod or a component belongs to, if any."""
        uid = label(item, LABEL_UID)
        if uid is not None:
            self.add(uid, why)

    def of(self, uid: str) -> list[str]:
        return self.by_uid.get(uid, [])


class Cluster:
    """One cluster: its time, its state, the choices of this run, and the trace of what happened."""

    def __init__(self, choices: Choices, *, keep_trace: bool = True) -> None:
        self.loop = VirtualLoop()
        self.store = Store(self.loop.time)
        self.watches = Watches(self.loop, self.store)
        self.choices = choices
        self.clock = VirtualClock(self.loop)
        self.causes = Causes()
        self.silent_nodes: set[str] = set()
        # Writes whose senders are gone, by the place of the next write that they precede.
        self.postponed: dict[str, list[Callable[[], object]]] = {}
        self.trace: list[str] = []
        self._keep_trace = keep_trace
        self._digest = hashlib.sha256()

    def tell(self, text: str) -> None:
        """Add a line to the trace, with its time. The digest covers all lines."""
        line = f"{self.loop.now:10.3f} {text}"
        self._digest.update(line.encode())
        if self._keep_trace:
            self.trace.append(line)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run `main` to its end in virtual time, once."""
        try:
            return self.loop.run_until_complete(main)
        finally:
            self.loop.close()

    @property
    def digest(self) -> str:
        """Return a hash of all lines so far: equal runs have equal digests."""
        return self._digest.hexdigest()
