"""Deleting everything an AppWrapper deployed: graceful first, then forceful.

Every phase that deletes uses these three: `begin` once, `proceed` until `snapshot.gone`, then
`finish`. So ResourcesDeployed turns False in one place only, and only after the proof.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    DeleteComponents,
    DeletionMode,
    Reason,
    RecordRemoval,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
    Warn,
)
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Presence, Snapshot
from shared.api.names import CONDITION_DELETING_RESOURCES, CONDITION_RESOURCES_DEPLOYED

# Deletions are watched; this is for a watch event that never comes.
LOOK_AGAIN: Final = timedelta(seconds=5)
FORCE_AGAIN: Final = timedelta(seconds=30)


def begin(snapshot: Snapshot) -> Actions:
    """The first deletes. A deletion that is under way already keeps its deadline."""
    if _under_way(snapshot):
        return (DeleteComponents(), RequeueAfter(LOOK_AGAIN))
    return (
        SetCondition(CONDITION_DELETING_RESOURCES, True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(),
        RequeueAfter(LOOK_AGAIN),
    )


def proceed(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """What to do while something is left."""
    if not _under_way(snapshot):
        return begin(snapshot)
    left = remaining(snapshot.timers.forceful_deletion, config.forceful_deletion_grace, now)
    if left > ZERO:
        wait = RequeueAfter(min(left, LOOK_AGAIN))
        return (DeleteComponents(), wait) if _undeleted(snapshot) else (wait,)
    return (
        DeleteComponents(
            DeletionMode.FORCE_PODS if snapshot.labelled_pods else DeletionMode.FORCE_COMPONENTS
        ),
        Warn(Reason.DELETION_BLOCKED, f"still there after the grace period: {_left(snapshot)}"),
        RequeueAfter(FORCE_AGAIN),
    )


def finish() -> Actions:
    """Everything is gone. Call it only with `snapshot.gone`."""
    return (
        SetCondition(CONDITION_RESOURCES_DEPLOYED, False, Reason.DELETION_COMPLETE),
        SetCondition(CONDITION_DELETING_RESOURCES, False, Reason.DELETION_COMPLETE),
        RecordRemoval(),
    )


def _under_way(snapshot: Snapshot) -> bool:
    return (
        CONDITION_DELETING_RESOURCES in snapshot.conditions
        and snapshot.timers.forceful_deletion is not None
    )


def _undeleted(snapshot: Snapshot) -> bool:
    """Something is left that nobody has asked to go: a create or a delete was cut short."""
    present = any(component.presence is Presence.PRESENT for component in snapshot.components)
    return present or snapshot.stray_pods


def _left(snapshot: Snapshot) -> str:
    things = [f"{each.kind} {each.name}" for each in snapshot.components if each.exists]
    if snapshot.labelled_pods:
        things.append(f"{snapshot.labelled_pods} pods")
    return ", ".join(things) or "nothing that this controller sees"
