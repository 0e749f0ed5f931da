"""What the process remembers of each AppWrapper, and forgets with it: one memory, one `forget`.

It is a memory, not a record. After a restart it is empty, and then the controller is more patient
or asks once more, never the opposite.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from controller.deletion_memory import Deletion, Deletions
from controller.facts.components import ComponentFacts
from controller.facts.failures import SeenFailures
from controller.facts.observe import Observation
from controller.facts.pods import Pod
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import CreateProblem


@dataclass(slots=True)
class _Deployment:
    attempt: int
    created: dict[int, str] = field(default_factory=dict)  # index → UID of the object
    problem: CreateProblem | None = None
    failures: int = 0


@dataclass(slots=True)
class _Attempt:
    number: int
    uids: dict[int, str] = field(default_factory=dict)  # of the components' objects, by index


@dataclass(frozen=True, slots=True)
class _Period:
    """An admission period, which begins anew when pods are lost, and what came of it."""

    attempt: int
    began: datetime | None
    wanted: int = 0
    complete: bool = False
    fell: bool = False


@dataclass(slots=True)
class Measured:
    """Moments of the monotonic clock in the life of an attempt."""

    began: float
    first_pod: float | None = None


@dataclass(slots=True)
class Remembered:
    """What the process remembers of one AppWrapper; every field is forgotten with it.

    `annotation_warnings`: the warnings that were emitted and still apply.
    `deleted`: the last state of each component whose DELETED event arrived, by group/Kind and name.
    `owners`: by UID of a pod's owner, the end of its owner chain; empty if the pods count.
    `evacuated_since`: when the node's label was seen that caused the evacuation, in monotonic
    seconds, until the new pods run.
    """

    deployment: _Deployment | None = None
    deletion: Deletion | None = None
    attempt: _Attempt | None = None
    period: _Period | None = None
    annotation_warnings: frozenset[str] = frozenset()
    measured: Measured | None = None
    evacuated_since: float | None = None
    deleted: dict[tuple[str, str], ComponentFacts] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    successes: dict[str, Pod] = field(default_factory=dict)  # by UID; see Sightings
    failures: SeenFailures | None = None
    root_cause: tuple[int, RootCause] | None = None  # the last one, with its attempt


# Pods of one AppWrapper that are remembered when they are gone. Who may make pods may make many.
MOST_SUCCESSES: Final = 5000

Forget = Callable[[str, tuple[str, str]], None]


class Memory:
    """By AppWrapper UID. `creations`, `deletions` and `sightings` ask and tell of parts of it."""

    def __init__(self) -> None:
        self._known: dict[str, Remembered] = {}
        self._others: list[Forget] = []
        self.creations = Creations(self)
        self.deletions = Deletions(self)
        self.sightings = Sightings(self)

    def of(self, uid: str) -> Remembered:
        """To be added to."""
        return self._known.setdefault(uid, Remembered())

    def known(self, uid: str) -> Remembered:
        """To be read. Where nothing is remembered it is a blank one, which nobody keeps."""
        return self._known.get(uid) or Remembered()

    def awaits_first_pod(self, uid: str) -> bool:
        """It is measured how long an attempt takes until its first pod runs, and none did yet."""
        measured = self.known(uid).measured
        return measured is not None and measured.first_pod is None

    def object_uids(self, uid: str) -> set[str]:
        """The UIDs of components that this process made, or saw, also of those that are gone."""
        known = self.known(uid)
        return {
            *(known.deployment.created.values() if known.deployment else ()),
            *(known.attempt.uids.values() if known.attempt else ()),
            *(each.uid for each in known.deleted.values()),
        }

    def tell_others(self, forget: Forget) -> None:
        """`forget` is called with whatever is forgotten: for what cannot be told by AppWrapper."""
        self._others.append(forget)

    def forget(self, uid: str, key: tuple[str, str]) -> None:
        """The AppWrapper is gone."""
        self._known.pop(uid, None)
        for forget in self._others:
            forget(uid, key)


class Creations:
    """What this process created, and what it could not create, of the latest attempt alone.

    The applier writes it and the gatherer reads it, so that the outcome of a create reaches the
    next decision without a status write of its own. After a restart the write-ahead in status and
    the objects themselves say the same, a little later.
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def latest(self, uid: str) -> int:
        """The number of the attempt that is remembered; 0 where none is."""
        deployment = self._memory.known(uid).deployment
        return deployment.attempt if deployment else 0

    def created(self, uid: str, attempt: int, index: int) -> bool:
        """The component of that index was created, or adopted, in that attempt."""
        deployment = self._memory.known(uid).deployment
        return (
            deployment is not None and deployment.attempt == attempt and index in deployment.created
        )

    def object_uid(self, uid: str, attempt: int, index: int) -> str | None:
        """The UID of what was created, or adopted, as that component in that attempt."""
        deployment = self._memory.known(uid).deployment
        if deployment is None or deployment.attempt != attempt:
            return None
        return deployment.created.get(index)

    def problem(self, uid: str, attempt: int) -> CreateProblem | None:
        """Why the last create of that attempt failed; None after a success."""
        deployment = self._memory.known(uid).deployment
        return deployment.problem if deployment and deployment.attempt == attempt else None

    def failures(self, uid: str, attempt: int) -> int:
        """How many creates of that attempt failed in a row."""
        deployment = self._memory.known(uid).deployment
        return deployment.failures if deployment and deployment.attempt == attempt else 0

    def record_success(self, uid: str, attempt: int, index: int, object_uid: str) -> None:
        """The component is there."""
        deployment = self._of(uid, attempt)
        deployment.created[index] = object_uid
        deployment.problem = None
        deployment.failures = 0

    def record_problem(self, uid: str, attempt: int, problem: CreateProblem) -> None:
        """A create failed."""
        deployment = self._of(uid, attempt)
        deployment.problem = problem
        deployment.failures += 1

    def _of(self, uid: str, attempt: int) -> _Deployment:
        remembered = self._memory.of(uid)
        if remembered.deployment is None or remembered.deployment.attempt != attempt:
            remembered.deployment = _Deployment(attempt)
        return remembered.deployment


class Sightings:
    """What this process has seen of the current attempt.

    Each question is answered so that forgetting makes the controller more patient, never less.
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def is_another(self, uid: str, attempt: int, index: int, object_uid: str) -> bool:
        """The object is not the one that was first seen as that component in that attempt.

        So somebody deleted that one and made this under its name. The first to be seen after a
        restart is taken for the right one.
        """
        remembered = self._memory.of(uid)
        if remembered.attempt is None or remembered.attempt.number != attempt:
            remembered.attempt = _Attempt(attempt)
        return remembered.attempt.uids.setdefault(index, object_uid) != object_uid

    def see_success(self, pod: Pod) -> None:
        """It ended well, nobody had asked for its deletion, and now it goes, or is gone."""
        successes = self._memory.of(pod.appwrapper_uid).successes
        if len(successes) < MOST_SUCCESSES:
            successes[pod.uid] = pod

    def successes(self, uid: str, phase: Phase) -> tuple[Pod, ...]:
        """The pods of which that is known, while they matter. Those of a run that ended do not."""
        known = self._memory.known(uid).successes
        if phase not in (Phase.RESUMING, Phase.RUNNING):
            known.clear()
        return tuple(known.values())

    def see_failure(self, pod: Pod) -> None:
        """It failed before anybody deleted it, and now it goes, or is gone."""
        remembered = self._memory.of(pod.appwrapper_uid)
        remembered.failures = remembered.failures or SeenFailures()
        remembered.failures.add(pod)

    def failures(self, uid: str, phase: Phase) -> tuple[Pod, ...]:
        """The pods of which that is known. What goes once the attempt has ended is no evidence."""
        remembered = self._memory.known(uid)
        if phase not in (Phase.RESUMING, Phase.RUNNING):
            remembered.failures = None
        return tuple(remembered.failures or ())

    def look(self, observation: Observation) -> Observation:
        """The same, with `pods_fell` and `healed`.

        A process that begins in the middle of a run cannot know. It takes the pods for complete, so
        that what is missing gets its whole admission and warm-up period from now on; otherwise a
        pod that was replaced while nobody looked would be late from its first moment. Trouble that
        is on record already stays what it was.
        """
        snapshot = observation.snapshot
        if snapshot.phase not in (Phase.RESUMING, Phase.RUNNING):
            return observation
        remembered = self._memory.of(observation.appwrapper.uid)
        pods = snapshot.pods
        now = _Period(observation.appwrapper.attempt, snapshot.timers.admission, pods.wanted)
        known = remembered.period
        if known is None:
            undisturbed = snapshot.phase is Phase.RUNNING and snapshot.timers.failure is None
            # What is made in stages may have come to another one while nobody looked.
            later = undisturbed and pods.staged and pods.ready < pods.wanted
            known = replace(now, complete=undisturbed, fell=later)
        elif known.attempt != now.attempt:
            known = now
        elif known.began != now.began:
            known = replace(now, wanted=known.wanted)
        all_there = pods.existing >= pods.wanted
        more = pods.wanted > known.wanted
        fell = known.fell or more or (known.complete and not all_there)
        remembered.period = replace(now, complete=known.complete or all_there, fell=fell)
        healed = self._healed(observation, remembered)
        return replace(observation, snapshot=replace(snapshot, pods_fell=fell, healed=healed))

    def _healed(self, observation: Observation, remembered: Remembered) -> RootCause | None:
        attempt, found = observation.appwrapper.attempt, observation.snapshot.root_cause
        if found is not None:
            remembered.root_cause = attempt, found
            return None
        known = remembered.root_cause
        return known[1] if known is not None and known[0] == attempt else None
