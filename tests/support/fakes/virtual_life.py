"""An AppWrapper's life in virtual time: it gets observations and carries out decisions."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from controller.facts.observe import Observation
from controller.memory import Memory
from controller.phases import decide
from controller.phases.actions import (
    Actions,
    DeleteComponents,
    MoveTo,
    PlanDeployment,
    RemoveFinalizer,
    SetCondition,
    WakeAfter,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    ConditionText,
    FaultTolerance,
    PodCounts,
    Presence,
    ResetHold,
    Snapshot,
)
from controller.phases.timers import evolve
from shared.api.appwrapper import AppWrapper

START = datetime(2026, 1, 1, tzinfo=UTC)
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True)
ALL_RUN = PodCounts(expected=4, running=4)
ONE_FAILED = PodCounts(expected=4, running=3, failed=1)
NO_PODS = PodCounts(expected=4)


# Called before a reset; returns a reason to wait, if any.
Permit = Callable[[MoveTo], ResetHold | None]


class VirtualLife:
    """Applies actions to a snapshot as the applier would, with its own clock.

    `writes` counts status writes, `warnings` holds the warning Events, `moves` the entered phases
    with the time of each, `deletes` the objects to delete.
    """

    def __init__(self, config: FaultTolerance | None = None, **observed: Any) -> None:
        self.config = config or FaultTolerance()
        self.permit: Permit = lambda _move: None
        self.now = START
        self.snapshot = Snapshot(
            phase=Phase.RUNNING,
            finalizer=True,
            conditions=frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady"}),
            components=(JOB,),
            pods=ALL_RUN,
        )
        self.snapshot = replace(self.snapshot, **observed)
        self.attempt = 1
        self.writes = 0
        self.warnings: list[Warn] = []
        self.moves: list[tuple[timedelta, Phase]] = []
        self.deletes: list[DeleteComponents] = []
        self._memory = Memory().sightings
        self._due: datetime | None = None

    @property
    def age(self) -> timedelta:
        """Returns the time since the start."""
        return self.now - START

    @property
    def phase(self) -> Phase:
        return self.snapshot.phase

    def is_in(self, phase: Phase) -> bool:
        """True if that is its phase now; mypy would assume that an attribute has not changed."""
        return self.phase is phase

    @property
    def conditions(self) -> frozenset[str]:
        """Returns the conditions that are True."""
        return self.snapshot.conditions

    def said(self, condition: str) -> tuple[bool, str, str]:
        """Returns a condition's status, reason and message."""
        told = self.snapshot.told[condition]
        return condition in self.conditions, told.reason, told.message

    @property
    def due(self) -> datetime | None:
        """Returns when the last pass requested the next one."""
        return self._due

    def look(self, **observed: Any) -> Actions:
        """Runs one pass: observe, decide, apply. Time does not advance."""
        raw = {"metadata": {"uid": "u1"}, "status": {"attempt": self.attempt}}
        seen = replace(self.snapshot, **observed)
        seen = self._memory.look(Observation(AppWrapper(raw), seen, self.config)).snapshot
        actions = self._permitted(seen)
        self.snapshot = self._after(seen, actions)
        self.writes += _status(self.snapshot) != _status(seen) or PlanDeployment() in actions
        delays = [action.delay for action in actions if isinstance(action, WakeAfter)]
        self._due = self.now + delays[0] if delays else None
        return actions

    def step(self, **observed: Any) -> Actions:
        """Runs one pass, and advances to the moment of the next that it requests."""
        actions = self.look(**observed)
        self.now = self._due or self.now
        return actions

    def wait(self, period: float | timedelta) -> None:
        """Advances time (a number is seconds); requested passes run at their times."""
        end = self.now + (period if isinstance(period, timedelta) else timedelta(seconds=period))
        while self._due is not None and self._due <= end:
            self.now = self._due
            self.look()
        self.now = end

    def fail_and_reset(self) -> timedelta:
        """Returns the time from a pod's failure to the reset that it causes."""
        began = self.now
        self.step(pods=ONE_FAILED)
        decided_at = self.now
        self.step()
        assert self.phase is Phase.RESETTING
        return decided_at - began

    def come_back(self) -> None:
        """Deletes everything, lets the pause end, and runs everything again."""
        self.step(gone=True, components=(), pods=NO_PODS)
        self.step(gone=False)
        assert self.is_in(Phase.RESUMING)
        self.step(components=(JOB,), pods=ALL_RUN)
        assert self.phase is Phase.RUNNING

    def _permitted(self, seen: Snapshot) -> Actions:
        actions = decide(seen, self.now, self.config)
        for action in actions:
            if isinstance(action, MoveTo) and action.phase is Phase.RESETTING:
                hold = self.permit(action)
                return decide(replace(seen, reset_hold=hold), self.now, self.config)
        return actions

    def _after(self, seen: Snapshot, actions: Actions) -> Snapshot:
        after = replace(seen, timers=evolve(seen.timers, actions, self.now))
        for action in actions:
            match action:
                case MoveTo(phase=phase, spend_retry=spent):
                    self.moves.append((self.age, phase))
                    after = replace(after, phase=phase, retries=after.retries + spent)
                case SetCondition(kind, status, reason, message):
                    true = after.conditions - {kind} | ({kind} if status else set())
                    told = {**after.told, kind: ConditionText(reason, message)}
                    after = replace(after, conditions=true, told=told)
                case PlanDeployment():
                    self.attempt += 1
                case Warn():
                    self.warnings.append(action)
                case DeleteComponents():
                    self.deletes.append(action)
                case RemoveFinalizer():
                    after = replace(after, finalizer=False)
                case _:
                    pass
        return after


def _status(snapshot: Snapshot) -> tuple[object, ...]:
    """Returns the fields that a write would change."""
    told = dict(snapshot.told)
    return snapshot.phase, snapshot.conditions, told, snapshot.timers, snapshot.retries
