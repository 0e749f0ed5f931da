"""The error store is read before a decision about a failure, and its records decide."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.phases.actions import MoveTo, StartTimer, Timer
from controller.phases.ask import Need
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import HoldReason, PodCounts
from shared.api.conditions import Terminal
from tests.support.decisions import JOB, RUNNING
from tests.support.fakes.reconciled import EVACUATION, KEY, Reconciled

READING = {"reads_store": True}
READ = {"store_read": True}
FATAL = {"root_cause": RootCause(pod="train-1", recoverable=False), "store_read": True}
FAILED = [Need.OBSERVED, Need.NAMESPACE]  # what a failed component asks for first


def gave_up(stored: dict[str, Any], **config: Any) -> Reconciled:
    """A component failed, and the store has these records."""
    world = Reconciled(RUNNING.snapshot, **{"error_store": "team", **config})
    world.snapshot = replace(
        world.snapshot,
        components=(replace(JOB, terminal=Terminal.FAILED),),
        pods=PodCounts(expected=4, failed=1),
        labelled_pods=1,
    )
    world.stored = stored
    return world


def evacuated(stored: dict[str, Any], **config: Any) -> Reconciled:
    """A pod failed beside running pods on a bad node."""
    world = gave_up(stored, **config)
    world.snapshot = replace(
        world.snapshot,
        components=(JOB,),
        pods=PodCounts(expected=4, running=3, failed=1),
        evacuation=EVACUATION,
    )
    return world


async def test_a_decision_waits_while_the_store_is_read() -> None:
    world = gave_up(READING)
    assert await world.moved() == ""
    assert world.reads == [[*FAILED, Need.RECORDS]]
    assert StartTimer(Timer.STORE) in world.applied
    assert world.asks("other") is None, "the token is not used"


async def test_the_records_that_were_read_decide() -> None:
    assert await gave_up(FATAL).moved() == "Failed: FailedComponent"


async def test_a_store_that_cannot_be_read_changes_nothing() -> None:
    assert await gave_up(READ).moved() == "Resetting: FailedComponent"


@pytest.mark.parametrize("config", [{"error_store": ""}, {"error_aggregation": "off"}])
async def test_without_a_store_nothing_is_read(config: dict[str, str]) -> None:
    world = gave_up(READING, **config)
    assert await world.moved() == "Resetting: FailedComponent"
    assert Need.RECORDS not in world.reads[0]


def message(world: Reconciled) -> str:
    (move,) = (each for each in world.applied if isinstance(each, MoveTo))
    return move.message


async def test_records_of_the_store_decide_about_failed_pods_with_a_held_evacuation() -> None:
    world = evacuated(FATAL)
    world.breakers.message = "an admin must confirm"
    assert await world.moved() == "Failed: FoundFailedPods"
    assert message(world).startswith("no retry: the program recorded that none can help")
    assert world.reads == [[Need.OBSERVED, Need.RECORDS, Need.LIVE_PODS]]


async def test_failed_pods_with_a_held_evacuation_wait_while_the_store_is_read() -> None:
    world = evacuated(READING)
    world.breakers.message = "an admin must confirm"
    assert await world.moved() == ""
    assert StartTimer(Timer.STORE) in world.applied
    assert world.reads == [[Need.OBSERVED, Need.RECORDS]]
    assert world.reset_gate.held(HoldReason.BREAKER) == [KEY]


async def test_a_permitted_evacuation_reads_no_store() -> None:
    world = evacuated(FATAL)
    assert await world.moved() == "Resetting: AutopilotNoExecute"
    assert world.reads == [[Need.OBSERVED, Need.LIVE_LABELS]]


async def test_records_of_the_store_decide_about_a_failure_that_only_live_pods_show() -> None:
    """The cache shows a pod on a bad node that is gone: no evacuation, but failed pods."""
    world = evacuated(FATAL, retry_limit=0)
    world.live = {"evacuation": None}
    assert await world.moved() == "Failed: FoundFailedPods"
    assert message(world).startswith("no retry: the program recorded that none can help")
    assert world.reads == [[Need.OBSERVED, Need.LIVE_LABELS, Need.LIVE_PODS, Need.RECORDS]]


async def test_a_throttled_reset_keeps_its_place_while_the_store_is_read() -> None:
    world = gave_up(READ)
    for other in ("a", "b"):
        world.asks(other)
    for _ in range(2):
        assert await world.moved() == ""
    assert world.asks("last") == timedelta(seconds=3), "after b and train"
