"""The error store is asked when a failure is about to be answered, and its records decide."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from controller.facts.observe import Observation
from controller.fleet.reset_gate import ResetGate
from controller.phases.actions import Actions, MoveTo, Reason, StartTimer, Timer
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import (
    Component,
    FaultTolerance,
    PodCounts,
    Presence,
    Snapshot,
)
from controller.reconciler import Reconciler
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import Terminal
from shared.config.fault_tolerance import ResetRateLimit
from tests.support.fakes.fake_clock import FakeClock

KEY = ("team1", "train")
FATAL = RootCause(pod="train-1", recoverable=False)


class Gate:
    """No breaker."""

    def closed_to(self, resources: Any) -> str | None:
        return None


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
        self.reset_gate = ResetGate(ResetRateLimit(per_second=1.0, burst=1), Gate())
        self.applied: Actions = ()

    async def gather(
        self, key: Any, now: datetime, *, live_pods: bool = False, records: bool = False
    ) -> Observation:
        self.looks.append((live_pods, records))
        appwrapper = AppWrapper({"metadata": {"uid": "u1"}})
        seen = self.stored if records else self.plain
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


async def test_what_was_read_decides() -> None:
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
