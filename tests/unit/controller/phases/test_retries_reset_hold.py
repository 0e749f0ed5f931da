"""A reset that was decided on and must wait: what is said, what goes on, what never waits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import (
    ClearTimer,
    CreateComponents,
    MoveTo,
    Reason,
    RecordFailures,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    ConditionText,
    CreateProblem,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    Presence,
    ResetHold,
    Snapshot,
    Timers,
)
from shared.api.conditions import Terminal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True)
GAVE_UP = replace(JOB, terminal=Terminal.FAILED, message="BackoffLimitExceeded")
HOLDING = frozenset({"QuotaReserved", "ResourcesDeployed"})
ONE_FAILED = PodCounts(expected=4, running=3, failed=1)
ALL_RUN = PodCounts(expected=4, running=4)

RATE = ResetHold(HoldReason.RATE, "its turn comes", timedelta(seconds=3))
PAUSED = ResetHold(HoldReason.PAUSED, "an admin set pauseResets")
BREAKER = ResetHold(HoldReason.BREAKER, "12 of 40 nodes turned bad", timedelta(seconds=30))


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def told(reason: Reason, message: str, logged: str | None = None) -> tuple[object, ...]:
    unhealthy = SetCondition("Unhealthy", True, reason, message, logged)
    return (unhealthy, Warn(reason, message, logged))


UNHEALTHY = Snapshot(
    phase=Phase.RUNNING,
    finalizer=True,
    conditions=HOLDING | {"Unhealthy"},
    told={"Unhealthy": ConditionText(Reason.FAILED_PODS, "1 failed pod")},
    components=(JOB,),
    pods=ONE_FAILED,
    timers=Timers(failure=ago(60), admission=NOW, warmup=NOW),
)


@pytest.mark.parametrize(
    ("hold", "reason", "wait"),
    [
        pytest.param(RATE, Reason.RESET_THROTTLED, (WakeAfter(timedelta(seconds=3)),), id="rate"),
        pytest.param(PAUSED, Reason.RESETS_PAUSED, (), id="paused: until something wakes it"),
    ],
)
def test_it_says_what_is_wrong_and_what_it_waits_for(
    hold: ResetHold, reason: Reason, wait: tuple[object, ...]
) -> None:
    held = replace(UNHEALTHY, reset_hold=hold)
    assert decide(held, NOW, CONFIG) == (*told(reason, f"1 failed pod; {hold.message}"), *wait)


@pytest.mark.parametrize("hold", [RATE, replace(RATE, message="another text")])
def test_it_says_so_once(hold: ResetHold) -> None:
    said = {"Unhealthy": ConditionText(Reason.RESET_THROTTLED, "1 failed pod; its turn comes")}
    held = replace(UNHEALTHY, told=said, reset_hold=hold)
    assert decide(held, NOW, CONFIG) == (WakeAfter(timedelta(seconds=3)),)


def test_another_cause_of_waiting_is_said() -> None:
    said = {"Unhealthy": ConditionText(Reason.RESET_THROTTLED, "1 failed pod; its turn comes")}
    held = replace(UNHEALTHY, told=said, reset_hold=PAUSED)
    assert decide(held, NOW, CONFIG) == told(
        Reason.RESETS_PAUSED, "1 failed pod; an admin set pauseResets"
    )


def test_the_grace_period_is_over_once_and_for_all() -> None:
    """When the permission comes, a second later or a day, the reset does not wait again."""
    said = {"Unhealthy": ConditionText(Reason.RESET_THROTTLED, "1 failed pod; its turn comes")}
    for seconds in (61, 86400):
        timers = replace(UNHEALTHY.timers, failure=ago(seconds))
        permitted = replace(UNHEALTHY, told=said, timers=timers)
        assert MoveTo(
            Phase.RESETTING, Reason.FAILED_PODS, "1 failed pod", spend_retry=True
        ) in decide(permitted, NOW, CONFIG)


def test_readiness_goes_on_being_reported() -> None:
    lost = replace(
        UNHEALTHY, conditions=UNHEALTHY.conditions | {"PodsReady"}, reset_hold=RATE, timers=Timers()
    )
    assert decide(replace(lost, components=(GAVE_UP,)), NOW, CONFIG) == (
        RecordFailures(((0, "BackoffLimitExceeded"),)),
        SetCondition("PodsReady", False, Reason.INSUFFICIENT_PODS_READY, "3 of 4 pods run"),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        StartTimer(Timer.UNREADY),
        *told(
            Reason.RESET_THROTTLED,
            "Job train: BackoffLimitExceeded; its turn comes",
            "Job train; its turn comes",
        ),
        StartTimer(Timer.FAILURE),
        WakeAfter(timedelta(seconds=3)),
    )


def test_a_failure_is_remembered_while_its_reset_waits() -> None:
    """The Job may go by its TTL, and this process may end, before resets go on."""
    said = {"Unhealthy": ConditionText(Reason.RESETS_PAUSED, "Job train: BackoffLimitExceeded; …")}
    held = replace(UNHEALTHY, told=said, timers=Timers(), reset_hold=PAUSED)
    recorded = replace(GAVE_UP, failure_recorded=True)
    after_restart = replace(recorded, presence=Presence.GONE)
    for component, expected in (
        (GAVE_UP, (RecordFailures(((0, "BackoffLimitExceeded"),)),)),
        (recorded, ()),
        (after_restart, ()),
    ):
        helper = replace(GAVE_UP, name="board", helper=True)
        actions = decide(replace(held, components=(component, helper)), NOW, CONFIG)
        assert tuple(each for each in actions if isinstance(each, RecordFailures)) == expected
        assert not any(isinstance(each, MoveTo) for each in actions)
    free = replace(held, components=(after_restart,), reset_hold=None)
    assert decide(free, NOW, CONFIG)[0] == MoveTo(
        Phase.RESETTING,
        Reason.FAILED_COMPONENT,
        "Job train: BackoffLimitExceeded",
        spend_retry=True,
        logged="Job train",
    )


def test_what_heals_while_it_waits_is_not_reset() -> None:
    said = {
        "Unhealthy": ConditionText(Reason.RESETS_PAUSED, "1 failed pod; an admin set pauseResets")
    }
    healed = replace(UNHEALTHY, told=said, pods=ALL_RUN, reset_hold=None)
    assert decide(healed, NOW, CONFIG) == (
        SetCondition("PodsReady", True, Reason.SUFFICIENT_PODS_READY),
        ClearTimer(Timer.ADMISSION),
        ClearTimer(Timer.WARMUP),
        SetCondition("Unhealthy", False, Reason.NO_FAILED_PODS),
        ClearTimer(Timer.FAILURE),
    )


HEALTHY = replace(
    UNHEALTHY,
    conditions=HOLDING | {"PodsReady"},
    told={"Unhealthy": ConditionText(Reason.RESUMING)},
    pods=ALL_RUN,
    timers=Timers(),
    evacuation=Evacuation("pod a on node n uses nvidia.com/gpu"),
)
WAITS = told(
    Reason.EVACUATION_HELD, "pod a on node n uses nvidia.com/gpu; 12 of 40 nodes turned bad"
)
IN_THIRTY = WakeAfter(timedelta(seconds=30))
BREAKER_TOLD = {"Unhealthy": ConditionText(Reason.EVACUATION_HELD, "as above")}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, (*WAITS, StartTimer(Timer.UNREADY), IN_THIRTY), id="an evacuation waits"),
        pytest.param(
            {"conditions": HEALTHY.conditions | {"Unhealthy"}, "told": BREAKER_TOLD},
            (IN_THIRTY,),
            id="and has said so",
        ),
        pytest.param(
            {
                "conditions": HEALTHY.conditions | {"Unhealthy"},
                "told": BREAKER_TOLD,
                "evacuation": None,
                "reset_hold": None,
            },
            (SetCondition("Unhealthy", False, Reason.NO_FAILED_PODS), ClearTimer(Timer.FAILURE)),
            id="its node is well again",
        ),
        pytest.param(
            {
                "conditions": HOLDING | {"Unhealthy"},
                "told": BREAKER_TOLD,
                "pods": ONE_FAILED,
                "timers": Timers(admission=NOW, warmup=NOW),
            },
            (StartTimer(Timer.FAILURE), IN_THIRTY),
            id="a pod fails meanwhile: its grace period begins",
        ),
        pytest.param(
            {
                "conditions": HOLDING | {"Unhealthy"},
                "told": BREAKER_TOLD,
                "pods": ONE_FAILED,
                "timers": Timers(admission=NOW, warmup=NOW, failure=ago(59)),
            },
            (WakeAfter(timedelta(seconds=1)),),
            id="one second before that is over",
        ),
        pytest.param(
            {
                "conditions": HOLDING | {"Unhealthy"},
                "told": BREAKER_TOLD,
                "pods": ONE_FAILED,
                "timers": Timers(admission=NOW, warmup=NOW, failure=ago(10)),
                "evacuation": None,
                "reset_hold": None,
            },
            (
                SetCondition("Unhealthy", True, Reason.FAILED_PODS, "1 failed pod"),
                WakeAfter(timedelta(seconds=50)),
            ),
            id="no evacuation any more, and the failed pod is still there",
        ),
    ],
)
def test_the_breaker_holds_evacuations(
    changes: dict[str, Any], expected: tuple[object, ...]
) -> None:
    held = replace(HEALTHY, reset_hold=BREAKER)
    assert decide(replace(held, **changes), NOW, CONFIG) == expected


@pytest.mark.parametrize("hold", [PAUSED, BREAKER])
def test_one_without_retries_is_not_lost_to_a_label_meanwhile(hold: ResetHold) -> None:
    held = replace(HEALTHY, retries=3, reset_hold=hold)
    actions = decide(held, NOW, CONFIG)
    assert [a for a in actions if isinstance(a, MoveTo)] == []
    free = decide(replace(held, reset_hold=None), NOW, CONFIG)
    assert [a.phase for a in free if isinstance(a, MoveTo)] == [Phase.FAILED]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"components": (GAVE_UP,)}, Reason.FAILED_COMPONENT, id="a component gave up"),
        pytest.param(
            {"pods": ONE_FAILED, "timers": Timers(failure=ago(60))},
            Reason.FAILED_PODS,
            id="pods failed for too long",
        ),
    ],
)
def test_the_breaker_holds_nothing_else(changes: dict[str, Any], reason: Reason) -> None:
    held = replace(HEALTHY, reset_hold=BREAKER)
    moves = [a for a in decide(replace(held, **changes), NOW, CONFIG) if isinstance(a, MoveTo)]
    assert [(move.phase, move.reason) for move in moves] == [(Phase.RESETTING, reason)]


@pytest.mark.parametrize("hold", [RATE, PAUSED, BREAKER])
@pytest.mark.parametrize(
    ("changes", "phase"),
    [
        pytest.param({"suspend": True}, Phase.SUSPENDING, id="suspension"),
        pytest.param({"deletion_requested": True}, Phase.TERMINATING, id="deletion"),
        pytest.param({"retries": 3}, Phase.FAILED, id="failure, without retries left"),
        pytest.param(
            {
                "pods": replace(
                    ONE_FAILED, terminal_named="exit code 42 of train-0 is in terminalExitCodes"
                ),
                "evacuation": None,
            },
            Phase.FAILED,
            id="failure, by an exit code",
        ),
        pytest.param(
            {"components": (replace(JOB, presence=Presence.GONE),)},
            Phase.FAILED,
            id="failure, by a missing component",
        ),
        pytest.param(
            {
                "components": (replace(JOB, terminal=Terminal.SUCCEEDED),),
                "pods": PodCounts(expected=4, succeeded=4),
            },
            Phase.SUCCEEDED,
            id="success",
        ),
    ],
)
def test_what_never_waits(hold: ResetHold, changes: dict[str, Any], phase: Phase) -> None:
    held = replace(UNHEALTHY, reset_hold=hold, evacuation=HEALTHY.evacuation)
    actions = decide(replace(held, **changes), NOW, CONFIG)
    assert [a.phase for a in actions if isinstance(a, MoveTo)] == [phase]


REFUSED = CreateProblem(
    fatal=False, message="403 Forbidden: exceeded quota", retry_at=NOW + timedelta(seconds=2)
)
RESUMING = Snapshot(
    phase=Phase.RESUMING,
    finalizer=True,
    conditions=HOLDING,
    components=(replace(JOB, presence=Presence.PLANNED),),
    create_problem=REFUSED,
    timers=Timers(admission=ago(60), warmup=ago(60)),
    reset_hold=RATE,
)
CANNOT = SetCondition(
    "ResourcesDeployed", True, Reason.CREATE_FAILED, "403 Forbidden: exceeded quota"
)
CANNOT_RESET = told(Reason.RESET_THROTTLED, "403 Forbidden: exceeded quota; its turn comes")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {},
            (CANNOT, *CANNOT_RESET, WakeAfter(timedelta(seconds=2))),
            id="creating goes on being tried",
        ),
        pytest.param(
            {"create_problem": replace(REFUSED, retry_at=NOW)},
            (CANNOT, *CANNOT_RESET, CreateComponents(), WakeAfter(timedelta(0))),
            id="as soon as it may be",
        ),
        pytest.param(
            {"create_problem": replace(REFUSED, retry_at=NOW + timedelta(seconds=9))},
            (CANNOT, *CANNOT_RESET, WakeAfter(timedelta(seconds=3))),
            id="or the reset begins, if its turn comes first",
        ),
        pytest.param(
            {"reset_hold": PAUSED},
            (
                CANNOT,
                *told(
                    Reason.RESETS_PAUSED, "403 Forbidden: exceeded quota; an admin set pauseResets"
                ),
                WakeAfter(timedelta(seconds=2)),
            ),
            id="or for as long as resets are paused",
        ),
    ],
)
def test_a_create_that_fails_for_too_long_waits_as_well(
    changes: dict[str, Any], expected: tuple[object, ...]
) -> None:
    assert decide(replace(RESUMING, **changes), NOW, CONFIG) == expected
