"""On the way to Running: no phase yet, Suspended, Resuming."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controller.phases import decide
from controller.phases.actions import (
    AddFinalizer,
    ClearTimer,
    CreateComponents,
    DeleteComponents,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordDeployment,
    RecordPodSets,
    RecordRefusal,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    ConditionText,
    CreateProblem,
    FaultTolerance,
    PodCounts,
    PodSetInfos,
    Presence,
    Snapshot,
    Timers,
)
from shared.api.conditions import Terminal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
AT_ONCE = WakeAfter(timedelta(0))
LOOK_AGAIN = WakeAfter(timedelta(seconds=5))
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2, reports=True)
HOLDING = frozenset({"QuotaReserved", "ResourcesDeployed"})


def deletion_begins(*, keep: bool) -> tuple[object, ...]:
    return (
        SetCondition("DeletingResources", True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(keep=keep),
        LOOK_AGAIN,
    )


def ago(**kwargs: float) -> datetime:
    return NOW - timedelta(**kwargs)


IS_DEPLOYED = (
    MoveTo(Phase.RUNNING, Reason.DEPLOYED),
    RecordDeployment(),
    SetCondition("ResourcesDeployed", True, Reason.DEPLOYED),
)
BOTH_BEGIN = (StartTimer(Timer.ADMISSION), StartTimer(Timer.WARMUP))


def deploys(reason: Reason, said: str = "") -> tuple[object, ...]:
    return (
        MoveTo(Phase.RESUMING, reason),
        PlanDeployment(),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        SetCondition("QuotaReserved", True, Reason.RESUMING, said),
        SetCondition("ResourcesDeployed", True, Reason.RESUMING),
        SetCondition("PodsReady", False, Reason.RESUMING),
        SetCondition("Unhealthy", False, Reason.RESUMING),
        CreateComponents(),
        AT_ONCE,
    )


EVICTED = "Kueue evicted it: its pods were not ready within waitForPodsReady"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (ConditionText(Reason.PODS_READY_TIMEOUT, EVICTED), EVICTED),  # it was suspended for that
        (ConditionText(Reason.RESUMING, EVICTED), EVICTED),  # it runs again since, and is reset now
        (ConditionText(Reason.SUSPENDED, "it waits for Kueue"), ""),
        (ConditionText(Reason.RESUMING, "Suspend is false"), ""),  # the Go operator's word
    ],
)
def test_what_kueue_did_to_it_goes_on_being_said(told: ConditionText, said: str) -> None:
    snapshot = Snapshot(phase=Phase.SUSPENDED, finalizer=True, told={"QuotaReserved": told})
    assert decide(snapshot, NOW, CONFIG) == deploys(Reason.RESUMING, said)


def test_a_new_appwrapper_is_recorded_and_waits() -> None:
    assert decide(Snapshot(phase=Phase.EMPTY), NOW, CONFIG) == (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        RecordPodSets(),
        SetCondition("QuotaReserved", False, Reason.SUSPENDED),
        SetCondition("ResourcesDeployed", False, Reason.SUSPENDED),
    )


STARTS = (AddFinalizer(), *deploys(Reason.RESUMING))
# Where Kueue does not manage the namespace, nobody else says why nothing happens.
SAYS_WHY_NOT = (
    SetCondition(
        "QuotaReserved",
        False,
        Reason.SUSPENDED,
        "it starts when Kueue writes podSetInfos; if Kueue never does, Kueue does not manage this "
        "namespace or AppWrappers",
    ),
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"suspend": True}, (), id="suspended"),
        pytest.param({}, STARTS, id="no queue and not suspended"),
        pytest.param({"queued": True}, SAYS_WHY_NOT, id="queued, without podSetInfos"),
        pytest.param(
            {"queued": True, "pod_set_infos": PodSetInfos.MISMATCHED},
            SAYS_WHY_NOT,
            id="queued, with too few podSetInfos",
        ),
        pytest.param(
            {"queued": True, "pod_set_infos": PodSetInfos.COMPLETE}, STARTS, id="admitted by Kueue"
        ),
        pytest.param(
            {"suspend": True, "queued": True, "pod_set_infos": PodSetInfos.COMPLETE},
            (),
            id="podSetInfos mean nothing while suspended",
        ),
    ],
)
def test_suspended(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    snapshot = replace(Snapshot(phase=Phase.SUSPENDED), **changes)  # type: ignore[arg-type]
    assert decide(snapshot, NOW, CONFIG) == expected


RESUMING = Snapshot(
    phase=Phase.RESUMING,
    finalizer=True,
    conditions=HOLDING,
    components=(JOB, replace(JOB, name="eval", presence=Presence.PLANNED)),
    pods=PodCounts(expected=4, pending=2),
    timers=Timers(admission=ago(seconds=10), warmup=ago(seconds=10)),
)
REFUSED = CreateProblem(
    fatal=False, message="403 Forbidden: exceeded quota", retry_at=NOW + timedelta(seconds=4)
)


SAYS_WHY = SetCondition(
    "ResourcesDeployed", True, Reason.CREATE_FAILED, "403 Forbidden: exceeded quota"
)


def fails(reason: Reason, message: str) -> tuple[object, ...]:
    return (
        MoveTo(Phase.FAILED, reason, message),
        SetCondition("Unhealthy", True, reason, message),
        *deletion_begins(keep=False),
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, (CreateComponents(), AT_ONCE), id="something is not there yet"),
        pytest.param(
            {"components": (JOB,)},
            (*IS_DEPLOYED, AT_ONCE),
            id="everything is there",
        ),
        pytest.param(
            {"components": (JOB,), "pods": PodCounts(expected=2, running=2)},
            (
                *IS_DEPLOYED,
                SetCondition("PodsReady", True, Reason.SUFFICIENT_PODS_READY),
                ClearTimer(Timer.ADMISSION),
                ClearTimer(Timer.WARMUP),
                AT_ONCE,
            ),
            id="pods were faster than the second look",
        ),
        pytest.param(
            {"planned": False},
            (PlanDeployment(), CreateComponents(), AT_ONCE),
            id="begun by another operator at a known time: its periods go on",
        ),
        pytest.param(
            {"planned": False, "timers": Timers()},
            (PlanDeployment(), *BOTH_BEGIN, CreateComponents(), AT_ONCE),
            id="begun by another operator at an unknown time: its periods begin now",
        ),
        pytest.param(
            {"suspend": True},
            (MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), *deletion_begins(keep=True)),
            id="suspended meanwhile",
        ),
        pytest.param(
            {"pod_set_infos": PodSetInfos.MISMATCHED},
            fails(Reason.CREATE_FAILED, "podSetInfos and pod sets differ in number"),
            id="podSetInfos do not fit",
        ),
        pytest.param(
            {"create_problem": CreateProblem(fatal=True, message="422 Invalid: no image")},
            fails(Reason.CREATE_FAILED, "422 Invalid: no image"),
            id="an invalid object fails it whatever the retry limit",
        ),
        pytest.param(
            {"components": (replace(JOB, presence=Presence.GONE), *RESUMING.components[1:])},
            (
                *fails(Reason.MISSING_COMPONENT, "deleted by another client: Job train")[:-1],
                AT_ONCE,
            ),
            id="the first component was deleted while the second is awaited",
        ),
        pytest.param(
            {"components": (replace(JOB, presence=Presence.GONE, terminal=Terminal.SUCCEEDED),)},
            (*IS_DEPLOYED, AT_ONCE),
            id="it ended, and went, before the second look",
        ),
        pytest.param(
            {"components": (replace(JOB, presence=Presence.UNKNOWN),)},
            (*IS_DEPLOYED, AT_ONCE),
            id="made, of a Kind that is not served just now",
        ),
        pytest.param(
            {"create_problem": REFUSED},
            (SAYS_WHY, WakeAfter(timedelta(seconds=4))),
            id="not before the pause is over",
        ),
        pytest.param(
            {"create_problem": REFUSED, "timers": Timers()},
            (SAYS_WHY, *BOTH_BEGIN, WakeAfter(timedelta(seconds=4))),
            id="taken over, without a start of the admission period",
        ),
        pytest.param(
            {"create_problem": replace(REFUSED, retry_at=NOW), "timers": Timers()},
            (SAYS_WHY, *BOTH_BEGIN, CreateComponents(), AT_ONCE),
            id="taken over, at the end of a pause",
        ),
        pytest.param(
            {"create_problem": replace(REFUSED, retry_at=NOW)},
            (SAYS_WHY, CreateComponents(), AT_ONCE),
            id="again after the pause",
        ),
        pytest.param(
            {"create_problem": REFUSED, "timers": Timers(admission=ago(seconds=59))},
            (SAYS_WHY, WakeAfter(timedelta(seconds=1))),
            id="one second before the admission deadline",
        ),
        pytest.param(
            {"create_problem": REFUSED, "timers": Timers(admission=ago(seconds=60))},
            (
                MoveTo(
                    Phase.RESETTING,
                    Reason.CREATE_FAILED,
                    "403 Forbidden: exceeded quota",
                    spend_retry=True,
                ),
                SetCondition(
                    "Unhealthy", True, Reason.CREATE_FAILED, "403 Forbidden: exceeded quota"
                ),
                SetCondition(
                    "PodsReady",
                    False,
                    Reason.RESETTING,
                    "1 of 3 retries spent; the next attempt begins 1m30s after everything is "
                    "deleted",
                ),
                *deletion_begins(keep=True),
            ),
            id="at the admission deadline",
        ),
    ],
)
def test_resuming(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    assert decide(replace(RESUMING, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


ANNOUNCED = replace(JOB, presence=Presence.PLANNED, announced=True)
RECORDED = RecordRefusal(0, "403 Forbidden: exceeded quota")


@pytest.mark.parametrize(
    ("refused", "component", "expected"),
    [
        pytest.param(0, ANNOUNCED, (RECORDED,), id="refused"),
        pytest.param(0, replace(ANNOUNCED, announced=False), (), id="recorded already"),
        pytest.param(None, ANNOUNCED, (), id="not known what came of it"),
        pytest.param(7, ANNOUNCED, (), id="no such component any more"),
    ],
)
@pytest.mark.parametrize("phase", [Phase.RESUMING, Phase.SUSPENDING, Phase.TERMINATING])
@pytest.mark.parametrize("deletion_requested", [False, True])
def test_a_refusal_is_remembered_in_every_phase(
    phase: Phase,
    deletion_requested: bool,
    refused: int | None,
    component: Component,
    expected: tuple[object, ...],
) -> None:
    """Without it nothing proves that an object is not there which the controller may not read."""
    snapshot = replace(
        RESUMING,
        phase=phase,
        deletion_requested=deletion_requested,
        components=(component,),
        create_problem=replace(REFUSED, refused=refused),
    )
    without = replace(snapshot, create_problem=replace(REFUSED, refused=None))
    assert decide(snapshot, NOW, CONFIG) == (*expected, *decide(without, NOW, CONFIG))


def test_what_exists_is_recorded_with_the_first_word_that_another_cannot_be_created() -> None:
    """Its name is written already; whoever takes over must know that there is an object, too."""
    made = replace(JOB, announced=True)
    missing = replace(JOB, name="eval", presence=Presence.PLANNED, announced=True)
    stuck = replace(RESUMING, components=(made, missing), create_problem=REFUSED)
    assert decide(stuck, NOW, CONFIG) == (
        RecordDeployment((0,)),
        SAYS_WHY,
        WakeAfter(timedelta(seconds=4)),
    )
    # Without trouble all are recorded at once, by the next write.
    assert decide(replace(stuck, create_problem=None), NOW, CONFIG) == (
        CreateComponents(),
        AT_ONCE,
    )
    # And what is recorded is not written again, nor what nobody sees.
    for shown in (JOB, replace(made, presence=Presence.UNKNOWN)):
        again = replace(stuck, components=(shown, missing))
        assert RecordDeployment((0,)) not in decide(again, NOW, CONFIG)
