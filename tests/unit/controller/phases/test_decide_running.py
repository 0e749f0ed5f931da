from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controller.phases import decide
from controller.phases.actions import (
    ClearTimer,
    DeleteComponents,
    DeletionMode,
    MoveTo,
    Reason,
    RecordEnds,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
    Warn,
)
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    PodCounts,
    Presence,
    Snapshot,
    Terminal,
    Timers,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True)
SERVICE = Component(name="rendezvous", kind="Service", presence=Presence.PRESENT)
DEPLOYMENT = Component(
    name="serve", kind="Deployment", presence=Presence.PRESENT, expected_pods=4, reports=False
)
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


def deletion_begins() -> tuple[object, ...]:
    return (
        SetCondition("DeletingResources", True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(),
        RequeueAfter(timedelta(seconds=5)),
    )


def resets(reason: Reason, message: str) -> tuple[object, ...]:
    return (
        MoveTo(Phase.RESETTING, reason, message, spend_retry=True),
        SetCondition("Unhealthy", True, reason, message),
        SetCondition("PodsReady", False, Reason.RESETTING),
        *deletion_begins(),
    )


def fails(reason: Reason, message: str) -> tuple[object, ...]:
    return (
        MoveTo(Phase.FAILED, reason, message),
        SetCondition("Unhealthy", True, reason, message),
        *deletion_begins(),
    )


SUCCEEDS = (
    MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED),
    StartTimer(Timer.SUCCESS),
    SetCondition("QuotaReserved", False, Reason.SUCCEEDED),
    RequeueAfter(timedelta(days=7)),
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, (), id="a healthy AppWrapper needs nothing until something changes"),
        pytest.param(
            {"suspend": True, "pods": ONE_FAILED},
            (MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), *deletion_begins()),
            id="suspension wins over trouble",
        ),
        pytest.param(
            {"components": (replace(SERVICE, presence=Presence.GONE), JOB)},
            fails(Reason.MISSING_COMPONENT, "deleted by somebody else: Service rendezvous"),
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
            (),
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
            resets(Reason.FAILED_COMPONENT, "Job train: BackoffLimitExceeded"),
            id="a component that gave up is reset without grace",
        ),
        pytest.param(
            {
                "components": (replace(JOB, terminal=Terminal.FAILED, message="no"),),
                "retries": 3,
            },
            fails(Reason.FAILED_COMPONENT, "Job train: no"),
            id="without retries left it fails",
        ),
        pytest.param(
            {
                "components": (replace(JOB, terminal=Terminal.FAILED, message="no"),),
                "pods": replace(ONE_FAILED, terminal_exit=True),
            },
            fails(Reason.FAILED_COMPONENT, "Job train: no"),
            id="an exit code that forbids retries fails it",
        ),
    ],
)
def test_at_once(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    assert decide(replace(HEALTHY, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("components", "pods", "succeeded"),
    [
        pytest.param((JOB,), {"succeeded": 4}, False, id="pods alone do not end a Job"),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),), {"succeeded": 4}, True, id="Job Complete"
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),),
            {},
            True,
            id="its pods may have been cleaned up",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),),
            {"succeeded": 1, "running": 3},
            False,
            id="a worker still runs",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),),
            {"succeeded": 3, "deleting": 1},
            False,
            id="a pod is still on its way out",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED), DEPLOYMENT),
            {"succeeded": 4},
            False,
            id="the other component's pods have not succeeded",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED), DEPLOYMENT),
            {"succeeded": 8, "loose_succeeded": 4},
            True,
            id="all of both have",
        ),
        pytest.param((SERVICE,), {}, False, id="nothing with pods can succeed"),
    ],
)
def test_success(components: tuple[Component, ...], pods: dict[str, int], succeeded: bool) -> None:
    expected = sum(component.expected_pods for component in components)
    snapshot = replace(HEALTHY, components=components, pods=PodCounts(expected=expected, **pods))
    moves = [a for a in decide(snapshot, NOW, CONFIG) if isinstance(a, MoveTo)]
    assert moves == ([MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED)] if succeeded else [])


def test_ends_are_recorded_while_others_go_on() -> None:
    ended = replace(JOB, terminal=Terminal.SUCCEEDED)
    pods = PodCounts(expected=8, running=4, succeeded=4)
    for components, expected in (
        ((SERVICE, ended, JOB), (RecordEnds((1,)),)),
        ((SERVICE, replace(ended, end_recorded=True), JOB), ()),
    ):
        assert decide(replace(HEALTHY, components=components, pods=pods), NOW, CONFIG) == expected


ENDED = replace(JOB, terminal=Terminal.SUCCEEDED)
HELPER = replace(DEPLOYMENT, name="board", expected_pods=1, helper=True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {},
            (StartTimer(Timer.STRAGGLERS), RequeueAfter(timedelta(minutes=1))),
            id="workers still run",
        ),
        pytest.param(
            {"timers": Timers(stragglers=ago(seconds=59))},
            (RequeueAfter(timedelta(seconds=1)),),
            id="one second before the deadline",
        ),
        pytest.param(
            {"timers": Timers(stragglers=ago(seconds=60))},
            (
                DeleteComponents(DeletionMode.STRAGGLERS),
                Warn(Reason.STRAGGLERS, "3 pods outlived their component"),
                RequeueAfter(timedelta(seconds=30)),
            ),
            id="at the deadline they are removed",
        ),
        pytest.param(
            {
                "timers": Timers(stragglers=ago(seconds=61)),
                "pods": PodCounts(expected=4, succeeded=1, deleting=3),
            },
            (DeleteComponents(DeletionMode.STRAGGLERS), RequeueAfter(timedelta(seconds=30))),
            id="they are on their way out",
        ),
        pytest.param(
            {"components": (HELPER, ENDED)},
            (DeleteComponents(DeletionMode.HELPERS), RequeueAfter(timedelta(seconds=5))),
            id="a helper goes at once",
        ),
        pytest.param(
            {"components": (replace(HELPER, presence=Presence.DELETING), ENDED)},
            (RequeueAfter(timedelta(seconds=5)),),
            id="a helper is on its way out",
        ),
        pytest.param(
            {"components": (HELPER, ENDED), "pods": PodCounts(expected=5, succeeded=4)},
            (DeleteComponents(DeletionMode.HELPERS), RequeueAfter(timedelta(seconds=5))),
            id="a helper without pods may yet make some",
        ),
        pytest.param(
            {
                "components": (replace(HELPER, presence=Presence.GONE), ENDED),
                "pods": PodCounts(expected=5, succeeded=4),
            },
            SUCCEEDS,
            id="a helper that we removed is not missed",
        ),
        pytest.param(
            {"components": (replace(HELPER, presence=Presence.GONE), JOB)},
            fails(Reason.MISSING_COMPONENT, "deleted by somebody else: Deployment board"),
            id="a helper that somebody removed before is",
        ),
    ],
)
def test_what_outlives_success(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    outlived = replace(
        HEALTHY, components=(ENDED,), pods=PodCounts(expected=4, succeeded=1, running=3)
    )
    assert decide(replace(outlived, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


def test_pods_that_end_before_anybody_saw_them_run_were_ready() -> None:
    snapshot = replace(
        HEALTHY,
        conditions=NOT_READY | {"Unhealthy"},
        components=(replace(JOB, terminal=Terminal.SUCCEEDED),),
        pods=PodCounts(expected=4, succeeded=4),
    )
    assert decide(snapshot, NOW, CONFIG) == (
        *SUCCEEDS[:-1],
        SetCondition("PodsReady", True, Reason.SUFFICIENT_PODS_READY),
        SetCondition("Unhealthy", False, Reason.SUCCEEDED),
        SUCCEEDS[-1],
    )


@pytest.mark.parametrize(
    ("timers", "expected"),
    [
        pytest.param(
            Timers(),
            (
                SetCondition("PodsReady", False, Reason.INSUFFICIENT_PODS_READY),
                StartTimer(Timer.ADMISSION),
                StartTimer(Timer.WARMUP),
                SetCondition("Unhealthy", True, Reason.FAILED_PODS, "1 failed pods"),
                StartTimer(Timer.FAILURE),
                RequeueAfter(timedelta(minutes=1)),
            ),
            id="the first failed pod starts the failure grace period",
        ),
        pytest.param(
            Timers(failure=ago(seconds=59), admission=NOW, warmup=NOW),
            (RequeueAfter(timedelta(seconds=1)),),
            id="one second before the deadline it still waits",
        ),
        pytest.param(
            Timers(failure=ago(seconds=60), admission=NOW, warmup=NOW),
            resets(Reason.FAILED_PODS, "1 failed pods"),
            id="at the deadline it resets and spends a retry",
        ),
        pytest.param(
            Timers(failure=NOW + timedelta(hours=1), admission=NOW, warmup=NOW),
            (RequeueAfter(timedelta(minutes=1)),),
            id="a start in the future counts as now",
        ),
    ],
)
def test_failure_grace_period(timers: Timers, expected: tuple[object, ...]) -> None:
    ready = timers == Timers()
    snapshot = replace(
        HEALTHY, pods=ONE_FAILED, timers=timers, conditions=READY if ready else NOT_READY
    )
    assert decide(snapshot, NOW, CONFIG) == expected


def test_no_failure_grace_period_means_at_once() -> None:
    config = FaultTolerance(failure_grace=timedelta(0))
    actions = decide(replace(HEALTHY, pods=ONE_FAILED), NOW, config)
    assert actions == resets(Reason.FAILED_PODS, "1 failed pods")


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
            (RequeueAfter(timedelta(seconds=1)),),
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
                RequeueAfter(timedelta(minutes=1)),
            ),
            id="too few pods exist at the admission deadline",
        ),
        pytest.param(
            PodCounts(expected=4, pending=1, running=3),
            ago(seconds=299),
            (RequeueAfter(timedelta(seconds=1)),),
            id="too few run, one second before the warm-up deadline",
        ),
        pytest.param(
            PodCounts(expected=4, pending=1, running=3),
            ago(seconds=300),
            (
                SetCondition(
                    "Unhealthy",
                    True,
                    Reason.INSUFFICIENT_PODS_READY,
                    "3 of 4 pods run or succeeded",
                ),
                StartTimer(Timer.FAILURE),
                RequeueAfter(timedelta(minutes=1)),
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
    assert decide(snapshot, NOW, CONFIG) == expected


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
        SetCondition("PodsReady", False, Reason.INSUFFICIENT_PODS_READY),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        RequeueAfter(timedelta(minutes=1)),
    )
