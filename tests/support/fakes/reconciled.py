"""One AppWrapper under a real Reconciler: a test sets what each read of it shows."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from controller.facts.observe import Observation, Reads
from controller.fleet.reset_holds import ResetGate
from controller.phases.actions import Actions, MoveTo, SetCondition
from controller.phases.ask import Need
from controller.phases.snapshot import Evacuation, FaultTolerance, Snapshot
from controller.reconciler import Reconciler
from shared.api.appwrapper import AppWrapper
from shared.config.fault_tolerance import ResetRateLimit
from shared.kube.client import Unreachable
from tests.support.builders.autopilot import GPU
from tests.support.fakes.fake_clock import START, FakeClock

KEY = ("team1", "train")
EVACUATION = Evacuation("node n1 is bad", resources=frozenset({GPU}))


class Breakers:
    """The breakers of evacuations. `message`: all are open; `closed`: those of some resources."""

    message: str | None = None

    def __init__(self) -> None:
        self.closed: dict[str, str] = {}

    def closed_to(self, resources: Any) -> str | None:
        assert resources >= EVACUATION.resources
        found = (self.closed[each] for each in sorted(resources) if each in self.closed)
        return next(found, self.message)


class Reconciled:
    """`live` and `stored` are the differences that live pods and the error store show.

    `reset_gate` has one token. `reads`: the reads of each pass, in their order.
    """

    def __init__(self, snapshot: Snapshot, **config: Any) -> None:
        self.snapshot = snapshot
        self.live: dict[str, Any] = {}
        self.labels: dict[str, Any] = {}
        self.stored: dict[str, Any] = {}
        self.config = FaultTolerance(**{"failure_grace": timedelta(0), **config})
        self.reads: list[list[Need]] = []
        self.breakers = Breakers()
        self.reset_gate = ResetGate(
            ResetRateLimit(per_second=1.0, burst=1), self.breakers.closed_to
        )
        self.applied: Actions = ()
        self.unreadable: set[Need] = set()

    async def begin(self, _key: Any, now: datetime) -> Reads:
        self.reads.append([])
        appwrapper = AppWrapper({"metadata": {"uid": "u1"}})
        snapshot = replace(self.snapshot, unread=frozenset(Need))
        return Reads(Observation(appwrapper, snapshot, self.config), now)

    async def answered(self, reads: Reads, need: Need) -> Reads:
        self.reads[-1].append(need)
        if need in self.unreadable:
            raise Unreachable("no answer")
        shown = {
            Need.RECORDS: self.stored,
            Need.LIVE_PODS: self.live,
            Need.LIVE_LABELS: self.labels,
        }
        return reads.having(need, **shown.get(need, {}))

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
        with self.reset_gate.request(name, ("team1", name), START) as request:
            hold = request.hold(None)
        return None if hold is None else hold.retry_in
