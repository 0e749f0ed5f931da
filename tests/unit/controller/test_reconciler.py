from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation, Reads
from controller.fleet.reset_holds import ResetGate
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot, Timers
from controller.reconciler import Reconciler, rest_after
from controller.runtime.worker import Done, RequeueAfter
from shared.api.appwrapper import AppWrapper
from shared.api.names import CONDITION_DELETING_RESOURCES
from shared.api.objects import PODS
from shared.config.fault_tolerance import ResetRateLimit
from tests.support.fakes.fake_clock import START, FakeClock

KEY = ("team1", "train")


class Steps:
    """Gathers and applies as told."""

    def __init__(self, observation: Observation | None, delay: timedelta | None) -> None:
        self._observation = observation
        self._delay = delay
        self.applied: list[Any] = []

    async def begin(self, key: tuple[str, str], now: datetime) -> Reads | None:
        assert (key, now) == (KEY, START)
        found = self._observation
        if found is None:
            return None
        return Reads(found, now)

    async def apply(self, observation: Observation, actions: Any, now: datetime) -> Any:
        assert now == START
        self.applied.append(actions)
        return self._delay


def observation(look_again: timedelta | None = None) -> Observation:
    suspended = Snapshot(phase=Phase.SUSPENDED, suspend=True)
    return Observation(
        AppWrapper({"metadata": {"uid": "u1"}}),
        suspended,
        FaultTolerance(),
        look_again=look_again,
    )


def unlimited() -> ResetGate:
    return ResetGate(ResetRateLimit(), lambda _: None)


def reconciler(steps: Any) -> Reconciler:
    return Reconciler(steps, steps, FakeClock(), unlimited())


async def test_an_appwrapper_of_another_controller_is_ignored() -> None:
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


async def test_without_any_wish_only_a_change_matters() -> None:
    assert await reconciler(Steps(observation(), None)).reconcile(KEY) == RequeueAfter(None)


@pytest.mark.parametrize(
    ("snapshot", "acted"),
    [
        pytest.param(Snapshot(phase=Phase.EMPTY), True, id="moves on"),
        pytest.param(
            Snapshot(
                phase=Phase.RESETTING,
                conditions=frozenset({CONDITION_DELETING_RESOURCES}),
                timers=Timers(forceful_deletion=START),
            ),
            False,
            id="only waits",
        ),
    ],
)
async def test_a_pass_reports_whether_it_did_more_than_wait(
    snapshot: Snapshot, acted: bool
) -> None:
    steps = Steps(
        Observation(AppWrapper({"metadata": {"uid": "u1"}}), snapshot, FaultTolerance()), None
    )
    assert await reconciler(steps).reconcile(KEY) == RequeueAfter(None, acted)
    assert len(steps.applied) == 1
    assert steps.applied[0] != ()


@pytest.mark.parametrize(
    ("pods", "acted", "milliseconds"),
    [
        (0, False, 0),
        (100, False, 0),
        (101, False, 10.1),
        (1000, False, 100),
        (1000, True, 0),
        (5000, False, 500),
        (100_000, False, 500),
    ],
)
def test_an_appwrapper_of_many_pods_rests_between_passes(
    pods: int, acted: bool, milliseconds: float
) -> None:
    assert rest_after(pods, acted=acted) == timedelta(milliseconds=milliseconds)


async def test_the_pods_that_are_there_count() -> None:
    pods = tuple(DeployedObject(PODS, f"p{n}", f"u{n}", deleting=False) for n in range(1000))
    steps = Steps(replace(observation(), pods=pods), None)
    assert await reconciler(steps).reconcile(KEY) == RequeueAfter(rest=timedelta(milliseconds=100))
