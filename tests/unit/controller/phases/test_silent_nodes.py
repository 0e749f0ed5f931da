"""Decisions about pods on nodes that do not answer."""

from dataclasses import replace

import pytest

from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.silent_nodes import CutOff, Suspect, UnreachablePods
from controller.phases.snapshot import HoldReason, PodCounts, ResetHold, Timers
from controller.reports.reason import Reason
from tests.support.decisions import (
    CONFIG,
    DELETION_ENDS,
    RUNNING,
    SPARING_DELETION_BEGINS,
    SUSPENDING,
    Situation,
    asked,
    decisions,
)
from tests.support.moments import NOW, ago

WHY = "Pod train-0 on node n1, which does not answer since 2026-01-01T00:00:00Z"


def silent(seconds: float, **changes: object) -> Situation:
    """One of four pods is on a node that has not answered for so long."""
    found = UnreachablePods(
        message=WHY,
        since=ago(seconds),
        pods=1,
        suspects=(Suspect("n1", "train-0", unreachable=True),),
    )
    unreachable = replace(found, **changes)  # type: ignore[arg-type]
    counts = PodCounts(expected=4, running=3, pending=1, unreachable=1)
    return RUNNING.but(unreachable=unreachable, pods=counts)


UNREADY = f"PodsReady=False (InsufficientPodsReady): 3 of 4 pods run; {WHY}"
SAID = silent(119).but(conditions=RUNNING.snapshot.conditions - {"PodsReady"})
WITHOUT_CAUSE = silent(120).configured(error_aggregation="off")


def moves(spent: int, costs: str = "") -> str:
    return f"""
        -> Resetting (NodeUnreachable{costs}): {WHY}
        Unhealthy=True (NodeUnreachable): {WHY}
        PodsReady=False (Resetting): {spent} of 3 retries spent; the next attempt begins 0s \
after everything is deleted
        suspect node n1 of pod train-0
        {SPARING_DELETION_BEGINS}
    """


@decisions(
    {
        "PodsReady names the node at once, and the next pass comes at the deadline": (
            silent(1),
            f"""
            {UNREADY}
            start unready
            wake after 119s
            """,
        ),
        "also if another problem was reported a moment ago": (
            silent(1).since(unready=1),
            f"""
            {UNREADY}
            start unready
            wake after 119s
            """,
        ),
        "at the deadline a reset follows, which spends no retry": (WITHOUT_CAUSE, moves(0)),
        "a second silence spends one": (
            silent(120, spends_retry=True).configured(error_aggregation="off"),
            moves(1, ", spending a retry"),
        ),
        "another period": (
            silent(20).configured(error_aggregation="off", unreachable_grace=ago(20) - ago(40)),
            moves(0),
        ),
    }
)
def test_a_silent_node_moves_its_appwrappers(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


def test_enough_other_pods_or_a_period_of_zero_keep_it() -> None:
    replaced = silent(1000).pods(running=4, pending=1)
    assert replaced.moves == []
    assert silent(1000).configured(unreachable_grace=NOW - NOW).moves == []


HOLD = ResetHold(HoldReason.BREAKER, "an admin must confirm")
NEVER = NOW - NOW


@pytest.mark.parametrize(
    ("situation", "reset"),
    [
        pytest.param(silent(9000).but(evacuation_hold=HOLD), False, id="the breaker is open"),
        pytest.param(silent(9000).configured(unreachable_grace=NEVER), False, id="zero"),
        pytest.param(
            silent(9000).configured(unreachable_grace=NEVER).pods(running=2, pending=2),
            True,
            id="another pod does not run either",
        ),
    ],
)
def test_only_the_silence_moves_a_pod_on_a_silent_node(situation: Situation, reset: bool) -> None:
    """The other periods are over for a long time."""
    over = situation.but(conditions=RUNNING.snapshot.conditions - {"PodsReady"})
    late = over.since(admission=9000, warmup=9000, failure=9000, unready=9000)
    assert [each.split(":")[0] for each in late.moves] == (
        ["-> Resetting (InsufficientPodsReady, spending a retry)"] if reset else []
    )


def test_a_pod_whose_node_answers_again_has_its_whole_warm_up() -> None:
    """It does not run yet: the node has started anew."""
    unready = RUNNING.snapshot.conditions - {"PodsReady"}
    ends = silent(90).but(conditions=unready).since(admission=9000, warmup=9000)
    assert {"clear admission", "clear warmup"} <= set(ends.decision)
    back = ends.but(unreachable=None).pods(unreachable=0).since(unready=9000)
    begins = replace(back, snapshot=replace(back.snapshot, timers=Timers(unready=ago(9000))))
    assert {"start admission", "start warmup"} <= set(begins.decision)
    assert begins.moves == []


def test_the_node_is_named_at_once_in_an_attempt_that_never_ran() -> None:
    fresh = silent(1).but(conditions=RUNNING.snapshot.conditions - {"PodsReady"})
    assert f"PodsReady=False (Resuming): 3 of 4 pods run; {WHY}" in fresh.decision


def test_without_a_retry_left_it_fails_as_an_evacuation() -> None:
    [move] = silent(120).but(retries=3).moves
    assert move == f"-> Failed (NodeUnreachable): retries exhausted (3 of 3): {WHY}"


def test_a_label_takes_precedence_and_the_breaker_holds_both() -> None:
    held = silent(120).but(evacuation_hold=HOLD)
    assert held.moves == []
    assert f"Unhealthy=True (EvacuationBreakerOpen): {WHY}; an admin must confirm" in held.decision


def test_the_node_and_the_permit_are_read_before_the_reset_and_no_pods() -> None:
    needs = asked(silent(120).snapshot)
    assert needs == [Need.OBSERVED, Need.PERMIT_EVACUATION, Need.LIVE_LABELS]
    assert Need.LIVE_PODS in asked(replace(silent(120).snapshot, retries=3))
    assert Need.LIVE_LABELS not in asked(silent(119).snapshot)


def test_the_root_cause_names_node_and_silence() -> None:
    [line] = [each for each in silent(120).decision if each.startswith("record root cause")]
    assert "node='n1'" in line
    assert "infrastructure='NodeUnreachable'" in line
    assert WHY in line
    assert line.endswith(": another attempt follows and spends no retry")


# The reset.

GONE = Situation(
    replace(
        SUSPENDING.snapshot,
        phase=Phase.RESETTING,
        suspend=False,
        conditions=SUSPENDING.snapshot.conditions | {"Unhealthy"},
        components=(),
        labelled_pods=0,
        gone=True,
    )
)


@decisions(
    {
        "after a silence the next attempt follows at once": (
            GONE.reported("Unhealthy", Reason.NODE_UNREACHABLE, WHY),
            f"""
            {DELETION_ENDS.replace("as deleted", "as deleted, sparing kept components")}
            PodsReady=False (Resetting): 0 of 3 retries spent; the next attempt begins at \
2026-01-01T00:00:00Z
            Unhealthy=True (NodeUnreachable): {WHY}; 0 of 3 retries spent; the next attempt \
begins at 2026-01-01T00:00:00Z [logged: 0 of 3 retries spent; the next attempt begins at \
2026-01-01T00:00:00Z]
            start retry_pause
            wake after 0s
            """,
        ),
    }
)
def test_there_is_no_pause_after_a_silence(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected
    over = situation.since(retry_pause=0).but(
        conditions=situation.snapshot.conditions - {"ResourcesDeployed"}
    )
    assert over.moves == ["-> Resuming (RetryPauseOver)"]
    usual = over.reported("Unhealthy", Reason.FAILED_PODS, WHY)
    assert usual.decision == ["wake after 90s"]


def cut_off(seconds: float) -> Situation:
    return SUSPENDING.but(cut_off=(CutOff("n1", ago(seconds), WHY),))


FORCED = f"deleted without confirmation from its node: {WHY}"


@decisions(
    {
        "its end is awaited": (cut_off(118), "wake after 2s"),
        "then its pods are forced, which is reported once": (
            cut_off(120),
            f"""
            DeletingResources=True (ForcedOnUnreachableNode): {FORCED}
            warn (ForcedOnUnreachableNode): {FORCED}
            delete force-cut-off, sparing kept components
            wake after 5s
            """,
        ),
        "again without a report": (
            cut_off(120).reported("DeletingResources", Reason.FORCED_ON_UNREACHABLE_NODE, FORCED),
            """
            delete force-cut-off, sparing kept components
            wake after 5s
            """,
        ),
        "zero switches it off": (
            cut_off(1000).configured(unreachable_grace=NOW - NOW),
            "wake after 5s",
        ),
    }
)
def test_pods_on_a_silent_node_are_forced_after_the_period(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected


def test_the_node_is_read_before_its_pods_are_forced() -> None:
    assert Need.LIVE_LABELS in asked(cut_off(120).snapshot, CONFIG)
    assert Need.LIVE_LABELS not in asked(cut_off(119).snapshot, CONFIG)


def test_a_reset_forces_them_only_with_the_permit_for_a_move() -> None:
    """A suspension needs none. Without it the deletion's own deadline remains."""
    begun = {"phase": Phase.RESETTING, "suspend": False, "evacuation_hold": HOLD}
    held = cut_off(120).but(**begun)
    assert held.decision == ["wake after 5s"]
    force = "delete force-cut-off, sparing kept components"
    assert force in held.but(evacuation_hold=None).decision
    assert force in cut_off(120).but(evacuation_hold=HOLD).decision
    assert Need.PERMIT_EVACUATION in asked(held.snapshot, CONFIG)
    assert Need.PERMIT_EVACUATION not in asked(cut_off(120).snapshot, CONFIG)
