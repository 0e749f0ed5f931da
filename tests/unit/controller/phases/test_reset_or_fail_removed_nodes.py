"""Decisions about pods that are gone with their node: it was removed."""

from dataclasses import replace

import pytest

from controller.phases.ask import Need
from controller.phases.silent_nodes import Suspect, UnreachablePods
from controller.phases.snapshot import Component, HoldReason, Presence, ResetHold
from shared.api.conditions import Terminal
from tests.support.decisions import (
    EXIT_42,
    RUNNING,
    SPARING_DELETION_BEGINS,
    Situation,
    asked,
    decisions,
)
from tests.support.moments import NOW, ago

WHY = "Pod train-0 on node n1, which was removed and does not answer since 2026-01-01T00:00:00Z"
LOST = UnreachablePods(
    message=WHY, since=ago(60), pods=1, suspects=(Suspect("n1", "train-0", unreachable=True),)
)
GAVE_UP = RUNNING.job(terminal=Terminal.FAILED, message="backoff").pods(running=3).but(lost=LOST)
WITHOUT_CAUSE = GAVE_UP.configured(error_aggregation="off")


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
        "a component that failed with the node is reset at once, without a retry": (
            WITHOUT_CAUSE,
            moves(0),
        ),
        "a second removal spends one": (
            WITHOUT_CAUSE.but(lost=replace(LOST, spends_retry=True)),
            moves(1, ", spending a retry"),
        ),
        "pods without such a component have their failure grace period": (
            RUNNING.pods(running=3, failed=1, failed_named="train-0")
            .since(failure=60, unready=60)
            .but(lost=LOST)
            .configured(error_aggregation="off"),
            moves(0),
        ),
        "so have pods of which nothing is left": (
            RUNNING.pods(running=3)
            .since(failure=60, unready=60, admission=900)
            .but(lost=LOST, conditions=RUNNING.snapshot.conditions - {"PodsReady"})
            .configured(error_aggregation="off"),
            moves(0),
        ),
    }
)
def test_a_removed_node_costs_no_retry(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize(
    ("situation", "move"),
    [
        pytest.param(GAVE_UP.but(retries=3), "NodeUnreachable", id="no retry is left"),
        pytest.param(
            GAVE_UP.configured(unreachable_grace=NOW - NOW),
            "FailedComponent, spending a retry",
            id="zero switches it off",
        ),
        pytest.param(
            WITHOUT_CAUSE.pods(running=3, terminal=EXIT_42), "FailedComponent", id="exit code"
        ),
        pytest.param(GAVE_UP.but(lost=None), "FailedComponent, spending a retry", id="no node"),
    ],
)
def test_other_reasons_take_precedence(situation: Situation, move: str) -> None:
    [line] = situation.moves
    assert line.split("(")[1].split(")")[0] == move


def test_it_asks_as_an_ordinary_reset_and_waits_as_one() -> None:
    """The pods are deleted: the breaker has nothing to protect."""
    needs = asked(GAVE_UP.snapshot)
    assert Need.PERMIT_RESET in needs
    assert Need.LIVE_PODS in needs
    assert Need.PERMIT_EVACUATION not in needs
    breaker = ResetHold(HoldReason.BREAKER, "an admin must confirm")
    assert GAVE_UP.but(evacuation_hold=breaker).moves != []
    assert GAVE_UP.but(reset_hold=ResetHold(HoldReason.PAUSED, "paused")).moves == []


def test_the_root_cause_names_the_node_and_its_removal() -> None:
    [line] = [each for each in GAVE_UP.decision if each.startswith("record root cause")]
    assert "node='n1'" in line
    assert WHY in line
    assert line.endswith(": another attempt follows and spends no retry")


def test_pods_ready_keeps_the_node_for_the_next_process() -> None:
    unready = RUNNING.pods(running=3).but(lost=LOST)
    assert f"PodsReady=False (InsufficientPodsReady): 3 of 4 pods run; 3 exist; {WHY}" in (
        unready.decision
    )


def test_a_bare_pod_that_went_with_its_node_was_not_deleted_by_a_client() -> None:
    bare = Component(name="train-0", kind="Pod", presence=Presence.GONE, expected_pods=1)
    gone = RUNNING.but(components=(bare,)).pods(expected=1)
    [failed] = gone.moves
    assert failed.startswith("-> Failed (")
    assert gone.but(lost=LOST).moves == []
    job = replace(bare, kind="Job")
    assert gone.but(lost=LOST, components=(job,)).moves == [
        failed.replace("Pod train-0", "Job train-0")
    ]
