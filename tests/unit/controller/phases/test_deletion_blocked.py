"""A deletion that does not come to its end: what is forced, and what is said about it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import (
    DeleteComponents,
    DeletionMode,
    MoveTo,
    Reason,
    SetCondition,
    WakeAfter,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    ConditionText,
    FaultTolerance,
    Presence,
    Snapshot,
    Timers,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.DELETING, expected_pods=2)
HELD = "Pod train-0 has finalizer example.com/hold"
OTHER = "Job train waits for Pod train-0"
FORCED = "Pod train-1 on node n (not ready)"
SECONDS_LEFT = WakeAfter(timedelta(seconds=5))
SOON = WakeAfter(timedelta(seconds=5))
LATER = WakeAfter(timedelta(seconds=30))

YOUNG = Snapshot(
    phase=Phase.SUSPENDING,
    suspend=True,
    finalizer=True,
    conditions=frozenset({"QuotaReserved", "ResourcesDeployed", "DeletingResources"}),
    told={"DeletingResources": ConditionText(Reason.DELETION_INITIATED)},
    components=(JOB,),
    labelled_pods=1,
    timers=Timers(forceful_deletion=NOW - timedelta(minutes=1)),
)
OVERDUE = replace(YOUNG, timers=Timers(forceful_deletion=NOW - timedelta(minutes=10)))
FORCE_PODS = DeleteComponents(DeletionMode.FORCE_PODS, keep=True)
FORCE_REST = (
    DeleteComponents(DeletionMode.FORCE_COMPONENTS, keep=True),
    DeleteComponents(DeletionMode.BACKGROUND_EMPTY, keep=True),
)
LEFT = "not deleted after the grace period: Job train, 1 pod"


def says(message: str) -> tuple[object, ...]:
    return (
        SetCondition("DeletingResources", True, Reason.DELETION_BLOCKED, message),
        Warn(Reason.DELETION_BLOCKED, message),
    )


def said(message: str) -> dict[str, ConditionText]:
    return {"DeletingResources": ConditionText(Reason.DELETION_BLOCKED, message)}


@pytest.mark.parametrize(
    ("snapshot", "changes", "expected"),
    [
        pytest.param(YOUNG, {}, (SECONDS_LEFT,), id="it takes its time"),
        pytest.param(
            YOUNG, {"blockers": (HELD,)}, (*says(HELD), SECONDS_LEFT), id="what blocks is said"
        ),
        pytest.param(
            YOUNG, {"blockers": (HELD,), "told": said(HELD)}, (SECONDS_LEFT,), id="but once"
        ),
        pytest.param(
            YOUNG,
            {"blockers": (HELD, OTHER), "told": said(HELD)},
            (*says(f"{HELD}; {OTHER}"), SECONDS_LEFT),
            id="and again when it changes",
        ),
        pytest.param(
            YOUNG,
            {"forced_off": (FORCED,)},
            (SECONDS_LEFT,),
            id="nothing is forced before its time",
        ),
        pytest.param(OVERDUE, {}, (*says(LEFT), FORCE_PODS, SOON), id="pods are forced first"),
        pytest.param(
            replace(OVERDUE, timers=Timers(forceful_deletion=NOW - timedelta(seconds=604))),
            {"told": said(LEFT)},
            (FORCE_PODS, SOON),
            id="looked at again while a node may still kill them",
        ),
        pytest.param(
            replace(OVERDUE, timers=Timers(forceful_deletion=NOW - timedelta(seconds=605))),
            {"told": said(LEFT)},
            (FORCE_PODS, LATER),
            id="then now and then",
        ),
        pytest.param(
            OVERDUE,
            {"labelled_pods": 0, "blockers": (HELD,)},
            (*says(HELD), *FORCE_REST, SOON),
            id="then components",
        ),
        pytest.param(
            OVERDUE,
            {"labelled_pods": 0, "blockers": (HELD,), "told": said(HELD)},
            (*FORCE_REST, SOON),
            id="again and again, without a word",
        ),
        pytest.param(
            OVERDUE,
            {"components": (replace(JOB, presence=Presence.PRESENT),), "told": said(LEFT)},
            (DeleteComponents(keep=True), FORCE_PODS, SOON),
            id="what was never asked to go is asked, or it would make pods for ever",
        ),
        pytest.param(
            OVERDUE,
            {"forced_off": (FORCED,)},
            (
                *says(f"{LEFT}; deleted without confirmation from its node: {FORCED}"),
                Warn(
                    Reason.FORCED_ON_UNREACHABLE_NODE,
                    f"deleted without confirmation from its node: {FORCED}",
                ),
                FORCE_PODS,
                SOON,
            ),
            id="a node that says nothing",
        ),
        pytest.param(
            OVERDUE,
            {
                "forced_off": (FORCED,),
                "told": said(f"{LEFT}; deleted without confirmation from its node: {FORCED}"),
            },
            (FORCE_PODS, SOON),
            id="which is said once",
        ),
        pytest.param(
            OVERDUE,
            {
                "forced_off": (FORCED,),
                "blockers": (HELD,),
                "told": said(f"{LEFT}; deleted without confirmation from its node: {FORCED}"),
            },
            (
                *says(f"{HELD}; deleted without confirmation from its node: {FORCED}"),
                FORCE_PODS,
                SOON,
            ),
            id="and not again because something else changes",
        ),
    ],
)
def test_a_deletion_that_takes_long(
    snapshot: Snapshot, changes: dict[str, Any], expected: tuple[object, ...]
) -> None:
    assert decide(replace(snapshot, **changes), NOW, CONFIG) == expected


@pytest.mark.parametrize(
    ("phase", "keep"),
    [
        (Phase.SUSPENDING, True),
        (Phase.RESETTING, True),
        (Phase.FAILED, False),
        (Phase.SUCCEEDED, False),
        (Phase.TERMINATING, False),
    ],
)
def test_every_phase_that_deletes_forces_in_the_end(phase: Phase, keep: bool) -> None:
    snapshot = replace(
        OVERDUE, phase=phase, suspend=False, labelled_pods=0, blockers=(HELD,), told=said(HELD)
    )
    timers = replace(snapshot.timers, success=NOW - timedelta(days=7))
    assert decide(replace(snapshot, timers=timers), NOW, CONFIG) == (
        DeleteComponents(DeletionMode.FORCE_COMPONENTS, keep),
        DeleteComponents(DeletionMode.BACKGROUND_EMPTY, keep),
        SOON,
    )


@pytest.mark.parametrize("blocked", [YOUNG, OVERDUE])
def test_the_quota_stays_while_anything_blocks(blocked: Snapshot) -> None:
    actions = decide(replace(blocked, blockers=(HELD,)), NOW, CONFIG)
    assert not any(isinstance(action, MoveTo) for action in actions)
    assert {a.type for a in actions if isinstance(a, SetCondition)} == {"DeletingResources"}
