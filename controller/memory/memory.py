"""The process's memory of each AppWrapper, dropped by one `forget` when the AppWrapper is gone.

The memory is empty after a restart. The controller then waits longer or repeats a request, never
the opposite.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from controller.facts.components import ComponentFacts
from controller.facts.failed_pods import SeenFailures
from controller.facts.observe import Observation
from controller.facts.pods import Pod
from controller.memory.deletions import Deletion, Deletions
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import CreateProblem
from controller.reports.report import ConditionReport


@dataclass(slots=True)
class Deployment:
    """An attempt. `created`: the UIDs of the objects created or adopted, by component index.

    `seen`: the same of objects that this process did not create. `problem`: why the last create
    failed; None after a success. `failures`: how many creates failed in a row.
    """

    attempt: int
    created: dict[int, str] = field(default_factory=dict)
    seen: dict[int, str] = field(default_factory=dict)
    problem: CreateProblem | None = None
    failures: int = 0


@dataclass(frozen=True, slots=True)
class _Period:
    """An admission period, which begins again when pods are lost, and its result."""

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
    """The memory of one AppWrapper.

    `annotation_warnings`: the warnings that were emitted and still apply.
    `deleted`: the last state of each component whose DELETED event arrived, by group/Kind and name.
    `evacuated_since`: the monotonic time at which the label that caused the current evacuation was
    seen; None once the new pods run.
    `entered`: the phase that this process moved it to, and the monotonic time of that.
    `preemptors`: the names of the Workloads that Kueue's present texts name, by UIDs.
    `first_seen`: when a pass first found it without a phase.
    """

    deployment: Deployment | None = None
    deletion: Deletion | None = None
    period: _Period | None = None
    annotation_warnings: frozenset[str] = frozenset()
    measured: Measured | None = None
    evacuated_since: float | None = None
    entered: tuple[Phase, float] | None = None
    deleted: dict[tuple[str, str], ComponentFacts] = field(default_factory=dict)
    successes: dict[str, Pod] = field(default_factory=dict)  # by UID; written by Sightings
    failures: SeenFailures | None = None
    root_cause: tuple[int, RootCause] | None = None  # the last one, with its attempt
    reported: Mapping[str, ConditionReport] = field(default_factory=dict)  # the last by condition
    preemptors: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    first_seen: datetime | None = None


# Deleted pods that are remembered of one AppWrapper: users can create any number of pods.
MOST_SUCCESSES: Final = 5000
# Gone AppWrappers whose UIDs are known. A pass outlasts its AppWrapper by seconds, if at all.
_MOST_GONE: Final = 2000

Forget = Callable[[str, tuple[str, str]], None]


class Memory:
    """The memory by AppWrapper UID. `creations`, `deletions` and `sightings` access parts of it."""

    def __init__(self) -> None:
        self._known: dict[str, Remembered] = {}
        self._gone: dict[int, None] = {}  # hashes of UIDs, the oldest first
        self._forgetters: list[Forget] = []
        self.creations = Creations(self)
        self.deletions = Deletions(self)
        self.sightings = Sightings(self)

    def of(self, uid: str) -> Remembered:
        """Return the memory of an AppWrapper for writing; a passing one if it is gone.

        A pass, or a request in it, may outlast its AppWrapper.
        """
        if hash(uid) in self._gone:
            return Remembered()
        return self._known.setdefault(uid, Remembered())

    def known(self, uid: str) -> Remembered:
        """Return the memory of an AppWrapper for reading: an empty one if nothing is stored."""
        return self._known.get(uid) or Remembered()

    def all(self) -> Collection[Remembered]:
        """Return what is remembered of each AppWrapper."""
        return self._known.values()

    def awaits_first_pod(self, uid: str) -> bool:
        """True if the time to the attempt's first running pod is measured and no pod ran yet."""
        measured = self.known(uid).measured
        return measured is not None and measured.first_pod is None

    def on_forget(self, forget: Forget) -> None:
        """Register a function to call with the UID and key of each forgotten AppWrapper."""
        self._forgetters.append(forget)

    def forget(self, uid: str, key: tuple[str, str]) -> None:
        """Forget an AppWrapper that is gone. Its UID is never used again."""
        self._known.pop(uid, None)
        self._gone[hash(uid)] = None
        if len(self._gone) > _MOST_GONE:
            del self._gone[next(iter(self._gone))]
        for forget in self._forgetters:
            forget(uid, key)


class Creations:
    """The results of this process's creates in the latest attempt.

    The creator writes it and the gatherer reads it, so a result reaches the next decision without
    its own status write. After a restart the names in status and the objects show the same, a
    little later.
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def latest(self, uid: str) -> int:
        """Return the number of the remembered attempt; 0 if there is none."""
        deployment = self._memory.known(uid).deployment
        return deployment.attempt if deployment else 0

    def is_replaced(self, uid: str, attempt: int, index: int, object_uid: str) -> bool:
        """True if another client replaced the running component by this object.

        If an earlier process created it, the first object that this process sees is the right one.
        """
        if self.latest(uid) > attempt:  # the status lost the number; keep what is known
            return False
        made = self.known(uid, attempt).created.get(index)
        right = made or self._of(uid, attempt).seen.setdefault(index, object_uid)
        return right != object_uid

    def record_success(self, uid: str, attempt: int, index: int, object_uid: str) -> None:
        deployment = self._of(uid, attempt)
        deployment.created[index] = object_uid
        deployment.problem = None
        deployment.failures = 0

    def record_problem(self, uid: str, attempt: int, problem: CreateProblem) -> None:
        deployment = self._of(uid, attempt)
        deployment.problem = problem
        deployment.failures += 1

    def known(self, uid: str, attempt: int) -> Deployment:
        """Return the memory of that attempt for reading: an empty one if nothing is stored."""
        known = self._memory.known(uid).deployment
        return known if known and known.attempt == attempt else Deployment(attempt)

    def _of(self, uid: str, attempt: int) -> Deployment:
        remembered = self._memory.of(uid)
        remembered.deployment = self.known(uid, attempt)
        return remembered.deployment


class Sightings:
    """Observations of the current attempt.

    A restart only makes the controller wait longer, never shorter.
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def first_seen(self, uid: str, now: datetime) -> datetime:
        """Return when a pass first saw it: now at the first call, or if the clock was set back."""
        remembered = self._memory.of(uid)
        remembered.first_seen = min(remembered.first_seen or now, now)
        return remembered.first_seen

    def see_success(self, pod: Pod) -> None:
        """Remember a pod that succeeded before its deletion was requested."""
        successes = self._memory.of(pod.appwrapper_uid).successes
        if len(successes) < MOST_SUCCESSES:
            successes[pod.uid] = pod

    def successes(self, uid: str, phase: Phase) -> tuple[Pod, ...]:
        """Return the remembered successful pods. Forget them if the attempt has ended."""
        known = self._memory.known(uid).successes
        if phase not in (Phase.RESUMING, Phase.RUNNING):
            known.clear()
        return tuple(known.values())

    def see_failure(self, pod: Pod) -> None:
        """Remember a pod that failed before its deletion was requested."""
        remembered = self._memory.of(pod.appwrapper_uid)
        remembered.failures = remembered.failures or SeenFailures()
        remembered.failures.add(pod)

    def failures(self, uid: str, phase: Phase) -> tuple[Pod, ...]:
        """Return the remembered failed pods. Forget them if the attempt has ended."""
        remembered = self._memory.known(uid)
        if phase not in (Phase.RESUMING, Phase.RUNNING):
            remembered.failures = None
        return tuple(remembered.failures or ())

    def with_history(self, observation: Observation) -> Observation:
        """Return the observation with `pods_fell` and `healed`, which need earlier observations.

        A process that starts during an attempt assumes that all pods existed. Missing pods then get
        the whole admission and warm-up periods from now on. Otherwise a pod that was replaced
        during the restart would be late at once. A failure recorded in status remains.
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
            # Pods that are created in stages may have reached the next stage during the restart.
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
