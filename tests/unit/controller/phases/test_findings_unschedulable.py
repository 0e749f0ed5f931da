"""A pod that no node can hold: Failed after failUnschedulable, from both sides of the deadline."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    ResetHold,
)
from controller.reports.reason import Reason
from shared.api.conditions import Terminal
from tests.support.decisions import HOLDING, RUNNING, Situation, asked
from tests.support.fakes.virtual_life import ALL_RUN, START, VirtualLife

WHY = "no node can hold pod a, which requests 16 nvidia.com/gpu: the largest node, n1, has 8"
WAITS = PodCounts(expected=4, running=3, pending=1, rejected="a: no room", no_node=WHY)
FITS = replace(WAITS, no_node="")
ON = FaultTolerance(fail_unschedulable=timedelta(minutes=2))


PAUSED = ResetHold(HoldReason.PAUSED, "an admin set pauseResets")
BREAKER = ResetHold(HoldReason.BREAKER, "12 of 40 nodes turned bad", timedelta(seconds=30))
DUE = RUNNING.but(pods=WAITS, conditions=HOLDING, reset_hold=PAUSED)
DUE = DUE.configured(fail_unschedulable=timedelta(minutes=2))
EVACUATED = DUE.but(evacuation=Evacuation("pod b on node n"))
GAVE_UP = DUE.job(terminal=Terminal.FAILED, message="BackoffLimitExceeded", failure_recorded=True)


def waiting(config: FaultTolerance = ON) -> VirtualLife:
    life = VirtualLife(config, conditions=HOLDING)
    life.look(pods=WAITS)
    return life


@pytest.mark.parametrize(("seconds", "phase"), [(119.9, Phase.RUNNING), (120.0, Phase.FAILED)])
def test_it_fails_when_the_period_is_over_and_not_before(seconds: float, phase: Phase) -> None:
    life = waiting()
    assert life.snapshot.timers.unschedulable == START
    life.wait(seconds)
    assert life.is_in(phase)


def test_it_fails_by_itself_whatever_the_retry_limit_and_reports_the_pod() -> None:
    life = waiting()
    life.wait(120)
    assert life.moves == [(timedelta(seconds=120), Phase.FAILED)]
    assert life.snapshot.retries == 0
    text = life.snapshot.text_of("Unhealthy")
    assert (text.reason, text.message) == (Reason.UNSCHEDULABLE, WHY)
    assert {"QuotaReserved", "ResourcesDeployed"} <= life.conditions, "until all is deleted"


def test_a_node_that_could_hold_it_ends_the_period() -> None:
    life = waiting()
    life.wait(119)
    life.look(pods=FITS)
    assert life.snapshot.timers.unschedulable is None
    life.wait(1)
    life.look(pods=WAITS)
    life.wait(119.9)
    assert life.is_in(Phase.RUNNING)
    life.wait(0.1)
    assert life.is_in(Phase.FAILED)


def test_without_the_period_the_pod_waits_for_its_warm_up() -> None:
    life = waiting(FaultTolerance())
    life.wait(299.9)
    assert life.is_in(Phase.RUNNING)
    assert life.snapshot.timers.unschedulable is None
    assert "Unhealthy" not in life.conditions


def test_pods_that_run_after_all_are_sound() -> None:
    life = waiting()
    life.look(pods=ALL_RUN)
    assert life.snapshot.timers.unschedulable is None
    assert "PodsReady" in life.conditions


def test_a_live_list_of_the_pods_confirms_it() -> None:
    due = RUNNING.but(pods=WAITS, conditions=HOLDING).since(unschedulable=120, warmup=121)
    assert Need.LIVE_PODS in asked(due.snapshot, ON)
    early = due.since(unschedulable=119, warmup=121)
    assert Need.LIVE_PODS not in asked(early.snapshot, ON)


@pytest.mark.parametrize(
    ("held", "wakes"),
    [
        pytest.param(EVACUATED.but(evacuation_hold=BREAKER), ["wake after 30s"], id="breaker"),
        pytest.param(EVACUATED.but(evacuation_hold=PAUSED), [], id="evacuation"),
        pytest.param(GAVE_UP, [], id="failed component"),
    ],
)
def test_what_an_admin_or_the_breaker_holds_waits_without_a_loop(
    held: Situation, wakes: list[str]
) -> None:
    over = held.since(unschedulable=3600, admission=0, warmup=3600, failure=3600)
    assert over.moves == []
    assert [each for each in over.decision if each.startswith("wake")] == wakes
    almost = held.since(unschedulable=119, admission=0, warmup=3600, failure=3600)
    assert "wake after 1s" in almost.decision
