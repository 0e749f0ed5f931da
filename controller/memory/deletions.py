"""The part of the memory about deletions: sent deletes and their results."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from controller.facts.stuck_deletions import Stuck

if TYPE_CHECKING:
    from controller.memory.memory import Memory


@dataclass(frozen=True, slots=True)
class Explanation:
    """The last explanation of a blocked deletion. `forcing`: its grace period was over.

    `silent_nodes`: the nodes whose kubelets cannot stop the remaining pods. `stuck`: the number of
    remaining objects, for a metric. `left`: what the caches showed of them.
    """

    at: datetime
    forcing: bool
    blockers: tuple[str, ...]
    forced_off: tuple[str, ...]
    silent_nodes: frozenset[str] = frozenset()
    stuck: Stuck = ()
    left: frozenset[object] = frozenset()


@dataclass(frozen=True, slots=True)
class Forced:
    """The forced deletes of an object: their number, and the monotonic time of the last one.

    `patience`: the seconds that the kubelet has before the pod object is removed.
    """

    times: int
    at: float
    patience: float = 0.0


@dataclass(slots=True)
class Deletion:
    """The deletes of one AppWrapper's objects, by the UID of the object.

    `accepted`: the API server accepted a delete, which need not be sent again. `absent`: the API
    server has no such object, and a watch may lag behind: a reason to read live, not a proof.
    `refused`: why the last delete was rejected. `explanation`: what blocked the deletion at the
    last check. `complete`: the attempt whose pods all existed at some time, so no controller is
    creating more. `clear_since`: since when nothing was found. `makers`: an orphaned owner of a
    deleted component's pods was found. `collected`: objects deleted in the background, so the
    garbage collector deletes their pods.
    """

    accepted: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    forced: dict[str, Forced] = field(default_factory=dict)
    explanation: Explanation | None = None
    complete: int | None = None
    clear_since: datetime | None = None
    makers: bool = False
    collected: set[str] = field(default_factory=set)


class Deletions:
    """The deletes that this process sent, and their results.

    The deleter writes it and the gatherer reads it. After a restart the controller sends all
    deletes again.
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def known(self, appwrapper_uid: str) -> Deletion:
        """Return the memory for reading: an empty one if nothing is stored."""
        return self._memory.known(appwrapper_uid).deletion or Deletion()

    def of(self, appwrapper_uid: str) -> Deletion:
        """Return the memory for writing."""
        remembered = self._memory.of(appwrapper_uid)
        if remembered.deletion is None:
            remembered.deletion = Deletion()
        return remembered.deletion

    def accept(self, appwrapper_uid: str, uid: str) -> None:
        """Record that the API server accepted a delete."""
        deletion = self.of(appwrapper_uid)
        deletion.accepted.add(uid)
        deletion.refused.pop(uid, None)

    def force(self, appwrapper_uid: str, uid: str, moment: float, *, patience: float = 0.0) -> None:
        """Record that a forced delete was accepted at `moment` of the monotonic clock."""
        forced = self.of(appwrapper_uid).forced
        times = forced[uid].times if uid in forced else 0
        forced[uid] = Forced(times + 1, moment, patience)

    def stuck(self) -> Counter[tuple[str, str]]:
        """Return the stuck objects of all AppWrappers, by finalizer and Kind."""
        total: Counter[tuple[str, str]] = Counter()
        for each in self._memory.all():
            if each.deletion is not None and each.deletion.explanation is not None:
                total.update(dict(each.deletion.explanation.stuck))
        return Counter(dict(sorted(total.items())))

    def clear_since(self, appwrapper_uid: str, now: datetime) -> datetime:
        """Record that nothing was found at `now`; return since when that has been so."""
        deletion = self.of(appwrapper_uid)
        if deletion.clear_since is None or deletion.clear_since > now:
            deletion.clear_since = now
        return deletion.clear_since

    def was_announced(self, appwrapper_uid: str, attempt: int, group_kind: str, name: str) -> bool:
        """True if a watch showed the component with a deletionTimestamp before it was gone.

        Objects that the Go operator created carry no attempt number.
        """
        last = self._memory.known(appwrapper_uid).deleted.get((group_kind, name))
        return last is not None and last.deleting and last.attempt in ("", str(attempt))

    def was_idle(self, appwrapper_uid: str, attempt: int, group_kind: str, name: str) -> bool:
        """True if a watch showed that nothing made pods for the component before it was gone."""
        last = self._memory.known(appwrapper_uid).deleted.get((group_kind, name))
        return last is not None and last.idle and last.attempt == str(attempt)

    def find_left(self, appwrapper_uid: str) -> None:
        """Record that something remains: `clear_since` begins again."""
        self.known(appwrapper_uid).clear_since = None

    def end(self, appwrapper_uid: str, cached: Collection[str] = ()) -> None:
        """Forget a finished deletion, but not whether all pods of the attempt existed.

        `cached`: the UIDs of deleted objects that a cache still shows.
        """
        remembered = self._memory.known(appwrapper_uid)
        complete = self.known(appwrapper_uid).complete
        worth = complete is not None or cached
        # In the memory of an AppWrapper that is gone meanwhile, this is dropped.
        remembered.deletion = Deletion(complete=complete, absent=set(cached)) if worth else None
