"""What this process asked to go, and what came of it: a memory, not a record.

The deleter writes it and the gatherer reads it. After a restart it is empty: then everything is
asked for once more, and looked at anew.
"""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was last found in the way of a deletion, and when. `forcing`: its patience was over.

    `silent_nodes` are those of its pods' nodes that cannot end them.
    """

    at: datetime
    forcing: bool
    blockers: tuple[str, ...]
    forced_off: tuple[str, ...]
    silent_nodes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forced:
    """How often a delete that shall be the last was sent; the last at that monotonic moment.

    `patience`: for how many seconds its node may go on with it.
    """

    times: int
    at: float
    patience: float = 0.0


@dataclass(slots=True)
class _Deletion:
    accepted: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    forced: dict[str, Forced] = field(default_factory=dict)
    told: Explanation | None = None
    complete: int | None = None  # the attempt of which all pods were seen
    clear_since: datetime | None = None


class Deletions:
    """By AppWrapper UID; within that by the UID of what is to go."""

    def __init__(self) -> None:
        self._deletions: dict[str, _Deletion] = {}

    def accept(self, appwrapper_uid: str, uid: str) -> None:
        """The API server took the delete: it need not be sent again."""
        deletion = self._of(appwrapper_uid)
        deletion.accepted.add(uid)
        deletion.refused.pop(uid, None)

    def is_accepted(self, appwrapper_uid: str, uid: str) -> bool:
        """The API server took the delete once."""
        known = self._deletions.get(appwrapper_uid)
        return known is not None and uid in known.accepted

    def find_absent(self, appwrapper_uid: str, uid: str) -> None:
        """There is no object of that UID, says the API server. A watch may yet have to tell."""
        self._of(appwrapper_uid).absent.add(uid)

    def is_absent(self, appwrapper_uid: str, uid: str) -> bool:
        """A delete was answered with "not found". That is no proof, but a reason to look."""
        known = self._deletions.get(appwrapper_uid)
        return known is not None and uid in known.absent

    def refuse(self, appwrapper_uid: str, uid: str, message: str) -> None:
        """The API server, or a webhook it asks, does not let it go."""
        self._of(appwrapper_uid).refused[uid] = message

    def refusal(self, appwrapper_uid: str, uid: str) -> str:
        """Why it was last refused; empty if it was not."""
        known = self._deletions.get(appwrapper_uid)
        return known.refused.get(uid, "") if known else ""

    def force(self, appwrapper_uid: str, uid: str, moment: float, *, patience: float = 0.0) -> None:
        """A delete that shall be the last was sent at that moment of the monotonic clock."""
        known = self.forced(appwrapper_uid, uid)
        times = known.times if known else 0
        self._of(appwrapper_uid).forced[uid] = Forced(times + 1, moment, patience)

    def forced(self, appwrapper_uid: str, uid: str) -> Forced | None:
        """The deletes so far that were to be the last; None without any."""
        known = self._deletions.get(appwrapper_uid)
        return known.forced.get(uid) if known else None

    def tell(self, appwrapper_uid: str, told: Explanation | None) -> None:
        """What was found in the way; None once nothing is."""
        if told is not None or appwrapper_uid in self._deletions:
            self._of(appwrapper_uid).told = told

    def told(self, appwrapper_uid: str) -> Explanation | None:
        """What was last found in the way."""
        known = self._deletions.get(appwrapper_uid)
        return known.told if known else None

    def see_complete(self, appwrapper_uid: str, attempt: int) -> None:
        """All pods of that attempt were there, so nobody is in the middle of making them."""
        self._of(appwrapper_uid).complete = attempt

    def was_complete(self, appwrapper_uid: str, attempt: int) -> bool:
        """All pods of that attempt were seen."""
        known = self._deletions.get(appwrapper_uid)
        return known is not None and known.complete == attempt

    def clear_since(self, appwrapper_uid: str, now: datetime) -> datetime:
        """Since when every look found nothing; `now` was such a look."""
        deletion = self._of(appwrapper_uid)
        if deletion.clear_since is None or deletion.clear_since > now:
            deletion.clear_since = now
        return deletion.clear_since

    def find_left(self, appwrapper_uid: str) -> None:
        """A look found something."""
        if appwrapper_uid in self._deletions:
            self._of(appwrapper_uid).clear_since = None

    def end(self, appwrapper_uid: str) -> None:
        """All that was to go is gone. What was seen of the attempt stays true."""
        known = self._deletions.pop(appwrapper_uid, None)
        if known is not None and known.complete is not None:
            self.see_complete(appwrapper_uid, known.complete)

    def forget(self, appwrapper_uid: str) -> None:
        """The AppWrapper is gone."""
        self._deletions.pop(appwrapper_uid, None)

    def _of(self, appwrapper_uid: str) -> _Deletion:
        return self._deletions.setdefault(appwrapper_uid, _Deletion())
