"""What a root cause decides in situations that the table of root causes does not contain."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import (
    Actions,
    MoveTo,
    Reason,
    RecordRootCause,
    RecordSuspect,
    SetCondition,
    StartTimer,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision, RootCause
from controller.phases.snapshot import (
    Component,
    ConditionText,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    Presence,
    ResetHold,
    Snapshot,
    Suspect,
    Timers,
)
from shared.api.conditions import Terminal

NOW = datetime(2026, 1, 2, 10, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True)
GAVE_UP = replace(JOB, terminal=Terminal.FAILED, message="BackoffLimitExceeded: SECRET")
CAUSE = RootCause(
    pod="train-2",
    node="gpu-4",
    rank=2,
    exit_code=1,
    message="ValueError: SECRET",
    failed_pods=4,
    time=LONG_AGO,
)
PODS = "4 failed pods: train-0, train-1, train-2 and 1 more"
FAILED = Snapshot(
    phase=Phase.RUNNING,
    finalizer=True,
    conditions=frozenset({"QuotaReserved", "ResourcesDeployed", "Unhealthy"}),
    condition_texts={"Unhealthy": ConditionText(Reason.FAILED_PODS, "1 failed pod")},
    components=(JOB,),
    pods=PodCounts(expected=4, failed=4, failed_named="train-0, train-1, train-2 and 1 more"),
    timers=Timers(admission=LONG_AGO, warmup=LONG_AGO, failure=LONG_AGO),
    suspect=Suspect("gpu-4", "train-2"),
    root_cause=CAUSE,
)
LOOPING = replace(
    FAILED, pods=PodCounts(expected=4, running=3, pending=1, unstable=1), suspect=None
)
FATAL = replace(CAUSE, recoverable=False)
HELPED = replace(CAUSE, recoverable=True)


def failing_for(seconds: int) -> dict[str, Any]:
    failure = NOW - timedelta(seconds=seconds)
    return {"root_cause": FATAL, "timers": replace(FAILED.timers, failure=failure)}


def outcome(snapshot: Snapshot, **config: Any) -> tuple[Phase | None, int, Decision | None]:
    """The phase that follows, the retries that it spends, and what is recorded as its reason."""
    actions = decide(snapshot, NOW, replace(CONFIG, **config))
    moves = [each for each in actions if isinstance(each, MoveTo)]
    recorded = [each.decision for each in actions if isinstance(each, RecordRootCause)]
    phase, spent = (moves[0].phase, int(moves[0].spend_retry)) if moves else (None, 0)
    return phase, spent, recorded[0] if recorded else None


RESET = (Phase.RESETTING, 1, Decision.RETRY)
FAILS = (Phase.FAILED, 0, Decision.TERMINAL)
ONE_IS_TERMINAL = {"terminal_exit_codes": frozenset({1})}


@pytest.mark.parametrize(
    ("changes", "config", "expected"),
    [
        pytest.param(
            {"root_cause": replace(FATAL, infrastructure="Evicted", exits_terminally=True)},
            ONE_IS_TERMINAL,
            FAILS,
            id="the list takes precedence over the infrastructure",
        ),
        pytest.param(
            {"root_cause": replace(FATAL, exits_terminally=True)},
            {"error_aggregation": "default"},
            RESET,
            id="default: the root cause decides nothing, and is shown",
        ),
        pytest.param(
            {"root_cause": None}, {}, (Phase.RESETTING, 1, None), id="without a root cause: none"
        ),
        pytest.param(
            {"components": (GAVE_UP,), "root_cause": FATAL},
            {},
            FAILS,
            id="a component gave up, and the program recorded that no retry helps",
        ),
        pytest.param(
            {"components": (GAVE_UP,)}, {}, RESET, id="a component gave up, and nothing is recorded"
        ),
        pytest.param(
            {"suspend": True}, {}, (Phase.SUSPENDING, 0, None), id="25: a suspension leaves none"
        ),
        pytest.param(
            {"components": (replace(JOB, presence=Presence.GONE),), "root_cause": HELPED},
            {},
            (Phase.FAILED, 0, None),
            id="25: a deletion by somebody else leaves none",
        ),
        pytest.param(
            {"components": (replace(JOB, presence=Presence.DELETING),), "root_cause": HELPED},
            {},
            (Phase.FAILED, 0, None),
            id="25: a deletion by somebody else that is under way leaves none",
        ),
        pytest.param(
            {"evacuation": Evacuation("node gpu-4"), "root_cause": FATAL},
            {},
            (Phase.RESETTING, 0, None),
            id="18: an evacuation leaves none, and spends no retry",
        ),
        pytest.param(failing_for(0), {}, (None, 0, None), id="the grace period is not cut short"),
        pytest.param(failing_for(59), {}, (None, 0, None), id="a second of grace is left"),
        pytest.param(failing_for(60), {}, FAILS, id="the grace period is over"),
    ],
)
def test_the_root_cause_decides_between_retry_and_failure(
    changes: dict[str, Any], config: dict[str, Any], expected: Any
) -> None:
    assert outcome(replace(FAILED, **changes), **config) == expected


@pytest.mark.parametrize(
    ("cause", "config", "expected"),
    [
        (CAUSE, {}, RESET),
        (FATAL, {}, FAILS),
        (FATAL, {"error_aggregation": "default"}, RESET),
        (replace(CAUSE, exits_terminally=True), {}, FAILS),
        (None, {}, (Phase.RESETTING, 1, None)),
    ],
)
def test_pods_that_crash_in_place(cause: RootCause | None, config: Any, expected: Any) -> None:
    assert outcome(replace(LOOPING, root_cause=cause), **config) == expected


def test_a_failure_without_another_try_suspects_no_node() -> None:
    for cause, suspects in ((FATAL, []), (CAUSE, [RecordSuspect(Suspect("gpu-4", "train-2"))])):
        actions = decide(replace(FAILED, root_cause=cause), NOW, CONFIG)
        assert [each for each in actions if isinstance(each, RecordSuspect)] == suspects


# What is said.

FIRST = "train-2 on gpu-4 failed first (rank 2, exit code 1)"


def test_the_log_names_no_text_of_the_component_or_the_root_cause() -> None:
    actions = decide(replace(FAILED, components=(GAVE_UP,)), NOW, CONFIG)
    logged = [each.logged for each in actions if isinstance(each, MoveTo | SetCondition)]
    assert logged[:2] == [f"{FIRST}; Job train; {PODS}"] * 2
    assert isinstance(actions[0], MoveTo)
    assert actions[0].message == (
        f"{FIRST}: ValueError: SECRET; Job train: BackoffLimitExceeded: SECRET; {PODS}"
    )


def test_crash_loops_name_the_root_cause() -> None:
    actions = decide(replace(LOOPING, root_cause=replace(CAUSE, failed_pods=1)), NOW, CONFIG)
    assert isinstance(actions[0], MoveTo)
    assert actions[0].message == (
        "train-2 on gpu-4 failed (rank 2, exit code 1): ValueError: SECRET"
        "; 3 of 4 pods run or succeeded; 1 pod crashes again and again"
    )


def test_a_held_reset_reports_the_root_cause_and_logs_none_of_it() -> None:
    held = replace(FAILED, reset_hold=ResetHold(HoldReason.PAUSED, "paused"))
    message = f"{FIRST}: ValueError: SECRET; {PODS}; paused"
    actions = decide(held, NOW, CONFIG)
    assert Warn(Reason.RESETS_PAUSED, message, f"{FIRST}; {PODS}; paused") in actions
    assert not any(isinstance(each, RecordRootCause) for each in actions)


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_message_is_one_line_of_at_most_a_kibibyte(letter: str) -> None:
    long = replace(CAUSE, pod="p" * 253, node="n" * 253, message=letter * 2048 + "\nrest")
    component = replace(GAVE_UP, message=letter * 4000)
    snapshot = replace(FAILED, root_cause=long, components=(component,), retries=3)
    move = decide(snapshot, NOW, CONFIG)[0]
    assert isinstance(move, MoveTo)
    assert len(move.message.encode()) <= 1024
    assert len(move.message.splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "config", "consequence"),
    [
        ({}, {"retry_limit": 0}, "retryLimit is 0"),
        (
            {"root_cause": FATAL, "retries": 3},
            {"error_aggregation": "default"},
            "retries exhausted (3 of 3)",
        ),
    ],
)
def test_the_consequence_is_recorded(
    changes: dict[str, Any], config: dict[str, Any], consequence: str
) -> None:
    actions = decide(replace(FAILED, **changes), NOW, replace(CONFIG, **config))
    (record,) = [each for each in actions if isinstance(each, RecordRootCause)]
    assert (record.consequence, record.non_recoverable) == (consequence, False)


# While it may heal.

EARLY = NOW - timedelta(seconds=10)


def graced(reported: str, cause: RootCause | None, reason: Reason = Reason.FAILED_PODS) -> Actions:
    timers = replace(FAILED.timers, failure=EARLY)
    texts = {"Unhealthy": ConditionText(reason, reported)}
    snapshot = replace(FAILED, timers=timers, condition_texts=texts, root_cause=cause)
    actions = decide(snapshot, NOW, CONFIG)
    assert not any(isinstance(each, StartTimer) for each in actions), "no deadline moves"
    return tuple(each for each in actions if isinstance(each, SetCondition))


@pytest.mark.parametrize(
    ("reported", "cause", "news"),
    [
        pytest.param("1 failed pod: train-0", CAUSE, True, id="an earlier one is known by now"),
        pytest.param(f"{FIRST}: ValueError: SECRET; {PODS}", CAUSE, False, id="the same text"),
        pytest.param(
            "1 failed pod: train-0",
            replace(CAUSE, time=EARLY + timedelta(seconds=1)),
            False,
            id="pods that fail later do not cost a write each",
        ),
        pytest.param(
            "1 failed pod: train-0", replace(CAUSE, time=EARLY), True, id="not later than the news"
        ),
        pytest.param("1 failed pod: train-0", replace(CAUSE, time=None), False, id="no time"),
        pytest.param("1 failed pod: train-0", None, False, id="no root cause"),
    ],
)
def test_unhealthy_names_an_earlier_failure_without_moving_a_deadline(
    reported: str, cause: RootCause | None, news: bool
) -> None:
    found = graced(reported, cause)
    message = f"{FIRST}: ValueError: SECRET; {PODS}"
    expected = SetCondition("Unhealthy", True, Reason.FAILED_PODS, message, f"{FIRST}; {PODS}")
    assert found == ((expected,) if news else ())


def healed(**changes: Any) -> list[RecordRootCause]:
    well = replace(
        FAILED,
        pods=PodCounts(expected=4, running=4),
        conditions=FAILED.conditions | {"PodsReady"},
        root_cause=None,
        suspect=None,
        healed=FATAL,
        timers=replace(FAILED.timers, failure=EARLY),
    )
    actions = decide(replace(well, **changes), NOW, CONFIG)
    return [each for each in actions if isinstance(each, RecordRootCause)]


def test_a_healed_failure_moves_to_the_history() -> None:
    """Case 20. The trouble may come back within the settling period."""
    kept = [RecordRootCause(FATAL, Decision.NONE)]
    assert healed() == kept
    assert healed(timers=replace(FAILED.timers, failure=NOW - timedelta(seconds=4))) == []
    assert healed(conditions=FAILED.conditions - {"Unhealthy"}) == []
    assert healed(healed=None) == []
    ended = replace(JOB, terminal=Terminal.SUCCEEDED)
    assert healed(components=(ended,), pods=PodCounts(expected=4, succeeded=4)) == kept
