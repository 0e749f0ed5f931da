"""Under a topology: whether the next attempt begins, or Kueue is asked for other nodes first."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import (
    EvictWorkload,
    MoveTo,
    Reason,
    SetCondition,
    WakeAfter,
    Warn,
)
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.reassignment import REASSIGNMENT_PATIENCE as PATIENCE
from controller.phases.snapshot import (
    ConditionText,
    Misplacement,
    Snapshot,
    Timers,
)
from shared.waits.workload import PodsReadyEviction
from tests.support.decisions import CONFIG, asked
from tests.support.moments import NOW

OVER = NOW - CONFIG.retry_pause
BAD = Misplacement("its pods are assigned to node n1 (cordoned)", "appwrapper-train", "w1", "7")
ASKED = (
    "its pods are assigned to node n1 (cordoned); Kueue is asked to evict Workload "
    "appwrapper-train and to assign other nodes: the quota is released for a moment, and another "
    "workload can get it"
)
SAYS = SetCondition("Unhealthy", True, Reason.REASSIGNMENT, ASKED)
EVICTS = EvictWorkload(BAD)
ASKED_TEXTS = {"Unhealthy": ConditionText(Reason.REASSIGNMENT, ASKED)}


def resetting(began: datetime = OVER, **changes: Any) -> Snapshot:
    """All is gone, and the pause began then."""
    snapshot = Snapshot(
        phase=Phase.RESETTING,
        finalizer=True,
        topology_workload="appwrapper-train",
        conditions=frozenset({"QuotaReserved", "Unhealthy"}),
        timers=Timers(retry_pause=began),
    )
    return replace(snapshot, **changes)


def decided(snapshot: Snapshot) -> tuple[Any, ...]:
    return decide(snapshot, NOW, CONFIG)


def is_looked_at(snapshot: Snapshot) -> bool:
    return Need.ASSIGNMENT in asked(snapshot, CONFIG)


def test_the_condition_is_written_before_the_eviction() -> None:
    asks = (SAYS, EVICTS, WakeAfter(timedelta(seconds=1)))
    assert decided(resetting(misplacement=BAD)) == asks


def test_the_condition_is_written_once_and_the_eviction_repeated_until_kueue_begins() -> None:
    snapshot = resetting(misplacement=BAD, condition_texts=ASKED_TEXTS)
    assert decided(snapshot) == (EVICTS, WakeAfter(timedelta(seconds=1)))
    heard = replace(snapshot, misplacement=replace(BAD, evicted=True))
    assert decided(heard) == (WakeAfter(timedelta(seconds=5)),)


def test_an_eviction_by_kueue_is_awaited_for_a_limited_time() -> None:
    busy = replace(BAD, evicted=True)
    in_time = resetting(OVER - PATIENCE + timedelta(seconds=1), misplacement=busy)
    assert decided(in_time) == (WakeAfter(timedelta(seconds=5)),)
    move, *_ = decided(resetting(OVER - PATIENCE, misplacement=busy))
    assert move == MoveTo(Phase.RESUMING, Reason.RETRY_PAUSE_OVER)


def test_kueues_answer_is_that_it_suspends() -> None:
    move, *_ = decided(resetting(misplacement=BAD, suspend=True, condition_texts=ASKED_TEXTS))
    assert move == MoveTo(Phase.SUSPENDING, Reason.SUSPENDING)


@pytest.mark.parametrize(
    ("began", "texts", "looks"),
    [
        (OVER, {}, True),
        (OVER + timedelta(seconds=1), {}, False),  # the pause is not over
        (OVER - PATIENCE + timedelta(seconds=1), ASKED_TEXTS, True),
        (OVER - PATIENCE, ASKED_TEXTS, False),
        (OVER - timedelta(days=1), {}, True),  # nobody was there to ask
    ],
)
def test_the_assigned_nodes_are_read_when_the_next_attempt_is_due(
    began: datetime, texts: dict[str, ConditionText], looks: bool
) -> None:
    assert is_looked_at(resetting(began, condition_texts=texts)) is looks


@pytest.mark.parametrize(
    "changes",
    [
        {"topology_workload": ""},
        {"suspend": True},
        {"phase": Phase.RUNNING},
        {"timers": Timers()},
        {"deletion_requested": True},
    ],
)
def test_the_assigned_nodes_are_read_in_no_other_situation(changes: dict[str, Any]) -> None:
    assert not is_looked_at(resetting(**changes))


def test_without_an_answer_the_next_attempt_begins_with_a_warning() -> None:
    warning, *rest = decided(resetting(OVER - PATIENCE, condition_texts=ASKED_TEXTS))
    words = (
        "Kueue did not evict Workload appwrapper-train in time: the next attempt begins on the "
        "same nodes. Check that Kueue runs and that the controller may patch workloads/status"
    )
    assert warning == Warn(Reason.REASSIGNMENT, words)
    assert SetCondition("QuotaReserved", True, Reason.RESUMING, words) in rest
    assert MoveTo(Phase.RESUMING, Reason.RETRY_PAUSE_OVER) in rest


def test_a_node_that_is_well_again_in_time_is_no_trouble() -> None:
    first, *rest = decided(
        resetting(OVER - PATIENCE + timedelta(seconds=1), condition_texts=ASKED_TEXTS)
    )
    assert first == MoveTo(Phase.RESUMING, Reason.RETRY_PAUSE_OVER)
    assert not any(isinstance(each, Warn) for each in rest)


def test_while_it_waits_again_quota_reserved_shows_why() -> None:
    gone = Snapshot(
        phase=Phase.SUSPENDING, suspend=True, finalizer=True, gone=True, condition_texts=ASKED_TEXTS
    )
    report = SetCondition(
        "QuotaReserved",
        False,
        Reason.REASSIGNMENT,
        "Kueue was asked to assign other nodes, so the quota is released. Kueue keeps its place "
        "in the queue; another workload can get the quota first",
    )
    assert report in decided(gone)
    preempted = replace(gone, condition_texts={})
    assert SetCondition("QuotaReserved", False, Reason.SUSPENDED) in decided(preempted)
    late = replace(gone, pods_ready_eviction=PodsReadyEviction("appwrapper-train", 1))
    (found,) = (
        each
        for each in decided(late)
        if isinstance(each, SetCondition) and each.type == "QuotaReserved"
    )
    assert found.reason is Reason.PODS_READY_TIMEOUT
