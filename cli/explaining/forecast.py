"""Forecast the controller's next steps and their times, if nothing else happens. Pure.

`forecast` runs the controller's own `decide` for each time at which the controller would reconcile
next, with the result of the run before. So every deadline is the controller's own.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from controller.phases.actions import (
    Action,
    Actions,
    DeleteComponents,
    DeletionMode,
    MoveTo,
    SetCondition,
    WakeAfter,
)
from controller.phases.ask import Ask
from controller.phases.decide import next_step
from controller.phases.deletion import cut_off_for
from controller.phases.reset_or_fail import HELD
from controller.phases.snapshot import ConditionText, FaultTolerance, Snapshot
from controller.phases.timers import evolve, remaining
from controller.reports.reason import Reason
from shared.api.names import CONDITION_DELETING_RESOURCES, CONDITION_UNHEALTHY


class StepKind(StrEnum):
    """The kind of a step."""

    PHASE = "phase"
    UNHEALTHY = "unhealthy"
    DELETES = "deletes"
    FORCES = "forces"
    FORCES_CUT_OFF = "forces pods on unreachable nodes"
    REMOVES_THE_REST = "removes the rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One action of the controller. `phase`: the new phase, for a StepKind.PHASE."""

    at: datetime
    change: StepKind
    phase: str = ""
    reason: str = ""
    message: str = ""
    spends_retry: bool = False


# Limits the runs of `decide`: some waits end only by a change in the cluster.
_MOST_LOOKS: Final = 200
_FORCED: Final = {
    DeletionMode.FORCE_PODS: StepKind.FORCES,
    DeletionMode.FORCE_CUT_OFF: StepKind.FORCES_CUT_OFF,
    DeletionMode.FORCE_COMPONENTS: StepKind.FORCES,
    DeletionMode.HELPERS: StepKind.REMOVES_THE_REST,
    DeletionMode.STRAGGLERS: StepKind.REMOVES_THE_REST,
    DeletionMode.WITH_COMPONENT: StepKind.REMOVES_THE_REST,
}


def forecast(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> tuple[Step, ...]:
    """Return each step once, up to the first change of phase, deletion or force.

    The forecast ends before a decision that needs a fact which only the controller can read.
    """
    steps: list[Step] = []
    at = now
    for _ in range(_MOST_LOOKS):
        actions = next_step(snapshot, at, config)
        if isinstance(actions, Ask):
            break
        found = _steps(actions, snapshot, at)
        known = [replace(each, at=at) for each in steps]
        steps += [each for each in found if each not in known]
        if any(each.change in _LAST for each in steps):
            break
        snapshot = _after(snapshot, actions, at)
        delay = _delay(actions, snapshot, at, config)
        if delay is None:
            break
        at += delay
    return tuple(steps)


def _steps(actions: Actions, snapshot: Snapshot, at: datetime) -> list[Step]:
    """Return only the change of phase, if there is one: it includes the other steps."""
    steps = [step for action in actions if (step := _step(action, snapshot, at))]
    moves = [each for each in steps if each.change is StepKind.PHASE]
    return moves or steps


_LAST: Final = frozenset(
    {StepKind.PHASE, StepKind.DELETES, StepKind.FORCES, StepKind.FORCES_CUT_OFF}
)


def _step(action: Action, snapshot: Snapshot, at: datetime) -> Step | None:
    match action:
        case MoveTo(phase, reason, message, spend_retry):
            return Step(
                at=at,
                change=StepKind.PHASE,
                phase=phase.value,
                reason=reason.value,
                message=message,
                spends_retry=spend_retry,
            )
        case SetCondition(type=kind, status=True, reason=reason, message=message):
            held = reason in HELD.values()
            if kind == CONDITION_UNHEALTHY and (held or kind not in snapshot.conditions):
                return Step(at=at, change=StepKind.UNHEALTHY, reason=reason.value, message=message)
            begins = reason is Reason.DELETION_INITIATED
            if kind == CONDITION_DELETING_RESOURCES and begins:
                return Step(at=at, change=StepKind.DELETES)
        case DeleteComponents(mode=mode) if mode in _FORCED:
            return Step(at=at, change=_FORCED[mode])
        case _:
            pass
    return None


def _delay(
    actions: Actions, snapshot: Snapshot, at: datetime, config: FaultTolerance
) -> timedelta | None:
    """Return the time until the next reconcile, None if none is planned.

    `snapshot`: with the result of `actions`. The controller checks a deletion every few seconds;
    skip these checks until the force begins.
    """
    began = snapshot.timers.forceful_deletion
    if began is not None and CONDITION_DELETING_RESOURCES in snapshot.conditions:
        # A silence that is over and forces nothing waits for a permit.
        silences = filter(None, cut_off_for(snapshot, at, config).values())
        return min([remaining(began, config.forceful_deletion_grace, at), *silences])
    return next((each.delay for each in actions if isinstance(each, WakeAfter)), None)


def _after(snapshot: Snapshot, actions: Actions, at: datetime) -> Snapshot:
    """Apply the actions' conditions and timers. Created and deleted objects do not change yet."""
    conditions, texts = set(snapshot.conditions), dict(snapshot.condition_texts)
    for each in actions:
        if isinstance(each, SetCondition):
            (conditions.add if each.status else conditions.discard)(each.type)
            texts[each.type] = ConditionText(each.reason.value, each.message)
    timers = evolve(snapshot.timers, actions, at)
    return replace(snapshot, conditions=frozenset(conditions), condition_texts=texts, timers=timers)
