"""The error store is asked when a failure is about to be answered, and its records decide."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.observe import Observation
from controller.fleet.reset_gate import ResetGate
from controller.phases.actions import Actions, MoveTo, Reason, StartTimer, Timer
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
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
from tests.support.fakes.fake_clock import FakeClock

KEY = ("team1", "train")
FATAL = RootCause(pod="train-1", recoverable=False)


class Gate:
    """The breaker of evacuations: open with `told`."""

    told: str | None = None

    def closed_to(self, resources: Any) -> str | None:
        return self.told


class World:
    """One AppWrapper whose component gave up. `stored` is what the store makes of it."""

    def __init__(self, stored: Snapshot, **config: Any) -> None:
        job = Component(
            name="train",
            kind="Job",
            presence=Presence.PRESENT,
            expected_pods=1,
            reports=True,
            terminal=Terminal.FAILED,
        )
        self.plain = Snapshot(
            phase=Phase.RUNNING,
            conditions=frozenset({"QuotaReserved", "ResourcesDeployed"}),
            components=(job,),
            pods=PodCounts(expected=1, failed=1),
            labelled_pods=1,
        )
        self.stored = replace(
            self.plain,
            root_cause=stored.root_cause,
            reads_store=stored.reads_store,
            store_read=stored.store_read,
        )
        self.config = FaultTolerance(**{"error_store": "team", **config})
        self.looks: list[tuple[bool, bool]] = []
        self.gate = Gate()
        self.reset_gate = ResetGate(ResetRateLimit(per_second=1.0, burst=1), self.gate)
        self.live: dict[str, Any] = {}  # where the API server knows better than the watch
        self.applied: Actions = ()

    async def gather(
        self, key: Any, now: datetime, *, live_pods: bool = False, records: bool = False
    ) -> Observation:
        self.looks.append((live_pods, records))
        appwrapper = AppWrapper({"metadata": {"uid": "u1"}})
        seen = self.stored if records else self.plain
        if live_pods:
            seen = replace(seen, **self.live)
        return Observation(appwrapper, seen, self.config)

    async def apply(self, observation: Observation, actions: Actions, now: datetime) -> None:
        self.applied = actions

    async def moved(self) -> MoveTo | None:
        steps: Any = self
        await Reconciler(steps, steps, FakeClock(), self.reset_gate).reconcile(KEY)
        return next((each for each in self.applied if isinstance(each, MoveTo)), None)


async def test_a_decision_waits_while_the_store_is_read() -> None:
    world = World(Snapshot(phase=Phase.RUNNING, reads_store=True))
    assert await world.moved() is None
    assert world.looks == [(False, False), (False, True)]
    assert StartTimer(Timer.STORE) in world.applied
    with world.reset_gate.asking("u2", ("team1", "other"), FakeClock().now()) as asking:
        assert asking.hold(None) is None, "it asked for no permit"


async def test_the_records_that_were_read_decide() -> None:
    world = World(Snapshot(phase=Phase.RUNNING, root_cause=FATAL, store_read=True))
    move = await world.moved()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.FAILED, Reason.FAILED_COMPONENT)


async def test_a_store_that_cannot_be_read_changes_nothing() -> None:
    world = World(Snapshot(phase=Phase.RUNNING, store_read=True))
    move = await world.moved()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.FAILED_COMPONENT)


@pytest.mark.parametrize("config", [{"error_store": ""}, {"error_aggregation": "off"}])
async def test_without_a_store_nothing_is_asked(config: dict[str, str]) -> None:
    world = World(Snapshot(phase=Phase.RUNNING, reads_store=True), **config)
    assert await world.moved() is not None
    assert world.looks == [(False, False)]


EVACUATION = Evacuation("node n1 is bad", resources=frozenset({GPU}))


def evacuated(stored: Snapshot, **config: Any) -> World:
    """An AppWrapper with one failed pod beside a running pod on a bad node."""
    world = World(stored, failure_grace=timedelta(0), **config)
    job = replace(world.plain.components[0], terminal=None, expected_pods=2)
    pods = PodCounts(expected=2, running=1, failed=1)
    changes: Any = {"components": (job,), "pods": pods, "evacuation": EVACUATION}
    world.plain = replace(world.plain, **changes)
    world.stored = replace(world.stored, **changes)
    return world


async def test_records_of_the_store_decide_about_failed_pods_with_a_held_evacuation() -> None:
    world = evacuated(Snapshot(phase=Phase.RUNNING, root_cause=FATAL, store_read=True))
    world.gate.told = "an admin must confirm"
    move = await world.moved()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.FAILED, Reason.FAILED_PODS)
    assert move.message.startswith("no retry: the program recorded that none can help")
    assert world.looks == [(False, False), (False, True), (True, True)]


async def test_failed_pods_whose_evacuation_is_held_wait_while_the_store_is_read() -> None:
    world = evacuated(Snapshot(phase=Phase.RUNNING, reads_store=True))
    world.gate.told = "an admin must confirm"
    assert await world.moved() is None
    assert StartTimer(Timer.STORE) in world.applied
    assert world.looks == [(False, False), (False, True)]
    assert world.reset_gate.held(HoldReason.BREAKER) == [KEY]


async def test_an_evacuation_that_may_begin_reads_no_store() -> None:
    world = evacuated(Snapshot(phase=Phase.RUNNING, root_cause=FATAL, store_read=True))
    move = await world.moved()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.AUTOPILOT_NO_EXECUTE)
    assert world.looks == [(False, False)]


async def test_records_of_the_store_decide_about_a_failure_that_only_live_pods_show() -> None:
    """The watch shows a pod on a bad node that has left it: no evacuation, but failed pods."""
    world = evacuated(
        Snapshot(phase=Phase.RUNNING, root_cause=FATAL, store_read=True), retry_limit=0
    )
    world.live = {"evacuation": None}
    move = await world.moved()
    assert move is not None
    assert (move.phase, move.reason) == (Phase.FAILED, Reason.FAILED_PODS)
    assert move.message.startswith("no retry: the program recorded that none can help")
    assert world.looks == [(False, False), (True, False), (True, True)]


async def test_one_that_waits_for_its_turn_keeps_its_place_while_the_store_is_read() -> None:
    world = World(Snapshot(phase=Phase.RUNNING, store_read=True))
    now = FakeClock().now()
    for other in ("a", "b"):
        with world.reset_gate.asking(other, ("team1", other), now) as asking:
            asking.hold(None)
    for _ in range(2):
        assert await world.moved() is None
    with world.reset_gate.asking("last", ("team1", "last"), now) as asking:
        hold = asking.hold(None)
    assert hold is not None
    assert hold.retry_in == timedelta(seconds=3), "behind b and train"
