"""On the way out: Suspending, Resetting, Failed, Succeeded, Terminating."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controller.facts.own_status import effective_fault_tolerance
from controller.phases import decide
from controller.phases.actions import (
    ClearTimer,
    CreateComponents,
    DeleteComponents,
    DeletionMode,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordRemoval,
    RemoveFinalizer,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    FaultTolerance,
    PodsReadyEviction,
    Presence,
    Snapshot,
    Timers,
)
from shared.api.appwrapper import AppWrapper
from shared.api.times import format_duration
from shared.config.configuration import AppWrapperConfig
from shared.config.kueue import longest_by_default

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
AT_ONCE = WakeAfter(timedelta(0))
LOOK_AGAIN = WakeAfter(timedelta(seconds=5))
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2, reports=True)
HOLDING = frozenset({"QuotaReserved", "ResourcesDeployed"})
DELETING = HOLDING | {"DeletingResources"}

EVICTED_ONCE = (
    "Kueue evicted Workload appwrapper-a-1 (once so far): its pods were not ready within the "
    "timeout or recoveryTimeout of waitForPodsReady. This spent no retry. The periods and retries "
    "of this AppWrapper add up to 1h17m57s; evacuations, and waits before resets and deletions, "
    "take longer. An admin can raise both timeouts in Kueue's configuration."
)
SPARING = DeleteComponents(keep=True)  # what is to be kept survives resets and suspensions


def deletion_begins(*, keep: bool) -> tuple[object, ...]:
    return (
        SetCondition("DeletingResources", True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(keep=keep),
        LOOK_AGAIN,
    )


def deletion_ends(*, keep: bool) -> tuple[object, ...]:
    return (
        SetCondition("ResourcesDeployed", False, Reason.DELETION_COMPLETE),
        SetCondition("DeletingResources", False, Reason.DELETION_COMPLETE),
        RecordRemoval(keep),
    )


def ago(**kwargs: float) -> datetime:
    return NOW - timedelta(**kwargs)


def blocked(message: str) -> tuple[object, ...]:
    return (
        SetCondition("DeletingResources", True, Reason.DELETION_BLOCKED, message),
        Warn(Reason.DELETION_BLOCKED, message),
    )


def deploys(reason: Reason) -> tuple[object, ...]:
    return (
        MoveTo(Phase.RESUMING, reason),
        PlanDeployment(),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        SetCondition("QuotaReserved", True, Reason.RESUMING),
        SetCondition("ResourcesDeployed", True, Reason.RESUMING),
        SetCondition("PodsReady", False, Reason.RESUMING),
        SetCondition("Unhealthy", False, Reason.RESUMING),
        CreateComponents(),
        AT_ONCE,
    )


SUSPENDING = Snapshot(
    phase=Phase.SUSPENDING,
    suspend=True,
    finalizer=True,
    conditions=DELETING,
    components=(replace(JOB, presence=Presence.DELETING),),
    labelled_pods=2,
    timers=Timers(forceful_deletion=ago(minutes=9, seconds=58)),
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, (WakeAfter(timedelta(seconds=2)),), id="waits for what was asked for"),
        pytest.param(
            {"suspend": False},
            (WakeAfter(timedelta(seconds=2)),),
            id="goes on though it is no longer suspended",
        ),
        pytest.param(
            {"components": (JOB,)},
            (SPARING, WakeAfter(timedelta(seconds=2))),
            id="asks again for what nobody has asked to go",
        ),
        pytest.param(
            {"components": (), "stray_pods": True},
            (SPARING, WakeAfter(timedelta(seconds=2))),
            id="pods that outlived their component are deleted themselves",
        ),
        pytest.param(
            {"conditions": HOLDING},
            deletion_begins(keep=True),
            id="a deletion that was never announced",
        ),
        pytest.param(
            {"timers": Timers(forceful_deletion=ago(minutes=10))},
            (
                *blocked("not deleted after the grace period: Job train, 2 pods"),
                DeleteComponents(DeletionMode.FORCE_PODS, keep=True),
                LOOK_AGAIN,
            ),
            id="pods first, once the deadline is there",
        ),
        pytest.param(
            {"timers": Timers(forceful_deletion=ago(minutes=10)), "labelled_pods": 0},
            (
                *blocked("not deleted after the grace period: Job train"),
                DeleteComponents(DeletionMode.FORCE_COMPONENTS, keep=True),
                DeleteComponents(DeletionMode.BACKGROUND_EMPTY, keep=True),
                LOOK_AGAIN,
            ),
            id="then the components, and those of them that own nothing",
        ),
        pytest.param(
            {"gone": True},
            (
                MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
                *deletion_ends(keep=True),
                SetCondition("QuotaReserved", False, Reason.SUSPENDED),
                SetCondition("PodsReady", False, Reason.SUSPENDED),
                SetCondition("Unhealthy", False, Reason.SUSPENDED),
            ),
            id="all is gone",
        ),
        pytest.param(
            {"gone": True, "pods_ready_eviction": PodsReadyEviction("appwrapper-a-1", 1)},
            (
                MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
                *deletion_ends(keep=True),
                SetCondition("QuotaReserved", False, Reason.PODS_READY_TIMEOUT, EVICTED_ONCE),
                Warn(Reason.PODS_READY_TIMEOUT, EVICTED_ONCE),
                SetCondition("PodsReady", False, Reason.SUSPENDED),
                SetCondition("Unhealthy", False, Reason.SUSPENDED),
            ),
            id="Kueue had no more patience",
        ),
    ],
)
def test_suspending(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    assert decide(replace(SUSPENDING, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


def test_the_sum_that_is_told_is_that_of_its_own_periods() -> None:
    """One attempt of 60 m warm-up, 75 s and 60 s, and its removal of up to 11 m."""
    eviction = PodsReadyEviction("appwrapper-a-1", 3)
    patient = FaultTolerance(warmup_grace=timedelta(hours=1), retry_limit=0)
    actions = decide(replace(SUSPENDING, gone=True, pods_ready_eviction=eviction), NOW, patient)
    (said,) = [each.message for each in actions if isinstance(each, Warn)]
    assert "(3 times so far)" in said
    assert "add up to 1h13m15s;" in said


@pytest.mark.parametrize("attempt", [1, 2, 7])
def test_without_annotations_the_sum_is_the_configurations_in_every_attempt(attempt: int) -> None:
    """Each pause is spread out by chance; what is told is not."""
    raw = {"metadata": {"uid": "u1"}, "spec": {}, "status": {"attempt": attempt}}
    config = effective_fault_tolerance(AppWrapper(raw), AppWrapperConfig())
    eviction = PodsReadyEviction("appwrapper-a-1", 1)
    actions = decide(replace(SUSPENDING, gone=True, pods_ready_eviction=eviction), NOW, config)
    assert Warn(Reason.PODS_READY_TIMEOUT, EVICTED_ONCE) in actions
    assert format_duration(longest_by_default(AppWrapperConfig())) == "1h17m57s"


def test_whoever_kueue_has_given_up_is_told_what_starts_it_again() -> None:
    eviction = PodsReadyEviction("appwrapper-a-1", 3, given_up=True)
    actions = decide(replace(SUSPENDING, gone=True, pods_ready_eviction=eviction), NOW, CONFIG)
    (said,) = [each.message for each in actions if isinstance(each, Warn)]
    again = "Kueue will not admit it again until the Workload's spec.active is set to true."
    assert f"This spent no retry. {again} The periods" in said


NEXT = "0 of 3 retries spent; the next attempt begins at "
RESETTING = replace(SUSPENDING, phase=Phase.RESETTING, suspend=False)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, (WakeAfter(timedelta(seconds=2)),), id="deleting"),
        pytest.param(
            {"gone": True},
            (
                *deletion_ends(keep=True),
                SetCondition(
                    "PodsReady",
                    False,
                    Reason.RESETTING,
                    f"{NEXT}2026-01-01T00:01:30Z",
                ),
                StartTimer(Timer.RETRY_PAUSE),
                WakeAfter(timedelta(seconds=90)),
            ),
            id="the pause begins when all is gone",
        ),
        pytest.param(
            {"timers": Timers(retry_pause=ago(seconds=89))},
            (WakeAfter(timedelta(seconds=1)),),
            id="one second before the pause is over",
        ),
        pytest.param(
            {"timers": Timers(retry_pause=ago(seconds=90))},
            deploys(Reason.RETRY_PAUSE_OVER),
            id="when the pause is over",
        ),
        pytest.param(
            {"suspend": True},
            (
                MoveTo(Phase.SUSPENDING, Reason.SUSPENDING),
                SPARING,
                LOOK_AGAIN,
            ),
            id="suspended meanwhile: the deletion goes on",
        ),
    ],
)
def test_resetting(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    assert decide(replace(RESETTING, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


FAILED = replace(SUSPENDING, phase=Phase.FAILED, suspend=False)
KEPT = replace(FAILED, conditions=HOLDING, components=(JOB,), timers=Timers())
PATIENT = FaultTolerance(deletion_on_failure_grace=timedelta(minutes=1))


@pytest.mark.parametrize(
    ("snapshot", "config", "expected"),
    [
        pytest.param(FAILED, CONFIG, (WakeAfter(timedelta(seconds=2)),), id="deleting"),
        pytest.param(
            FAILED,
            PATIENT,
            (WakeAfter(timedelta(seconds=2)),),
            id="a deletion that has begun goes on within the grace period",
        ),
        pytest.param(
            replace(KEPT, timers=Timers(deletion_on_failure=ago(seconds=59))),
            PATIENT,
            (WakeAfter(timedelta(seconds=1)),),
            id="kept for debugging",
        ),
        pytest.param(
            replace(KEPT, timers=Timers(deletion_on_failure=ago(seconds=60))),
            PATIENT,
            deletion_begins(keep=False),
            id="no longer kept",
        ),
        pytest.param(
            replace(KEPT, suspend=True, timers=Timers(deletion_on_failure=ago(seconds=1))),
            PATIENT,
            deletion_begins(keep=False),
            id="suspension ends the period early",
        ),
        pytest.param(
            replace(FAILED, gone=True),
            CONFIG,
            (
                *deletion_ends(keep=False),
                ClearTimer(Timer.DELETION_ON_FAILURE),
                SetCondition("QuotaReserved", False, Reason.FAILED),
                SetCondition("PodsReady", False, Reason.FAILED),
            ),
            id="all is gone",
        ),
        pytest.param(replace(KEPT, conditions=frozenset()), CONFIG, (), id="the end"),
    ],
)
def test_failed(snapshot: Snapshot, config: FaultTolerance, expected: tuple[object, ...]) -> None:
    assert decide(snapshot, NOW, config) == expected


SUCCEEDED = replace(
    KEPT, phase=Phase.SUCCEEDED, conditions=frozenset({"ResourcesDeployed", "PodsReady"})
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"timers": Timers(success=ago(days=6)), "suspend": True},
            (WakeAfter(timedelta(days=1)),),
            id="kept for its logs, suspended or not",
        ),
        pytest.param(
            {},
            (StartTimer(Timer.SUCCESS), WakeAfter(timedelta(days=7))),
            id="the TTL begins when it is first needed",
        ),
        pytest.param(
            {"timers": Timers(success=ago(days=7))}, deletion_begins(keep=False), id="TTL over"
        ),
        pytest.param(
            {"timers": Timers(success=ago(days=7)), "gone": True},
            deletion_ends(keep=False),
            id="all is gone",
        ),
        pytest.param({"conditions": frozenset({"PodsReady"})}, (), id="the end"),
    ],
)
def test_succeeded(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    assert decide(replace(SUCCEEDED, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


LETS_GO = (
    *deletion_ends(keep=False),
    SetCondition("QuotaReserved", False, Reason.TERMINATING),
    SetCondition("PodsReady", False, Reason.TERMINATING),
    SetCondition("Unhealthy", False, Reason.TERMINATING),
    RemoveFinalizer(),
)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(
            replace(KEPT, phase=Phase.RUNNING, deletion_requested=True),
            (MoveTo(Phase.TERMINATING, Reason.TERMINATING), *deletion_begins(keep=False)),
            id="deleted while running",
        ),
        pytest.param(
            Snapshot(phase=Phase.SUSPENDED, deletion_requested=True, finalizer=True, gone=True),
            (MoveTo(Phase.TERMINATING, Reason.TERMINATING), *LETS_GO),
            id="deleted when nothing is left",
        ),
        pytest.param(
            Snapshot(phase=Phase.SUSPENDED, deletion_requested=True),
            (),
            id="somebody else's finalizer is not ours to wait for",
        ),
        pytest.param(
            replace(SUSPENDING, phase=Phase.TERMINATING, deletion_requested=True),
            (WakeAfter(timedelta(seconds=2)),),
            id="something is left",
        ),
        pytest.param(
            replace(SUSPENDING, phase=Phase.TERMINATING, deletion_requested=True, gone=True),
            LETS_GO,
            id="all is gone",
        ),
        pytest.param(
            Snapshot(phase=Phase.TERMINATING, deletion_requested=True), (), id="let go already"
        ),
    ],
)
def test_terminating(snapshot: Snapshot, expected: tuple[object, ...]) -> None:
    assert decide(snapshot, NOW, CONFIG) == expected
