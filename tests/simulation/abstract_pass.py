"""One pass of the controller in the tiny environment: facts, `decide`, and the calls of its plan.

Everything between the objects and the calls is the product's own code. This module repeats the
applier's order: the finalizer, the status, then what the status announces.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final

import orjson

from controller.apply.status import status_after
from controller.facts.component_status import deployed_status, with_sound_record
from controller.facts.components import project_component
from controller.facts.observe import (
    Observation,
    Reads,
    locate_from,
    observe,
    presence_of,
)
from controller.facts.own_status import read_status
from controller.facts.pods import Pod as PodFacts
from controller.facts.pods import project_pod
from controller.phases import decide
from controller.phases.actions import (
    Action,
    Actions,
    AddFinalizer,
    CreateComponents,
    DeleteComponents,
    DeletionMode,
    MoveTo,
    RemoveFinalizer,
    WakeAfter,
)
from controller.phases.ask import Ask, Need
from controller.phases.decide import next_step
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, FaultTolerance, Presence
from shared.api.appwrapper import AppWrapper
from shared.api.names import (
    FINALIZER,
    LABEL_APPWRAPPER,
    LABEL_ATTEMPT,
    LABEL_COMPONENT,
    LABEL_UID,
)
from shared.api.objects import SECRETS, JsonObject
from shared.api.times import format_precise_time
from shared.kinds.job import JOBS
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job_of
from tests.support.builders.pods import pod_template

NOW: Final = datetime(2026, 1, 31, tzinfo=UTC)
# Every period that began then is over; every period that begins now is not.
FRESH: Final = format_precise_time(NOW)
_LONG_AGO: Final = NOW - timedelta(days=30)
OVER: Final = format_precise_time(_LONG_AGO)
RETRY_LIMIT: Final = 1
KINDS: Final = ("Secret", "Job")  # in the order of creation
JOB: Final = KINDS.index("Job")
PODS: Final = 2  # of the Job
CONFIG: Final = FaultTolerance(retry_limit=RETRY_LIMIT)
_TEAM, _NAME, _UID = "team", "train", "uid-1"


class JobState(StrEnum):
    """The Job's own report."""

    ACTIVE = "active"
    COMPLETE = "complete"
    FAILED = "failed"


class PodState(StrEnum):
    """The phase of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, order=True)
class Made:
    """The object of the component `index` in an attempt. A Secret is always active."""

    attempt: int
    index: int
    state: JobState = JobState.ACTIVE
    deleting: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Pod:
    """A pod of the Job of that attempt. Pods of one Job are alike."""

    attempt: int
    state: PodState
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a pass reads, and what the process remembers."""

    status: bytes
    suspend: bool
    admitted: bool
    deleting: bool
    finalizer: bool
    made: tuple[Made, ...]
    pods: tuple[Pod, ...]
    created: frozenset[int]
    waited: bool = False


# The calls of a plan, in their order. The last call sets when the next pass is due.


@dataclass(frozen=True, slots=True)
class KeepUntilGone:
    """Add the finalizer."""

    def __str__(self) -> str:
        return "the finalizer is added"


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Write the status with the version that was read."""

    status: bytes

    def __str__(self) -> str:
        status = orjson.loads(self.status)
        true = [each["type"] for each in status.get("conditions") or [] if each["status"] == "True"]
        return f"status: {status.get('phase')}, attempt {status.get('attempt', 0)}, {true}"


@dataclass(frozen=True, slots=True)
class Create:
    """Create the object of a component."""

    attempt: int
    index: int

    def __str__(self) -> str:
        return f"the {KINDS[self.index]} of attempt {self.attempt} is created"


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object of a component in the foreground."""

    attempt: int
    index: int

    def __str__(self) -> str:
        return f"the {KINDS[self.index]} of attempt {self.attempt} is deleted"


@dataclass(frozen=True, slots=True)
class RemovePods:
    """Delete every pod of an attempt; with `force` at once."""

    attempt: int
    force: bool

    def __str__(self) -> str:
        return f"the pods of attempt {self.attempt} are {'forced' if self.force else 'deleted'}"


@dataclass(frozen=True, slots=True)
class LetGo:
    """Remove the finalizer."""

    def __str__(self) -> str:
        return "the finalizer is removed"


@dataclass(frozen=True, slots=True)
class Wait:
    """The decision asks for another pass after so many seconds."""

    seconds: float

    def __str__(self) -> str:
        return f"the pass ends; another one in {self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Finish:
    """Only a change causes another pass."""

    def __str__(self) -> str:
        return "the pass ends"


Effect = KeepUntilGone | WriteStatus | Create | Delete | RemovePods | LetGo | Wait | Finish


@lru_cache(maxsize=200_000)
def plan_of(seen: Seen) -> tuple[Effect, ...]:
    """Return the calls of a pass that reads this; () if it changes nothing and asks for nothing."""
    item = _appwrapper(seen)
    observation = _observed(with_sound_record(AppWrapper(item)), seen)
    actions = decide(observation.snapshot, NOW, CONFIG)
    if not actions:
        return ()
    status = status_after(observation.appwrapper, observation.snapshot.timers, actions, NOW)
    effects: list[Effect] = []
    if AddFinalizer() in actions:
        effects.append(KeepUntilGone())
    if status != observation.appwrapper.status:
        effects.append(WriteStatus(orjson.dumps(status, option=orjson.OPT_SORT_KEYS)))
    for action in actions:
        effects += _calls(action, observation, seen, status.get("attempt") or 0)
    return (*effects, _rest(actions))


def _calls(action: Action, observation: Observation, seen: Seen, attempt: int) -> Iterator[Effect]:
    match action:
        case CreateComponents():
            fresh = attempt != observation.appwrapper.attempt
            for index in range(len(KINDS)):
                if fresh or observation.snapshot.components[index].presence is Presence.PLANNED:
                    yield Create(attempt, index)
        case DeleteComponents(mode):
            yield from _deletes(mode, observation, seen)
        case RemoveFinalizer():
            yield LetGo()
        case _:
            pass


def _deletes(mode: DeletionMode, observation: Observation, seen: Seen) -> Iterator[Effect]:
    current = observation.appwrapper.attempt
    match mode:
        case DeletionMode.GRACEFUL:
            for each in seen.made:
                if each.attempt == current and not each.deleting:
                    yield Delete(each.attempt, each.index)
            if observation.snapshot.stray_pods:
                yield RemovePods(current, force=False)
        case DeletionMode.FORCE_PODS:
            yield RemovePods(current, force=True)
        case _:
            pass  # the Job is being deleted already; helpers and stragglers do not exist here


def _rest(actions: Actions) -> Effect:
    """Return when the next pass is due, as the applier does."""
    asked = next((each.delay for each in actions if isinstance(each, WakeAfter)), None)
    if asked is not None:
        return Wait(asked.total_seconds())
    return Wait(0) if any(isinstance(each, MoveTo) for each in actions) else Finish()


# The objects, and the facts that the product reads from them.

_SECRET: Final = {"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": "secret-"}}
_JOB: Final = {**job_of("", pod_template(), PODS), "metadata": {"generateName": "job-"}}
_STORED: Final = appwrapper(_NAME, _SECRET, _JOB, namespace=_TEAM, uid=_UID, resourceVersion="1")
_RESOURCES: Final = (SECRETS, JOBS)


def _appwrapper(seen: Seen) -> JsonObject:
    secret, job = _STORED["spec"]["components"]
    metadata = {
        **_STORED["metadata"],
        "finalizers": [FINALIZER] if seen.finalizer else [],
        **({"deletionTimestamp": FRESH} if seen.deleting else {}),
    }
    admitted = {**job, "podSetInfos": [{}]} if seen.admitted else job
    spec = {"suspend": seen.suspend, "components": [secret, admitted]}
    return {**_STORED, "metadata": metadata, "spec": spec, "status": orjson.loads(seen.status)}


def _observed(appwrapper: AppWrapper, seen: Seen) -> Observation:
    """Return what the gatherer returns if every cache is up to date."""
    status = read_status(appwrapper, NOW)
    if status.phase is Phase.EMPTY:
        status = replace(status, waits_since=_LONG_AGO if seen.waited else NOW)
    blank = Observation(appwrapper, replace(status, unread=frozenset(Need)), CONFIG)
    step = next_step(blank.snapshot, NOW, CONFIG)
    while isinstance(step, Ask):
        blank = _answered(blank, step.need, seen)
        step = next_step(blank.snapshot, NOW, CONFIG)
    return blank


def _answered(found: Observation, need: Need, seen: Seen) -> Observation:
    """Add the answer; what is not modelled here keeps the value of an uneventful pass."""
    appwrapper, answered = found.appwrapper, {need}
    proved = need in (Need.PROOF, Need.PROOF_SAVE_KEPT)
    waits = found.snapshot.phase in (Phase.EMPTY, Phase.SUSPENDED)
    if proved or (need is Need.OBSERVED and not waits):
        recorded = enumerate(appwrapper.component_statuses)
        components = [_component(appwrapper, index, each, seen) for index, each in recorded]
        pods = [_pod(pod, i) for i, pod in enumerate(seen.pods)]
        found = observe(Reads(found, NOW, components, pods))
        gone = proved and not seen.pods and not any(each.uid for each in components)
        found = replace(found, snapshot=replace(found.snapshot, gone=gone))
        answered.add(Need.OBSERVED)
    unread = found.snapshot.unread - answered
    return replace(found, snapshot=replace(found.snapshot, unread=unread))


def _component(appwrapper: AppWrapper, index: int, recorded: JsonObject, seen: Seen) -> Component:
    resource, name = _RESOURCES[index], str(recorded.get("name") or "")
    for each in seen.made:
        if (each.attempt, each.index) == (appwrapper.attempt, index):
            facts = project_component(resource.gvk.group_kind, _object(each, name))
            assert facts is not None
            return locate_from(appwrapper, index, presence_of(facts), resource, facts)
    created = deployed_status(recorded) == "True" or index in seen.created
    presence = Presence.GONE if created else Presence.PLANNED
    return locate_from(appwrapper, index, presence, resource, None)


_CONDITIONS: Final[dict[JobState, list[JsonObject]]] = {
    JobState.ACTIVE: [],
    JobState.COMPLETE: [{"type": "Complete", "status": "True"}],
    JobState.FAILED: [{"type": "Failed", "status": "True", "message": "a pod failed"}],
}


def _object(each: Made, name: str) -> JsonObject:
    uid, kind = f"{each.index}-{each.attempt}", KINDS[each.index]
    owner = {"apiVersion": _STORED["apiVersion"], "kind": _STORED["kind"], "name": _NAME}
    return {
        "kind": kind,
        "metadata": _metadata(name, uid, each.attempt, each.index, owner | {"uid": _UID})
        | ({"deletionTimestamp": FRESH} if each.deleting else {}),
        "spec": {"parallelism": PODS, "completions": PODS},
        "status": {"conditions": _CONDITIONS[each.state]},
    }


@lru_cache
def _pod(pod: Pod, number: int) -> PodFacts:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": f"{JOB}-{pod.attempt}"}
    name = f"pod-{number}"
    return project_pod(
        {
            "metadata": _metadata(name, name, pod.attempt, JOB, owner)
            | ({"deletionTimestamp": FRESH} if pod.deleting else {}),
            "spec": {**pod_template()["spec"], "nodeName": "node"},
            "status": {"phase": pod.state.value},
        }
    )


def _metadata(name: str, uid: str, attempt: int, index: int, owner: JsonObject) -> JsonObject:
    return {
        "namespace": _TEAM,
        "name": name,
        "uid": uid,
        "creationTimestamp": FRESH,
        "labels": {
            LABEL_APPWRAPPER: _NAME,
            LABEL_UID: _UID,
            LABEL_ATTEMPT: str(attempt),
            LABEL_COMPONENT: str(index),
        },
        "ownerReferences": [{**owner, "controller": True}],
    }
