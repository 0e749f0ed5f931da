"""Pods in phase Running whose containers crash in place again and again."""

from datetime import timedelta

import pytest

from controller.phases.actions import Reason, SetCondition, StartTimer, Timer, WakeAfter
from controller.phases.phase import Phase
from controller.phases.snapshot import PodCounts
from tests.support.fakes.virtual_life import ALL_RUN, VirtualLife


def crashing(unstable: int, stable_in: float | None = None) -> PodCounts:
    """Of four; the first of them counts as running again after so many seconds, if ever."""
    return PodCounts(
        expected=4,
        running=4 - unstable,
        pending=unstable,
        unstable=unstable,
        stable_in=None if stable_in is None else timedelta(seconds=stable_in),
    )


@pytest.mark.parametrize(
    ("unstable", "text"),
    [(1, "1 pod crashes again and again"), (2, "2 pods crash again and again")],
)
def test_crashing_pods_do_not_count_as_running_and_are_reported(unstable: int, text: str) -> None:
    life = VirtualLife()
    assert life.look(pods=crashing(unstable)) == (
        SetCondition(
            "PodsReady",
            False,
            Reason.INSUFFICIENT_PODS_READY,
            f"{4 - unstable} of 4 pods run; {text}",
        ),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        StartTimer(Timer.UNREADY),
        WakeAfter(timedelta(minutes=5)),
    )


@pytest.mark.parametrize("stable_in", [29.0, 0.5])
def test_the_next_pass_is_when_the_first_pod_is_stable(stable_in: float) -> None:
    life = VirtualLife()
    life.look(pods=crashing(2))
    assert life.look(pods=crashing(2, stable_in)) == (WakeAfter(timedelta(seconds=stable_in)),)


def test_one_that_is_stable_again_was_no_trouble() -> None:
    life = VirtualLife()
    life.look(pods=crashing(1, 30))
    life.wait(29)
    life.look(pods=ALL_RUN)
    life.wait(3600)
    assert life.conditions == {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
    assert life.moves == []
    assert life.writes == 2


@pytest.mark.parametrize(("seconds", "phase"), [(359.999, Phase.RUNNING), (360, Phase.RESETTING)])
def test_a_loop_that_goes_on_is_reset_after_warmup_and_failure_grace(
    seconds: float, phase: Phase
) -> None:
    life = VirtualLife()
    life.look(pods=crashing(2))
    life.wait(300)
    why = "2 of 4 pods run or succeeded; 2 pods crash again and again"
    assert life.reported("Unhealthy") == (True, Reason.INSUFFICIENT_PODS_READY, why)
    life.wait(seconds - 300)
    assert life.phase is phase


def test_a_loop_that_runs_for_a_while_each_time_is_reset_all_the_same() -> None:
    """It never runs as long as the stability period, so it never counts as running."""
    life = VirtualLife()
    for _ in range(36):
        life.look(pods=crashing(1, 30))
        life.wait(5)
        life.look(pods=crashing(1))
        life.wait(5)
    assert life.moves == [(timedelta(seconds=360), Phase.RESETTING)]
    assert life.writes == 3
