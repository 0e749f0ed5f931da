"""What this process has seen of each AppWrapper's current attempt: a memory, not a record.

After a restart it is empty. Each question is answered so that forgetting makes the controller more
patient, never less.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.observation import Observation
from controller.phases.phase import Phase


@dataclass(slots=True)
class _Attempt:
    number: int
    uids: dict[int, str] = field(default_factory=dict)  # of the components' objects, by index


@dataclass(frozen=True, slots=True)
class _Period:
    """An admission period, which begins anew when pods are lost, and what came of it."""

    attempt: int
    began: datetime | None
    complete: bool


class Sightings:
    """By AppWrapper UID."""

    def __init__(self) -> None:
        self._attempts: dict[str, _Attempt] = {}
        self._periods: dict[str, _Period] = {}

    def is_another(self, uid: str, attempt: int, index: int, object_uid: str) -> bool:
        """The object is not the one that was first seen as that component in that attempt.

        So somebody deleted that one and made this under its name. The first to be seen after a
        restart is taken for the right one.
        """
        seen = self._attempts.get(uid)
        if seen is None or seen.number != attempt:
            seen = self._attempts[uid] = _Attempt(attempt)
        return seen.uids.setdefault(index, object_uid) != object_uid

    def look(self, observation: Observation) -> Observation:
        """The same, with `pods_were_complete`.

        A process that begins in the middle of a run cannot know. It takes the pods for complete, so
        that what is missing gets its whole admission and warm-up period from now on; otherwise a
        pod that was replaced while nobody looked would be late from its first moment.
        """
        snapshot = observation.snapshot
        if snapshot.phase not in (Phase.RESUMING, Phase.RUNNING):
            return observation
        uid, attempt = observation.appwrapper.uid, observation.appwrapper.attempt
        began = snapshot.timers.admission
        known = self._periods.get(uid)
        if known is None:
            complete = snapshot.phase is Phase.RUNNING
        else:
            complete = known.complete and (known.attempt, known.began) == (attempt, began)
        complete = complete or snapshot.pods.existing >= snapshot.pods.expected
        self._periods[uid] = _Period(attempt, began, complete)
        return replace(observation, snapshot=replace(snapshot, pods_were_complete=complete))

    def forget(self, uid: str) -> None:
        """The AppWrapper is gone."""
        self._attempts.pop(uid, None)
        self._periods.pop(uid, None)
