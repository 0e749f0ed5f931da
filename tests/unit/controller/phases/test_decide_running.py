"""Running, where it does not end well, or not yet."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controller.phases import decide
from controller.phases.actions import (
    ClearTimer,
    DeleteComponents,
    MoveTo,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.phase import Phase
from controller.phases.readiness import pods_message
from controller.phases.snapshot import (
    Component,
    ConditionText,
    FaultTolerance,
    PodCounts,
    Presence,
    Snapshot,
    Timers,
)
from shared.api.conditions import Terminal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True)
SERVICE = Component(name="rendezvous", kind="Service", presence=Presence.PRESENT)
READY = frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady"})
NOT_READY = READY - {"PodsReady"}
HEALTHY = Snapshot(
    phase=Phase.RUNNING,
    finalizer=True,
    conditions=READY,
    components=(SERVICE, JOB),
    pods=PodCounts(expected=4, running=4),
)
ONE_FAILED = PodCounts(expected=4, running=3, failed=1)


def ago(**kwargs: float) -> datetime:
    return NOW - timedelta(**kwargs)


def deletion_begins(*, keep: bool) -> tuple[object, ...]:
    return (
        SetCondition("DeletingResources", True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(keep=keep),
        WakeAfter(timedelta(seconds=5)),
    )


def resets(reason: Reason, message: str, logged: str | None = None) -> tuple[object, ...]:
    return (
        MoveTo(Phase.RESETTING, reason, message, spend_retry=True, logged=logged),
        SetCondition("Unhealthy", True, reason, message, logged),
        SetCondition(
            "PodsReady",
            False,
            Reason.RESETTING,
            "1 of 3 retries spent; the next attempt begins 1m30s after everything is deleted",
        ),
        *deletion_begins(keep=True),
    )


def fails(reason: Reason, message: str, logged: str | None = None) -> tuple[object, ...]:
    return (
        MoveTo(Phase.FAILED, reason, message, logged=logged),
        SetCondition("Unhealthy", True, reason, message, logged),
        *deletion_begins(keep=False),
    )


def with_message(snapshot: Snapshot) -> Snapshot:
    """The message of PodsReady is written already."""
    told = ConditionText(Reason.RESUMING, pods_message(snapshot))
    return replace(snapshot, told={"PodsReady": told})


NAMESPACE_ENDS = SetCondition(
    "ResourcesDeployed",
    True,
    Reason.NAMESPACE_ENDING,
    "its namespace is being deleted, and everything in it",
)
SUCCEEDS = (
    MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED),
    StartTimer(Timer.SUCCESS),
    SetCondition("QuotaReserved", False, Reason.SUCCEEDED),
    WakeAfter(timedelta(days=7)),
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, (), id="a healthy AppWrapper needs nothing until something changes"),
        pytest.param(
            {"suspend": True, "pods": ONE_FAILED},
            (MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), *deletion_begins(keep=True)),
            id="suspension wins over trouble",
        ),
        pytest.param(
            {"components": (replace(SERVICE, presence=Presence.GONE), JOB)},
            fails(Reason.MISSING_COMPONENT, "deleted by another client: Service rendezvous"),
            id="a deleted component fails it at once, though retries are left",
        ),
        pytest.param(
            {
                "components": (
                    SERVICE,
                    replace(JOB, presence=Presence.GONE, terminal=Terminal.SUCCEEDED),
                ),
                "pods": PodCounts(expected=4),
            },
            SUCCEEDS,
            id="a Job that went after it had completed is no missing one",
        ),
        pytest.param(
            {
                "components": (replace(SERVICE, presence=Presence.GONE), JOB),
                "namespace_ending": True,
            },
            (NAMESPACE_ENDS,),
            id="the end of the namespace is nobody's failure",
        ),
        pytest.param(
            {"components": (replace(SERVICE, presence=Presence.DELETING), JOB)},
            (),
            id="a component that is only being deleted is still there",
        ),
        pytest.param(
            {
                "components": (
                    SERVICE,
                    replace(JOB, terminal=Terminal.FAILED, message="BackoffLimitExceeded"),
                )
            },
            resets(Reason.FAILED_COMPONENT, "Job train: BackoffLimitExceeded", "Job train"),
            id="a component that gave up is reset without grace",
        ),
        pytest.param(
            {
                "components": (replace(JOB, terminal=Terminal.FAILED, message="no"),),
                "retries": 3,
            },
            fails(
                Reason.FAILED_COMPONENT,
                "retries exhausted (3 of 3): Job train: no",
                "retries exhausted (3 of 3): Job train",
            ),
            id="without retries left it fails",
        ),
        pytest.param(
            {
                "components": (replace(JOB, terminal=Terminal.FAILED, message="no"),),
                "pods": replace(
                    ONE_FAILED, terminal_named="exit code 42 of train-0 is in terminalExitCodes"
                ),
            },
            fails(
                Reason.FAILED_COMPONENT,
                "no retry: exit code 42 of train-0 is in terminalExitCodes; Job train: no",
                "no retry: exit code 42 of train-0 is in terminalExitCodes; Job train",
            ),
            id="an exit code that forbids retries fails it",
        ),
        pytest.param(
            {
                "components": (replace(JOB, terminal=Terminal.FAILED, message="no"),),
                "pods": replace(ONE_FAILED, failed_named="train-0 on gpu-node-1"),
            },
            resets(
                Reason.FAILED_COMPONENT,
                "Job train: no; 1 failed pod: train-0 on gpu-node-1",
                "Job train; 1 failed pod: train-0 on gpu-node-1",
            ),
            id="the pods for which it gave up are named",
        ),
    ],
)
def test_at_once(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    assert decide(replace(HEALTHY, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("timers", "expected"),
    [
        pytest.param(
            Timers(),
            (
                SetCondition("PodsReady", False, Reason.INSUFFICIENT_PODS_READY, "3 of 4 pods run"),
                StartTimer(Timer.ADMISSION),
                StartTimer(Timer.WARMUP),
                SetCondition("Unhealthy", True, Reason.FAILED_PODS, "1 failed pod"),
                StartTimer(Timer.FAILURE),
                StartTimer(Timer.UNREADY),
                WakeAfter(timedelta(minutes=1)),
            ),
            id="the first failed pod starts the failure grace period",
        ),
        pytest.param(
            Timers(failure=ago(seconds=59), admission=NOW, warmup=NOW),
            (WakeAfter(timedelta(seconds=1)),),
            id="one second before the deadline it still waits",
        ),
        pytest.param(
            Timers(failure=ago(seconds=60), admission=NOW, warmup=NOW),
            resets(Reason.FAILED_PODS, "1 failed pod"),
            id="at the deadline it resets and spends a retry",
        ),
        pytest.param(
            Timers(failure=NOW + timedelta(hours=1), admission=NOW, warmup=NOW),
            (WakeAfter(timedelta(minutes=1)),),
            id="a start in the future counts as now",
        ),
    ],
)
def test_failure_grace_period(timers: Timers, expected: tuple[object, ...]) -> None:
    ready = timers == Timers()
    snapshot = replace(
        HEALTHY, pods=ONE_FAILED, timers=timers, conditions=READY if ready else NOT_READY
    )
    assert decide(with_message(snapshot), NOW, CONFIG) == expected


def test_no_failure_grace_period_means_at_once() -> None:
    config = FaultTolerance(failure_grace=timedelta(0))
    actions = decide(replace(HEALTHY, pods=ONE_FAILED), NOW, config)
    assert actions == resets(Reason.FAILED_PODS, "1 failed pod")


@pytest.mark.parametrize(
    ("component", "finding"),
    [
        pytest.param(
            JOB,
            fails(Reason.MISSING_COMPONENT, "deleted by another client: Job train"),
            id="its pods fail before it has gone",
        ),
        pytest.param(
            replace(JOB, helper=True), resets(Reason.FAILED_PODS, "1 failed pod"), id="a helper"
        ),
        pytest.param(
            replace(JOB, kind="Pod"),
            resets(Reason.FAILED_PODS, "1 failed pod"),
            id="a bare pod may be driven off a node that is silent",
        ),
    ],
)
def test_what_somebody_deletes_is_not_begun_again(
    component: Component, finding: tuple[object, ...]
) -> None:
    leaving = replace(component, presence=Presence.DELETING)
    snapshot = replace(HEALTHY, components=(SERVICE, leaving), pods=ONE_FAILED)
    assert decide(snapshot, NOW, CONFIG)[-1] == WakeAfter(CONFIG.failure_grace)
    config = FaultTolerance(failure_grace=timedelta(0))
    assert decide(snapshot, NOW, config) == finding


def test_the_failed_pods_are_named_before_they_are_gone() -> None:
    pods = PodCounts(expected=4, failed=2, failed_named="train-0, train-2")
    actions = decide(replace(HEALTHY, pods=pods), NOW, FaultTolerance(failure_grace=timedelta(0)))
    assert actions == resets(Reason.FAILED_PODS, "2 failed pods: train-0, train-2")


def test_healed_within_the_grace_period() -> None:
    snapshot = replace(
        HEALTHY, conditions=READY | {"Unhealthy"}, timers=Timers(failure=ago(seconds=30))
    )
    assert decide(snapshot, NOW, CONFIG) == (
        SetCondition("Unhealthy", False, Reason.NO_FAILED_PODS),
        ClearTimer(Timer.FAILURE),
    )


@pytest.mark.parametrize(
    ("pods", "began", "expected"),
    [
        pytest.param(
            PodCounts(expected=4, pending=3),
            ago(seconds=59),
            (WakeAfter(timedelta(seconds=1)),),
            id="too few pods exist, one second before the admission deadline",
        ),
        pytest.param(
            PodCounts(expected=4, pending=3),
            ago(seconds=60),
            (
                SetCondition(
                    "Unhealthy", True, Reason.INSUFFICIENT_PODS_READY, "3 of 4 pods exist"
                ),
                StartTimer(Timer.FAILURE),
                StartTimer(Timer.UNREADY),
                WakeAfter(timedelta(minutes=1)),
            ),
            id="too few pods exist at the admission deadline",
        ),
        pytest.param(
            PodCounts(expected=4, pending=1, running=3),
            ago(seconds=299),
            (WakeAfter(timedelta(seconds=1)),),
            id="too few run, one second before the warm-up deadline",
        ),
        pytest.param(
            PodCounts(expected=4, pending=1, pending_named="train-3 without a node", running=3),
            ago(seconds=300),
            (
                SetCondition(
                    "Unhealthy",
                    True,
                    Reason.INSUFFICIENT_PODS_READY,
                    "3 of 4 pods run or succeeded; not running: train-3 without a node",
                ),
                StartTimer(Timer.FAILURE),
                StartTimer(Timer.UNREADY),
                WakeAfter(timedelta(minutes=1)),
            ),
            id="too few run at the warm-up deadline",
        ),
    ],
)
def test_admission_and_warmup(
    pods: PodCounts, began: datetime, expected: tuple[object, ...]
) -> None:
    snapshot = replace(
        HEALTHY,
        conditions=NOT_READY,
        pods=pods,
        timers=Timers(admission=began, warmup=began),
    )
    assert decide(with_message(snapshot), NOW, CONFIG) == expected


def test_readiness_is_told_once_and_ends_the_periods() -> None:
    snapshot = replace(HEALTHY, conditions=NOT_READY, timers=Timers(admission=NOW, warmup=NOW))
    assert decide(snapshot, NOW, CONFIG) == (
        SetCondition("PodsReady", True, Reason.SUFFICIENT_PODS_READY),
        ClearTimer(Timer.ADMISSION),
        ClearTimer(Timer.WARMUP),
    )


def test_a_lost_pod_gets_a_whole_warmup_again() -> None:
    snapshot = replace(HEALTHY, pods=PodCounts(expected=4, running=3))
    assert decide(snapshot, NOW, CONFIG) == (
        SetCondition(
            "PodsReady", False, Reason.INSUFFICIENT_PODS_READY, "3 of 4 pods run; 3 exist"
        ),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        StartTimer(Timer.UNREADY),
        WakeAfter(timedelta(minutes=1)),
    )
