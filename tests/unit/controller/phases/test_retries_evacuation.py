"""Running pods whose node is to be left at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import (
    DeleteComponents,
    MoveTo,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    Evacuation,
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
WHY = "pod train-0 on node n uses nvidia.com/gpu, autopilot.ibm.com/gpuhealth=EVICT"
RUNNING = Snapshot(
    phase=Phase.RUNNING,
    finalizer=True,
    conditions=frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady"}),
    components=(JOB,),
    pods=PodCounts(expected=4, running=4),
    evacuation=Evacuation(WHY),
)
FAILED = PodCounts(expected=4, running=3, failed=1)


def resets(
    reason: Reason,
    message: str,
    logged: str | None = None,
    *,
    spend_retry: bool,
    spent: int | None = None,
) -> tuple[object, ...]:
    return (
        MoveTo(Phase.RESETTING, reason, message, spend_retry=spend_retry, logged=logged),
        SetCondition("Unhealthy", True, reason, message, logged),
        SetCondition(
            "PodsReady",
            False,
            Reason.RESETTING,
            f"{int(spend_retry) if spent is None else spent} of 3 retries spent; "
            "the next attempt begins 1m30s after everything is deleted",
        ),
        SetCondition("DeletingResources", True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(keep=True),
        WakeAfter(timedelta(seconds=5)),
    )


MOVES_ON = resets(Reason.AUTOPILOT_NO_EXECUTE, WHY, spend_retry=False)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, MOVES_ON, id="at once, and no retry is spent"),
        pytest.param(
            {"evacuation": Evacuation(WHY, spends_retry=True)},
            resets(Reason.AUTOPILOT_NO_EXECUTE, WHY, spend_retry=True),
            id="a retry is spent where the node was bad already when the pod came",
        ),
        pytest.param(
            {"retries": 2},
            resets(Reason.AUTOPILOT_NO_EXECUTE, WHY, spend_retry=False, spent=2),
            id="the last retry is enough, and stays",
        ),
        pytest.param(
            {"pods": FAILED, "timers": Timers(failure=NOW)},
            MOVES_ON,
            id="before failed pods, whose grace period has just begun",
        ),
        pytest.param(
            {
                "pods": replace(
                    FAILED, terminal_named="exit code 42 of train-0 is in terminalExitCodes"
                )
            },
            MOVES_ON,
            id="the node is to blame, not the exit code",
        ),
        pytest.param(
            {"components": (replace(JOB, terminal=Terminal.FAILED, message="no"),)},
            resets(Reason.FAILED_COMPONENT, "Job train: no", "Job train", spend_retry=True),
            id="after a component that gave up",
        ),
    ],
)
def test_evacuation(changes: dict[str, Any], expected: tuple[object, ...]) -> None:
    assert decide(replace(RUNNING, **changes), NOW, CONFIG) == expected


@pytest.mark.parametrize(
    ("changes", "phase", "reason"),
    [
        pytest.param(
            {"retries": 3}, Phase.FAILED, Reason.AUTOPILOT_NO_EXECUTE, id="no retry is left"
        ),
        pytest.param({"suspend": True}, Phase.SUSPENDING, Reason.SUSPENDING, id="suspended"),
        pytest.param(
            {"components": (replace(JOB, presence=Presence.GONE),)},
            Phase.FAILED,
            Reason.MISSING_COMPONENT,
            id="a component is missing",
        ),
        pytest.param(
            {
                "components": (replace(JOB, terminal=Terminal.SUCCEEDED),),
                "pods": PodCounts(succeeded=4),
            },
            Phase.SUCCEEDED,
            Reason.SUCCEEDED,
            id="it has succeeded",
        ),
    ],
)
def test_what_comes_before_it(changes: dict[str, Any], phase: Phase, reason: Reason) -> None:
    moves = [a for a in decide(replace(RUNNING, **changes), NOW, CONFIG) if isinstance(a, MoveTo)]
    assert [(move.phase, move.reason) for move in moves] == [(phase, reason)]


def test_stragglers_are_removed_rather_than_evacuated() -> None:
    ended = replace(
        RUNNING,
        components=(replace(JOB, terminal=Terminal.SUCCEEDED, end_recorded=True),),
        pods=PodCounts(outliving=2, stragglers=2),
    )
    assert decide(ended, NOW, CONFIG) == (
        StartTimer(Timer.STRAGGLERS),
        WakeAfter(timedelta(minutes=1)),
    )


def test_resuming_leaves_it_to_running() -> None:
    resuming = replace(RUNNING, phase=Phase.RESUMING)
    moves = [a for a in decide(resuming, NOW, CONFIG) if isinstance(a, MoveTo)]
    assert moves == [MoveTo(Phase.RUNNING, Reason.DEPLOYED)]
