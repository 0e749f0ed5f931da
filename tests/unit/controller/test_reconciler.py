from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.observation import Observation
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from controller.reconciler import RESYNC, Reconciler
from controller.runtime.outcome import Done, RequeueAfter
from shared.api.appwrapper import AppWrapper
from tests.builders.fake_clock import START, FakeClock

KEY = ("team1", "train")


class Steps:
    """Gathers and applies as told."""

    def __init__(self, observation: Observation | None, delay: timedelta | None) -> None:
        self._observation = observation
        self._delay = delay
        self.applied: list[Any] = []

    async def gather(self, key: tuple[str, str], now: datetime) -> Observation | None:
        assert (key, now) == (KEY, START)
        return self._observation

    async def apply(self, observation: Observation, actions: Any, now: datetime) -> Any:
        assert now == START
        self.applied.append(actions)
        return self._delay


def observation(look_again: timedelta | None = None) -> Observation:
    suspended = Snapshot(phase=Phase.SUSPENDED, suspend=True)
    return Observation(AppWrapper({}), suspended, FaultTolerance(), look_again=look_again)


def reconciler(steps: Any) -> Reconciler:
    return Reconciler(steps, steps, FakeClock())


async def test_nothing_of_ours_is_done() -> None:
    steps = Steps(None, None)
    assert await reconciler(steps).reconcile(KEY) == Done()
    assert steps.applied == []


@pytest.mark.parametrize(
    ("delay", "look_again", "expected"),
    [
        (timedelta(0), None, timedelta(0)),
        (timedelta(seconds=9), timedelta(seconds=30), timedelta(seconds=9)),
        (timedelta(days=7), timedelta(seconds=30), timedelta(seconds=30)),
    ],
)
async def test_the_earliest_wish_counts(
    delay: timedelta, look_again: timedelta | None, expected: timedelta
) -> None:
    steps = Steps(observation(look_again), delay)
    assert await reconciler(steps).reconcile(KEY) == RequeueAfter(expected)
    assert steps.applied == [()]


async def test_without_any_wish_there_is_the_resync() -> None:
    outcome = await reconciler(Steps(observation(), None)).reconcile(KEY)
    assert isinstance(outcome, RequeueAfter)
    assert RESYNC * 0.9 <= outcome.delay <= RESYNC * 1.1
