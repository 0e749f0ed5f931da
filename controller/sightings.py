"""What this process has seen of each AppWrapper's current attempt: a memory, not a record.

After a restart it is empty. Each question is answered so that forgetting makes the controller more
patient, never less.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.facts.observation import Observation
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
    complete: bool = False
    fell: bool = False


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
        """The same, with `pods_fell`.

        A process that begins in the middle of a run cannot know. It takes the pods for complete, so
        that what is missing gets its whole admission and warm-up period from now on; otherwise a
        pod that was replaced while nobody looked would be late from its first moment. Trouble that
        is on record already stays what it was.
        """
        snapshot = observation.snapshot
        if snapshot.phase not in (Phase.RESUMING, Phase.RUNNING):
            return observation
        uid = observation.appwrapper.uid
        now = _Period(observation.appwrapper.attempt, snapshot.timers.admission)
        known = self._periods.get(uid)
        if known is None:
            undisturbed = snapshot.phase is Phase.RUNNING and snapshot.timers.failure is None
            known = replace(now, complete=undisturbed)
        elif (known.attempt, known.began) != (now.attempt, now.began):
            known = now
        all_there = snapshot.pods.existing >= snapshot.pods.expected
        fell = known.fell or (known.complete and not all_there)
        self._periods[uid] = replace(now, complete=known.complete or all_there, fell=fell)
        return replace(observation, snapshot=replace(snapshot, pods_fell=fell))

    def forget(self, uid: str) -> None:
        """The AppWrapper is gone."""
        self._attempts.pop(uid, None)
        self._periods.pop(uid, None)
