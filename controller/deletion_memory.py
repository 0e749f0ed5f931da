"""What this process asked to go, and what came of it, as a part of its memory."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller.memory import Memory


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
class Deletion:
    accepted: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    forced: dict[str, Forced] = field(default_factory=dict)
    told: Explanation | None = None
    complete: int | None = None  # the attempt of which all pods were seen
    clear_since: datetime | None = None
    makers: bool = False  # without its component something was left that made its pods


class Deletions:
    """What this process asked to go, and what came of it; by the UID of what is to go.

    The deleter writes it and the gatherer reads it. After a restart everything is asked for once
    more, and looked at anew.
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def accept(self, appwrapper_uid: str, uid: str) -> None:
        """The API server took the delete: it need not be sent again."""
        deletion = self._of(appwrapper_uid)
        deletion.accepted.add(uid)
        deletion.refused.pop(uid, None)

    def is_accepted(self, appwrapper_uid: str, uid: str) -> bool:
        """The API server took the delete once."""
        known = self._memory.known(appwrapper_uid).deletion
        return known is not None and uid in known.accepted

    def find_absent(self, appwrapper_uid: str, uid: str) -> None:
        """There is no object of that UID, says the API server. A watch may yet have to tell."""
        self._of(appwrapper_uid).absent.add(uid)

    def is_absent(self, appwrapper_uid: str, uid: str) -> bool:
        """A delete was answered with "not found". That is no proof, but a reason to look."""
        known = self._memory.known(appwrapper_uid).deletion
        return known is not None and uid in known.absent

    def refuse(self, appwrapper_uid: str, uid: str, message: str) -> None:
        """The API server, or a webhook it asks, does not let it go."""
        self._of(appwrapper_uid).refused[uid] = message

    def refusal(self, appwrapper_uid: str, uid: str) -> str:
        """Why it was last refused; empty if it was not."""
        known = self._memory.known(appwrapper_uid).deletion
        return known.refused.get(uid, "") if known else ""

    def force(self, appwrapper_uid: str, uid: str, moment: float, *, patience: float = 0.0) -> None:
        """A delete that shall be the last was sent at that moment of the monotonic clock."""
        known = self.forced(appwrapper_uid, uid)
        times = known.times if known else 0
        self._of(appwrapper_uid).forced[uid] = Forced(times + 1, moment, patience)

    def forced(self, appwrapper_uid: str, uid: str) -> Forced | None:
        """The deletes so far that were to be the last; None without any."""
        known = self._memory.known(appwrapper_uid).deletion
        return known.forced.get(uid) if known else None

    def tell(self, appwrapper_uid: str, told: Explanation | None) -> None:
        """What was found in the way; None once nothing is."""
        if told is not None or self._memory.known(appwrapper_uid).deletion:
            self._of(appwrapper_uid).told = told

    def told(self, appwrapper_uid: str) -> Explanation | None:
        """What was last found in the way."""
        known = self._memory.known(appwrapper_uid).deletion
        return known.told if known else None

    def see_complete(self, appwrapper_uid: str, attempt: int) -> None:
        """All pods of that attempt were there, so nobody is in the middle of making them."""
        self._of(appwrapper_uid).complete = attempt

    def was_complete(self, appwrapper_uid: str, attempt: int) -> bool:
        """All pods of that attempt were seen."""
        known = self._memory.known(appwrapper_uid).deletion
        return known is not None and known.complete == attempt

    def clear_since(self, appwrapper_uid: str, now: datetime) -> datetime:
        """Since when every look found nothing; `now` was such a look."""
        deletion = self._of(appwrapper_uid)
        if deletion.clear_since is None or deletion.clear_since > now:
            deletion.clear_since = now
        return deletion.clear_since

    def was_announced(self, appwrapper_uid: str, attempt: int, group_kind: str, name: str) -> bool:
        """The component was seen on its way out before it was gone.

        The Go operator counted no attempts.
        """
        last = self._memory.known(appwrapper_uid).deleted.get((group_kind, name))
        return last is not None and last.deleting and last.attempt in ("", str(attempt))

    def find_makers(self, appwrapper_uid: str) -> None:
        """Something was left that made the pods of a component that is gone."""
        self._of(appwrapper_uid).makers = True

    def had_makers(self, appwrapper_uid: str) -> bool:
        """The same, in this deletion."""
        known = self._memory.known(appwrapper_uid).deletion
        return known is not None and known.makers

    def find_left(self, appwrapper_uid: str) -> None:
        """A look found something."""
        known = self._memory.known(appwrapper_uid).deletion
        if known is not None:
            known.clear_since = None

    def end(self, appwrapper_uid: str) -> None:
        """All that was to go is gone. What was seen of the attempt stays true."""
        remembered = self._memory.known(appwrapper_uid)
        complete = remembered.deletion.complete if remembered.deletion else None
        remembered.deletion = None if complete is None else Deletion(complete=complete)

    def _of(self, appwrapper_uid: str) -> Deletion:
        remembered = self._memory.of(appwrapper_uid)
        if remembered.deletion is None:
            remembered.deletion = Deletion()
        return remembered.deletion
