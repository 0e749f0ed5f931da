"""An AppWrapper's life in virtual time: what is observed is said, decisions are carried out."""

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


# Asked before a reset: what it must wait for, if anything.
Permit = Callable[[MoveTo], ResetHold | None]


class VirtualLife:
    """Applies actions to a snapshot the way the applier would, with a clock of its own.

    `writes` counts status writes, `warnings` holds what people were told, `moves` the phases it
    entered with the time of each, `deletes` what was asked to go.
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
        """Since the start."""
        return self.now - START

    @property
    def phase(self) -> Phase:
        return self.snapshot.phase

    def is_in(self, phase: Phase) -> bool:
        """Tells whether that is its phase now; mypy would believe an attribute for ever."""
        return self.phase is phase

    @property
    def conditions(self) -> frozenset[str]:
        """Those that are True."""
        return self.snapshot.conditions

    def said(self, condition: str) -> tuple[bool, str, str]:
        """Its status, reason and message."""
        told = self.snapshot.told[condition]
        return condition in self.conditions, told.reason, told.message

    @property
    def due(self) -> datetime | None:
        """When the last pass asked to be repeated."""
        return self._due

    def look(self, **observed: Any) -> Actions:
        """One pass: observe, decide, apply. Time stands still."""
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
        """One pass, and on to the moment of the next that it asks for."""
        actions = self.look(**observed)
        self.now = self._due or self.now
        return actions

    def wait(self, period: float | timedelta) -> None:
        """Time passes (a number is seconds); what asked to be looked at again is, at its time."""
        end = self.now + (period if isinstance(period, timedelta) else timedelta(seconds=period))
        while self._due is not None and self._due <= end:
            self.now = self._due
            self.look()
        self.now = end

    def fail_and_reset(self) -> timedelta:
        """From a pod's failure to the reset it causes."""
        began = self.now
        self.step(pods=ONE_FAILED)
        decided_at = self.now
        self.step()
        assert self.phase is Phase.RESETTING
        return decided_at - began

    def come_back(self) -> None:
        """Everything is deleted, the pause passes, everything runs again."""
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
    """What a write would change."""
    told = dict(snapshot.told)
    return snapshot.phase, snapshot.conditions, told, snapshot.timers, snapshot.retries
