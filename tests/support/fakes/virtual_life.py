"""An AppWrapper's life in virtual time: it gets observations and carries out decisions.

Its status is the one that the controller would write, and each pass reads it from there.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from controller.apply.status import status_after
from controller.facts.observe import Observation
from controller.facts.own_status import read_status
from controller.memory.memory import Memory
from controller.phases import decide
from controller.phases.actions import (
    Actions,
    DeleteComponents,
    MoveTo,
    RemoveFinalizer,
    WakeAfter,
    Warn,
    reported_after,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    ConditionText,
    FaultTolerance,
    PodCounts,
    ResetHold,
    Snapshot,
)
from controller.phases.timers import Stamp, encode_timers
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import with_condition
from shared.api.objects import JsonObject
from tests.support.decisions import JOB, RUNNING
from tests.support.moments import NOW

START = NOW
ALL_RUN = RUNNING.snapshot.pods
ONE_FAILED = PodCounts(expected=4, running=3, failed=1)
NO_PODS = PodCounts(expected=4)


# Called before a reset; returns a reason to wait, if any.
Permit = Callable[[MoveTo], ResetHold | None]


class VirtualLife:
    """Applies actions to the status as the applier does, with its own clock.

    `writes` counts status writes, `warnings` holds the warning Events, `moves` the entered phases
    with the time of each, `deletes` the objects to delete.
    """

    def __init__(self, config: FaultTolerance | None = None, **observed: Any) -> None:
        self.config = config or FaultTolerance()
        self.permit: Permit = lambda _move: None
        self.now = START
        self.snapshot = replace(RUNNING.snapshot, **observed)
        self.appwrapper = stored(self.snapshot)
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

    def reported(self, condition: str) -> tuple[bool, str, str]:
        """Returns a condition's status, reason and message."""
        text = self.snapshot.condition_texts[condition]
        return condition in self.conditions, text.reason, text.message

    @property
    def due(self) -> datetime | None:
        """Returns when the last pass requested the next one."""
        return self._due

    def look(self, **observed: Any) -> Actions:
        """Runs one pass: observe, decide, apply. Time does not advance."""
        seen = replace(self.snapshot, **observed)
        seen = self._memory.with_history(Observation(self.appwrapper, seen, self.config)).snapshot
        actions = self._permitted(seen)
        before = self.appwrapper.status
        self.appwrapper, self.snapshot = carried_out(self.appwrapper, seen, actions, self.now)
        self.writes += before != self.appwrapper.status
        self._record(actions)
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

    def _record(self, actions: Actions) -> None:
        for action in actions:
            match action:
                case MoveTo(phase=phase):
                    self.moves.append((self.age, phase))
                case Warn():
                    self.warnings.append(action)
                case DeleteComponents():
                    self.deletes.append(action)
                case _:
                    pass


def carried_out(
    appwrapper: AppWrapper, snapshot: Snapshot, actions: Actions, now: datetime
) -> tuple[AppWrapper, Snapshot]:
    """Returns the AppWrapper after the status write, and what the next pass reads from it.

    The product encodes the status and reads it; nothing else of the snapshot changes.
    """
    status = status_after(appwrapper, snapshot.timers, actions, now)
    written = AppWrapper(appwrapper.raw | {"status": status})
    read = read_status(written, now)
    return written, replace(
        snapshot,
        phase=read.phase,
        conditions=read.conditions,
        condition_texts=read.condition_texts,
        reported=reported_after(snapshot.reported, actions),
        retries=read.retries,
        timers=read.timers,
        finalizer=snapshot.finalizer and RemoveFinalizer() not in actions,
    )


def stored(snapshot: Snapshot) -> AppWrapper:
    """Returns an AppWrapper in its first attempt, with the status that the snapshot shows."""
    conditions: list[JsonObject] = []
    for kind in sorted({*snapshot.conditions, *snapshot.condition_texts}):
        text = snapshot.condition_texts.get(kind, ConditionText(""))
        status = "True" if kind in snapshot.conditions else "False"
        conditions = with_condition(conditions, kind, status, text.reason, text.message, START)
    stored = {
        "phase": snapshot.phase.value,
        "attempt": 1,
        "resettingCount": snapshot.retries,
        "componentStatus": [],
        "conditions": conditions,
        "timers": encode_timers(snapshot.timers, Stamp(snapshot.phase, 1, snapshot.retries)),
    }
    metadata = {"uid": "u1", "name": "a", "namespace": "team1"}
    return AppWrapper({"metadata": metadata, "spec": {}, "status": stored})
