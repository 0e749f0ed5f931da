"""One AppWrapper under a real Reconciler: a test sets what each read of it shows."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from controller.facts.observe import Observation
from controller.fleet.reset_gate import ResetGate
from controller.phases.actions import Actions, MoveTo, SetCondition
from controller.phases.needs import Need
from controller.phases.snapshot import Evacuation, FaultTolerance, Snapshot
from controller.reconciler import Reconciler
from shared.api.appwrapper import AppWrapper
from shared.config.fault_tolerance import ResetRateLimit
from tests.support.builders.autopilot import GPU
from tests.support.fakes.fake_clock import START, FakeClock

KEY = ("team1", "train")
EVACUATION = Evacuation("node n1 is bad", resources=frozenset({GPU}))


class Breakers:
    """The breakers of evacuations: all closed, or all open with a message."""

    message: str | None = None

    def closed_to(self, resources: Any) -> str | None:
        assert resources == EVACUATION.resources
        return self.message


class Reconciled:
    """`live` and `stored` are the differences that live pods and the error store show.

    `reset_gate` has one token. `reads`: for each read, whether it included both.
    """

    def __init__(self, snapshot: Snapshot, **config: Any) -> None:
        self.snapshot = snapshot
        self.live: dict[str, Any] = {}
        self.labels: dict[str, Any] = {}
        self.stored: dict[str, Any] = {}
        self.config = FaultTolerance(**{"failure_grace": timedelta(0), **config})
        self.reads: list[frozenset[Need]] = []
        self.breakers = Breakers()
        self.reset_gate = ResetGate(ResetRateLimit(per_second=1.0, burst=1), self.breakers)
        self.applied: Actions = ()

    async def gather(self, key: Any, now: datetime, asked: Collection[Need] = ()) -> Observation:
        self.reads.append(frozenset(asked))
        seen = replace(self.snapshot, **self.stored) if Need.RECORDS in asked else self.snapshot
        seen = replace(seen, **self.live) if Need.LIVE_PODS in asked else seen
        seen = replace(seen, **self.labels) if Need.LIVE_LABELS in asked else seen
        return Observation(AppWrapper({"metadata": {"uid": "u1"}}), seen, self.config)

    async def apply(self, observation: Observation, actions: Actions, now: datetime) -> None:
        self.applied = actions

    async def moved(self) -> str:
        """Runs one pass; returns the entered phase and the reason, empty if there is none."""
        steps: Any = self
        await Reconciler(steps, steps, FakeClock(), self.reset_gate).reconcile(KEY)
        moves = [each for each in self.applied if isinstance(each, MoveTo)]
        return "".join(f"{each.phase.value}: {each.reason.value}" for each in moves)

    @property
    def unhealthy(self) -> str:
        """Returns the reason and message of Unhealthy that the last pass wrote; empty if none."""
        written = [each for each in self.applied if isinstance(each, SetCondition)]
        return "".join(
            f"{each.reason.value}: {each.message}" for each in written if each.type == "Unhealthy"
        )

    def use_the_token(self) -> None:
        """Gives the token to another AppWrapper."""
        self.asks("other")

    def asks(self, name: str) -> timedelta | None:
        """Returns how long a reset of another AppWrapper must wait; None if it may begin."""
        with self.reset_gate.asking(name, ("team1", name), START) as asking:
            hold = asking.hold(None)
        return None if hold is None else hold.retry_in
