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
from controller.phases.proof import spares_kept
from controller.phases.snapshot import Presence, Snapshot, Told
from shared.api.names import CONDITION_DELETING_RESOURCES, CONDITION_RESOURCES_DEPLOYED

# Deletions are watched; this is for a watch event that never comes.
LOOK_AGAIN: Final = timedelta(seconds=5)
FORCE_AGAIN: Final = timedelta(seconds=30)


def begin(snapshot: Snapshot, *, keep: bool) -> Actions:
    """The first deletes; with `keep`, not of what is to be kept.

    A deletion that is under way already keeps its deadline. Of what is gone already no watch will
    tell, so the proof is looked for at once.
    """
    again = RequeueAfter(LOOK_AGAIN if _is_anything_left(snapshot, keep=keep) else ZERO)
    if _under_way(snapshot):
        return (DeleteComponents(keep=keep), again)
    return (
        SetCondition(CONDITION_DELETING_RESOURCES, True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(keep=keep),
        again,
    )


def proceed(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """What to do while something is left."""
    keep = spares_kept(snapshot)
    if not _under_way(snapshot):
        return begin(snapshot, keep=keep)
    graceful = (DeleteComponents(keep=keep),) if _undeleted(snapshot) else ()
    began, grace = snapshot.timers.forceful_deletion, config.forceful_deletion_grace
    left = remaining(began, grace, now)
    if left > ZERO:
        return (*_explain(snapshot), *graceful, RequeueAfter(min(left, LOOK_AGAIN)))
    return (
        *_explain(snapshot, overdue=True),
        *graceful,
        *_force(snapshot, keep=keep),
        # At first soon again: a pod that its node does not kill is removed a moment later.
        RequeueAfter(
            LOOK_AGAIN if remaining(began, grace + LOOK_AGAIN, now) > ZERO else FORCE_AGAIN
        ),
    )


def finish(snapshot: Snapshot) -> Actions:
    """Everything is gone. Call it only with `snapshot.gone`."""
    return (
        SetCondition(CONDITION_RESOURCES_DEPLOYED, False, Reason.DELETION_COMPLETE),
        SetCondition(CONDITION_DELETING_RESOURCES, False, Reason.DELETION_COMPLETE),
        RecordRemoval(keep=spares_kept(snapshot)),
    )


def _force(snapshot: Snapshot, *, keep: bool) -> Actions:
    """Pods without grace; once none is left, components, and what stays though it owns nothing."""
    if snapshot.labelled_pods:
        return (DeleteComponents(DeletionMode.FORCE_PODS, keep),)
    return (
        DeleteComponents(DeletionMode.FORCE_COMPONENTS, keep),
        DeleteComponents(DeletionMode.BACKGROUND_EMPTY, keep),
    )


def _explain(snapshot: Snapshot, *, overdue: bool = False) -> Actions:
    """What is in the way, in the condition and as an event; only when that changes."""
    if not overdue and not snapshot.blockers:
        return ()
    said = snapshot.told.get(CONDITION_DELETING_RESOURCES, Told(""))
    message = (
        "; ".join(snapshot.blockers) or f"still there after the grace period: {_left(snapshot)}"
    )
    forced = ", ".join(snapshot.forced_off) if overdue else ""
    if forced:
        forced = f"removed without word from its node: {forced}"
        message = f"{message}; {forced}"
    if said == Told(Reason.DELETION_BLOCKED, message):
        return ()
    news = bool(forced) and forced not in said.message
    return (
        SetCondition(CONDITION_DELETING_RESOURCES, True, Reason.DELETION_BLOCKED, message),
        Warn(Reason.DELETION_BLOCKED, message),
        *((Warn(Reason.FORCED_ON_UNREACHABLE_NODE, forced),) if news else ()),
    )


def _under_way(snapshot: Snapshot) -> bool:
    return (
        CONDITION_DELETING_RESOURCES in snapshot.conditions
        and snapshot.timers.forceful_deletion is not None
    )


def _is_anything_left(snapshot: Snapshot, *, keep: bool) -> bool:
    return bool(snapshot.labelled_pods) or any(
        each.exists and not (keep and each.keep) for each in snapshot.components
    )


def _undeleted(snapshot: Snapshot) -> bool:
    """Something is left that nobody has asked to go: a create or a delete was cut short."""
    keep = spares_kept(snapshot)
    present = any(
        component.presence is Presence.PRESENT and not (keep and component.keep)
        for component in snapshot.components
    )
    return present or snapshot.stray_pods


def _left(snapshot: Snapshot) -> str:
    keep = spares_kept(snapshot)
    things = [
        f"{each.kind} {each.name}"
        for each in snapshot.components
        if each.exists and not (keep and each.keep)
    ]
    if snapshot.labelled_pods:
        things.append("1 pod" if snapshot.labelled_pods == 1 else f"{snapshot.labelled_pods} pods")
    return ", ".join(things) or "nothing that this controller sees"
