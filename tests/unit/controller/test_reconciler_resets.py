"""A reset that was decided on is asked for, and decided on again where it must wait."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.observe import Observation
from controller.fleet.reset_gate import ResetGate
from controller.phases.actions import Actions, MoveTo, Reason, SetCondition
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    Presence,
    Snapshot,
)
from controller.reconciler import Reconciler
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import Terminal
from shared.config.fault_tolerance import ResetRateLimit
from tests.support.builders.autopilot import GPU
from tests.support.fakes.fake_clock import START, FakeClock

KEY = ("team1", "train")
EVACUATION = Evacuation("node n1 is bad", resources=frozenset({GPU}))


class Gate:
    """The breakers, all open or all closed."""

    told: str | None = None

    def closed_to(self, resources: Any) -> str | None:
        assert resources == {GPU}
        return self.told


class World:
    """One AppWrapper under a reconciler; `reset_gate` has one token."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.live: Snapshot | None = None  # where the API server knows better
        self.looks: list[bool] = []
        self.retry_limit = 3
        self.gate = Gate()
        self.reset_gate = ResetGate(ResetRateLimit(per_second=1.0, burst=1), self.gate)
        self.applied: list[Actions] = []

    async def gather(
        self, key: Any, now: datetime, *, live_pods: bool = False, records: bool = False
    ) -> Observation:
        self.looks.append(live_pods)
        appwrapper = AppWrapper({"metadata": {"uid": "u1"}})
        config = FaultTolerance(failure_grace=timedelta(0), retry_limit=self.retry_limit)
        seen = self.live if live_pods and self.live else self.snapshot
        return Observation(appwrapper, seen, config)

    async def apply(self, observation: Observation, actions: Actions, now: datetime) -> None:
        self.applied.append(actions)

    async def decided(self) -> tuple[MoveTo | None, SetCondition | None]:
        """What one pass moves to, and what it says of Unhealthy."""
        steps: Any = self
        await Reconciler(steps, steps, FakeClock(), self.reset_gate).reconcile(KEY)
        actions = self.applied[-1]
        moves = [each for each in actions if isinstance(each, MoveTo)]
        conditions = [each for each in actions if isinstance(each, SetCondition)]
        unhealthy = [each for each in conditions if each.type == "Unhealthy"]
        return next(iter(moves), None), next(iter(unhealthy), None)

    def use_the_token(self) -> None:
        with self.reset_gate.asking("other", ("team1", "other"), START) as asking:
            assert asking.hold(None) is None


def running(*, failed: bool = False, evacuation: Evacuation | None = None) -> World:
    terminal = Terminal.FAILED if failed else None
    job = Component(
        name="train",
        kind="Job",
        presence=Presence.PRESENT,
        expected_pods=1,
        reports=True,
        terminal=terminal,
        message="gave up",
    )
    conditions = frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady"})
    snapshot = Snapshot(
        phase=Phase.RUNNING,
        conditions=conditions,
        components=(job,),
        pods=PodCounts(expected=1, running=1),
        labelled_pods=1,
        evacuation=evacuation,
    )
    return World(snapshot)


async def test_a_failure_takes_a_token_and_waits_without_one() -> None:
    world = running(failed=True)
    world.use_the_token()
    move, unhealthy = await world.decided()
    assert move is None
    assert unhealthy is not None
    assert unhealthy.reason is Reason.RESET_THROTTLED
    assert world.reset_gate.held(HoldReason.RATE) == [KEY]


ONE_FAILED = PodCounts(expected=1, failed=1)


@pytest.mark.parametrize(
    ("retry_limit", "stale"),
    [
        pytest.param(0, {"pods": ONE_FAILED}, id="it would fail for a failed pod"),
        pytest.param(3, {"pods": ONE_FAILED}, id="it would be reset for a failed pod"),
        pytest.param(0, {"evacuation": EVACUATION}, id="it would fail for a bad node"),
    ],
)
async def test_nothing_is_ended_for_pods_that_only_a_cache_shows(
    retry_limit: int, stale: dict[str, Any]
) -> None:
    world = running()
    world.retry_limit = retry_limit
    world.live, world.snapshot = world.snapshot, replace(world.snapshot, **stale)
    assert await world.decided() == (None, None)
    assert world.looks == [False, True]


async def test_a_reset_is_permitted_after_the_api_server_confirms_it() -> None:
    world = running()
    world.snapshot = replace(world.snapshot, pods=ONE_FAILED)
    move, _ = await world.decided()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.FAILED_PODS)
    assert world.looks == [False, True]


async def test_a_component_that_reports_its_failure_needs_no_live_pods() -> None:
    world = running(failed=True)
    move, _ = await world.decided()
    assert move is not None
    assert world.looks == [False]


async def test_an_evacuation_needs_no_token() -> None:
    world = running(evacuation=EVACUATION)
    world.use_the_token()
    move, _ = await world.decided()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.AUTOPILOT_NO_EXECUTE)
    assert world.looks == [False]  # nor a list, which may take its time


async def test_a_held_evacuation_is_reported() -> None:
    world = running(evacuation=EVACUATION)
    world.gate.told = "an admin must confirm"
    move, unhealthy = await world.decided()
    assert move is None
    assert unhealthy is not None
    assert unhealthy.reason is Reason.EVACUATION_HELD
    assert unhealthy.message == "node n1 is bad; an admin must confirm"
    assert world.reset_gate.held(HoldReason.BREAKER) == [KEY]


async def test_one_without_a_retry_left_fails_no_sooner_than_others_are_evacuated() -> None:
    world = running(evacuation=EVACUATION)
    world.retry_limit = 0
    world.gate.told = "an admin must confirm"
    move, unhealthy = await world.decided()
    assert move is None
    assert unhealthy is not None
    assert unhealthy.reason is Reason.EVACUATION_HELD
    world.gate.told = None
    move, _ = await world.decided()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.FAILED, Reason.AUTOPILOT_NO_EXECUTE)


async def test_a_failure_without_a_retry_left_waits_for_nothing() -> None:
    world = running(failed=True)
    world.retry_limit = 0
    world.reset_gate.paused = True
    move, _ = await world.decided()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.FAILED, Reason.FAILED_COMPONENT)


@pytest.mark.parametrize("throttled", [False, True])
async def test_one_that_fails_while_its_evacuation_is_held_is_reset_as_any_other(
    throttled: bool,
) -> None:
    world = failing_pods_on_a_bad_node()
    world.gate.told = "an admin must confirm"
    if throttled:
        world.use_the_token()
    move, unhealthy = await world.decided()
    assert unhealthy is not None
    if throttled:
        assert (move, unhealthy.reason) == (None, Reason.RESET_THROTTLED)
        # What it could be reset for, were it its turn; the breaker is another matter.
        assert unhealthy.message == ("1 failed pod; resets in this cluster are paced at 1 a second")
        assert world.reset_gate.held(HoldReason.BREAKER) == [KEY]
        assert world.reset_gate.held(HoldReason.RATE) == [KEY]
    else:
        assert move is not None
        assert (move.phase, move.reason) == (Phase.RESETTING, Reason.FAILED_PODS)


def failing_pods_on_a_bad_node() -> World:
    world = running(evacuation=EVACUATION)
    pods = PodCounts(expected=2, running=1, failed=1)
    snapshot = world.snapshot
    job = snapshot.components[0]
    world.snapshot = Snapshot(
        phase=snapshot.phase,
        conditions=snapshot.conditions,
        components=(job,),
        pods=pods,
        labelled_pods=2,
        evacuation=EVACUATION,
    )
    return world


async def test_while_resets_are_paused_nothing_is_reset() -> None:
    for world in (running(failed=True), running(evacuation=EVACUATION)):
        world.reset_gate.paused = True
        move, unhealthy = await world.decided()
        assert move is None
        assert unhealthy is not None
        assert unhealthy.reason is Reason.RESETS_PAUSED
        assert world.reset_gate.held(HoldReason.PAUSED) == [KEY]


async def test_a_healthy_appwrapper_waits_for_no_permit() -> None:
    world = running()
    world.reset_gate.paused = True
    assert await world.decided() == (None, None)
    assert world.reset_gate.held(HoldReason.PAUSED) == []


async def test_an_appwrapper_that_recovers_returns_its_permit() -> None:
    world = running(failed=True)
    world.use_the_token()
    await world.decided()
    assert world.reset_gate.askers == {KEY, ("team1", "other")}
    assert world.reset_gate.held(HoldReason.RATE) == [KEY]
    world.snapshot = running().snapshot
    assert await world.decided() == (None, None)
    assert world.reset_gate.askers == {("team1", "other")}
    assert world.reset_gate.held(HoldReason.RATE) == []
    with world.reset_gate.asking("third", ("team1", "third"), START) as asking:
        hold = asking.hold(None)
    assert hold is not None
    assert hold.retry_in == timedelta(seconds=1), "nobody is before it in the line"


async def test_who_asks_for_nothing_is_not_remembered() -> None:
    world = running()
    await world.decided()
    assert world.reset_gate.askers == set()
    world.snapshot = running(failed=True).snapshot
    move, _ = await world.decided()
    assert move is not None
    assert world.reset_gate.askers == {KEY}, "it has a token until it asks no more"
    world.reset_gate.forget("u1", KEY)
    assert world.reset_gate.askers == set()
