"""Pods that come and go: few writes, and no period cut short or drawn out beyond the limit."""

from datetime import timedelta

import pytest

from controller.phases.actions import Reason
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    ConditionText,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    ResetHold,
)
from tests.support.fakes.virtual_life import ALL_RUN, START, VirtualLife

FAILED = PodCounts(expected=4, running=3, failed=1)
PENDING = PodCounts(expected=4, running=3, pending=1)
LOST = PodCounts(expected=4, running=3)
CRASHES = PodCounts(expected=4, running=3, pending=1, unstable=1, stable_in=timedelta(seconds=30))
FLAP_PERIOD = FaultTolerance().flap_period
LIMIT = FLAP_PERIOD.total_seconds()


@pytest.mark.parametrize(
    ("states", "most"),
    [
        pytest.param((PENDING, ALL_RUN), 8, id="not ready"),
        pytest.param((LOST, PENDING, ALL_RUN), 8, id="lost, made anew, ready"),
        pytest.param((FAILED, ALL_RUN), 8, id="failed"),
        pytest.param((FAILED, PENDING, ALL_RUN), 8, id="failed, replaced, ready"),
        pytest.param((FAILED, LOST, PENDING, ALL_RUN), 8, id="failed, lost, made anew, ready"),
        pytest.param((PENDING, ALL_RUN, FAILED), 10, id="not ready before it ever failed"),
        pytest.param((CRASHES, ALL_RUN), 8, id="crashes in place"),
        pytest.param((FAILED, PENDING), 10, id="fails, and another never runs"),
        pytest.param((LOST, PENDING), 8, id="lost, and another never runs"),
    ],
)
@pytest.mark.parametrize("offset", [0.0, 0.3, 0.7])
def test_a_pod_that_flaps_every_second_costs_at_most_ten_writes_in_five_minutes(
    states: tuple[PodCounts, ...], most: int, offset: float
) -> None:
    life = VirtualLife()
    life.wait(offset)
    for second in range(300):
        life.look(pods=states[second % len(states)])
        life.wait(1)
    assert life.phase is Phase.RUNNING
    assert life.writes <= most
    assert life.writes > 0


def test_an_evacuation_that_is_held_and_flaps_costs_few_writes_and_warnings() -> None:
    life = VirtualLife(evacuation_hold=ResetHold(HoldReason.BREAKER, "an admin must confirm"))
    for second in range(300):
        life.look(evacuation=None if second % 2 else Evacuation("node a is bad"))
        life.wait(1)
    assert life.writes == 8
    assert len(life.warnings) == 4


def test_not_ready_is_reported_again_after_the_limit_and_ready_at_once() -> None:
    life = VirtualLife()
    turns: list[tuple[float, bool]] = []

    def note() -> None:
        ready = "PodsReady" in life.conditions
        if ready != (turns[-1][1] if turns else True):
            turns.append((life.age.total_seconds(), ready))

    for second in range(100):
        life.look(pods=ALL_RUN if second % 2 else PENDING)
        note()
        life.wait(1)
        note()
    assert turns == [(0, False), (1, True), (LIMIT, False), (LIMIT, True)]


@pytest.mark.parametrize(("seconds", "ready"), [(LIMIT - 0.001, True), (LIMIT, False)])
def test_a_missing_pod_is_reported_at_the_end_of_the_limit(seconds: float, ready: bool) -> None:
    life = VirtualLife()
    life.look(pods=PENDING)
    life.wait(10)
    life.look(pods=ALL_RUN)
    life.look(pods=PENDING)
    life.wait(seconds - 10)
    assert ("PodsReady" in life.conditions) == ready
    assert life.snapshot.timers.warmup == (None if ready else START + FLAP_PERIOD)


@pytest.mark.parametrize(("seconds", "phase"), [(59.9, Phase.RUNNING), (60, Phase.RESETTING)])
@pytest.mark.parametrize("texts", [{}, {"Unhealthy": ConditionText(Reason.RESUMING)}])
def test_the_first_failure_of_an_attempt_waits_for_nothing(
    texts: dict[str, ConditionText], seconds: float, phase: Phase
) -> None:
    """Though PodsReady was told just now, and may not turn again."""
    life = VirtualLife(condition_texts=texts)
    life.look(pods=PENDING)
    life.look(pods=ALL_RUN)
    life.look(pods=FAILED)
    assert life.conditions >= {"Unhealthy"}
    assert "PodsReady" not in life.conditions, "it is told with the failure"
    life.wait(seconds)
    assert life.phase is phase


@pytest.mark.parametrize(
    ("seconds", "phase"),
    [(LIMIT + 60 - 0.001, Phase.RUNNING), (LIMIT + 60, Phase.RESETTING)],
)
def test_a_second_failure_is_answered_late_by_no_more_than_the_limit(
    seconds: float, phase: Phase
) -> None:
    """It failed at 20 s, healed at 25 s and failed again at 30 s, for good."""
    life = VirtualLife()
    life.wait(20)
    life.look(pods=FAILED)
    life.wait(5)
    life.look(pods=ALL_RUN)
    assert life.reported("Unhealthy") == (False, Reason.NO_FAILED_PODS, "")
    life.wait(5)
    life.look(pods=FAILED)
    life.wait(seconds - 10)
    assert life.phase is phase
    assert life.snapshot.retries == (phase is Phase.RESETTING)


def test_a_failure_that_returns_at_once_keeps_its_grace_period() -> None:
    life = VirtualLife()
    life.look(pods=FAILED)
    life.wait(2)
    life.look(pods=PENDING)
    assert "Unhealthy" in life.conditions
    life.wait(2)
    life.look(pods=FAILED)
    life.wait(55)
    assert life.phase is Phase.RUNNING
    life.wait(1)
    assert life.moves == [(timedelta(seconds=60), Phase.RESETTING)]


@pytest.mark.parametrize(("seconds", "unhealthy"), [(4.999, True), (5, False)])
def test_healing_is_reported_after_the_settle_period(seconds: float, unhealthy: bool) -> None:
    life = VirtualLife()
    life.look(pods=FAILED)
    life.wait(1)
    life.look(pods=PENDING)
    life.wait(seconds - 1)
    assert ("Unhealthy" in life.conditions) == unhealthy


@pytest.mark.parametrize(("seconds", "unhealthy"), [(0.999, True), (1, False)])
def test_the_settle_period_is_configurable(seconds: float, unhealthy: bool) -> None:
    life = VirtualLife(FaultTolerance(settle_period=timedelta(seconds=1)))
    life.look(pods=FAILED)
    life.look(pods=PENDING)
    life.wait(seconds)
    assert ("Unhealthy" in life.conditions) == unhealthy


@pytest.mark.parametrize(("seconds", "ready"), [(9.999, True), (10, False)])
def test_the_flap_period_is_configurable(seconds: float, ready: bool) -> None:
    life = VirtualLife(FaultTolerance(flap_period=timedelta(seconds=10)))
    for pods in (PENDING, ALL_RUN, PENDING):
        life.look(pods=pods)
    life.wait(seconds)
    assert ("PodsReady" in life.conditions) == ready


@pytest.mark.parametrize(("seconds", "unhealthy"), [(9.999, False), (10, True)])
def test_the_settle_period_applies_to_a_failure_that_returns(
    seconds: float, unhealthy: bool
) -> None:
    life = VirtualLife(FaultTolerance(flap_period=timedelta(seconds=10)))
    for pods in (FAILED, ALL_RUN, FAILED):
        life.look(pods=pods)
    life.wait(seconds)
    assert ("Unhealthy" in life.conditions) == unhealthy


@pytest.mark.parametrize("lost_again", [9, 11])
def test_the_flap_period_applies_to_the_periods_of_lost_pods(lost_again: int) -> None:
    life = VirtualLife(FaultTolerance(flap_period=timedelta(seconds=10)))
    life.look(pods=LOST)
    life.look(pods=PENDING)
    life.wait(lost_again)
    life.look(pods=LOST)
    life.look(pods=PENDING)
    life.wait(1)
    assert life.snapshot.timers.warmup == START + timedelta(seconds=max(lost_again, 10))


def test_healing_is_reported_at_once_with_readiness() -> None:
    life = VirtualLife()
    life.look(pods=FAILED)
    life.wait(1)
    life.look(pods=ALL_RUN)
    assert life.conditions == {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
    assert life.writes == 2


WARMUP = FaultTolerance().warmup_grace.total_seconds()


@pytest.mark.parametrize(("seconds", "unhealthy"), [(WARMUP - 0.001, False), (WARMUP, True)])
@pytest.mark.parametrize(
    ("lost_again", "begins"),
    [
        pytest.param(30, LIMIT, id="within the limit, at the end of the limit"),
        pytest.param(100, 100, id="later, at once"),
    ],
)
def test_every_pod_that_is_lost_gives_the_others_a_whole_warmup(
    lost_again: float, begins: float, seconds: float, unhealthy: bool
) -> None:
    """Also while PodsReady is False, and though it was replaced before that could be written."""
    life = VirtualLife()
    life.look(pods=LOST)
    life.wait(10)
    life.look(pods=PENDING)
    life.wait(lost_again - 10)
    life.look(pods=LOST)
    life.wait(1)
    life.look(pods=PENDING)
    life.wait(begins - lost_again - 1 + seconds)
    assert ("Unhealthy" in life.conditions) == unhealthy


def test_a_fall_that_is_not_written_yet_fails_nothing() -> None:
    """The old admission period is over at 60 s, the fall of 50 s is written at 75 s."""
    life = VirtualLife(FaultTolerance(failure_grace=timedelta(0)))
    life.look(pods=LOST)
    life.wait(10)
    life.look(pods=PENDING)
    life.wait(40)
    life.look(pods=LOST)
    life.wait(LIMIT + 60 - 50 - 0.001)
    assert life.phase is Phase.RUNNING
    life.wait(0.001)
    assert life.moves == [(FLAP_PERIOD + timedelta(seconds=60), Phase.RESETTING)]


def test_another_phase_forgets_the_time_of_the_last_report() -> None:
    life = VirtualLife()
    life.look(pods=PENDING)
    life.look(suspend=True)
    assert life.snapshot.timers.unready is None
