"""Delete everything that an AppWrapper deployed: first gracefully, then by force.

A phase that deletes calls `begin_deletion` once, `continue_deletion` until `is_gone`, then
`end_deletion`. So ResourcesDeployed turns False in one place only, and only after the proof.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    DeleteComponents,
    DeletionMode,
    Reason,
    RecordRemoval,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    Warn,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.silent_nodes import CutOff
from controller.phases.snapshot import Component, FaultTolerance, Presence, Snapshot
from controller.phases.timers import ZERO, remaining
from controller.reports.deleting_resources import DeletionBlocked, unconfirmed
from shared.api.names import CONDITION_DELETING_RESOURCES, CONDITION_RESOURCES_DEPLOYED


def spares_kept(snapshot: Snapshot) -> bool:
    """True if the present deletion, and so its proof, excludes kept components.

    Kept components survive resets and suspensions. They are deleted with the AppWrapper, on failure
    and at the TTL.
    """
    ends = snapshot.deletion_requested
    return not ends and snapshot.phase in (Phase.RESETTING, Phase.SUSPENDING)


def is_gone(snapshot: Snapshot) -> bool:
    """True if fresh reads proved that nothing is left that the present deletion deletes."""
    snapshot.require(Need.PROOF_SAVE_KEPT if spares_kept(snapshot) else Need.PROOF)
    return snapshot.gone


# The controller watches deletions; this is for a watch event that never arrives.
LOOK_AGAIN: Final = timedelta(seconds=5)
FORCE_AGAIN: Final = timedelta(seconds=30)


def begin_deletion(snapshot: Snapshot, *, keep: bool) -> Actions:
    """Send the first deletes; with `keep`, except for kept components.

    A deletion that is under way keeps its deadline. If everything is already gone, no watch event
    follows, so the next pass searches for the proof at once.
    """
    snapshot.require(Need.OBSERVED)
    again = WakeAfter(LOOK_AGAIN if _is_anything_left(snapshot, keep=keep) else ZERO)
    if _under_way(snapshot):
        return (DeleteComponents(keep=keep), again)
    return (
        SetCondition(CONDITION_DELETING_RESOURCES, True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(keep=keep),
        again,
    )


def continue_deletion(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Delete the remaining objects: gracefully until the deadline, then by force."""
    keep = spares_kept(snapshot)
    if not _under_way(snapshot):
        return begin_deletion(snapshot, keep=keep)
    graceful = (DeleteComponents(keep=keep),) if _undeleted(snapshot) else ()
    began, grace = snapshot.timers.forceful_deletion, config.forceful_deletion_grace
    left = remaining(began, grace, now)
    if left > ZERO:
        cut_off = _cut_off(snapshot, now, config)
        due = min([left, LOOK_AGAIN, *filter(None, cut_off_for(snapshot, now, config).values())])
        actions = (*_explain(snapshot, cut_off), *graceful, *_force_cut_off(cut_off, keep=keep))
        return (*actions, WakeAfter(due))
    return (
        *_explain(snapshot, overdue=True),
        *graceful,
        *_force(snapshot, keep=keep),
        # The first retry is early: a pod that its node does not kill is removed a moment later.
        WakeAfter(LOOK_AGAIN if remaining(began, grace + LOOK_AGAIN, now) > ZERO else FORCE_AGAIN),
    )


def nothing_deployed(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """ResourcesDeployed is False: nothing."""
    return None if CONDITION_RESOURCES_DEPLOYED in snapshot.conditions else ()


def something_is_left(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """Something is left: delete it, gracefully until the deadline, then by force."""
    return None if is_gone(snapshot) else continue_deletion(snapshot, now, config)


def end_deletion(snapshot: Snapshot) -> Actions:
    """Record that everything is gone. Requires `is_gone`."""
    return (
        SetCondition(CONDITION_RESOURCES_DEPLOYED, False, Reason.DELETION_COMPLETE),
        SetCondition(CONDITION_DELETING_RESOURCES, False, Reason.DELETION_COMPLETE),
        RecordRemoval(keep=spares_kept(snapshot)),
    )


def cut_off_for(
    snapshot: Snapshot, now: datetime, config: FaultTolerance
) -> Mapping[str, timedelta]:
    """Return the wait until pods on a silent node are forced, by node; zero from its end on.

    Waiting longer would change nothing: the node cannot stop the pods.
    """
    grace = config.unreachable_grace
    if grace == ZERO:
        return {}
    return {each.node: remaining(each.since, grace, now) for each in snapshot.cut_off}


def _cut_off(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Sequence[CutOff]:
    """Return the pods to force now because their node was silent for long enough.

    A reset asks as the move of a silent node does: another attempt follows, while the pods may
    still run. They then wait for the deadline of the deletion.
    """
    waits = cut_off_for(snapshot, now, config)
    found = [each for each in snapshot.cut_off if waits.get(each.node) == ZERO]
    if found and snapshot.phase is Phase.RESETTING:
        snapshot.require(Need.PERMIT_EVACUATION)
        if snapshot.evacuation_hold is not None:
            return ()
    if found:
        snapshot.require(Need.LIVE_LABELS)
    return found


def _force_cut_off(cut_off: Sequence[CutOff], *, keep: bool) -> Actions:
    if not cut_off:
        return ()
    nodes = frozenset(each.node for each in cut_off)
    return (DeleteComponents(DeletionMode.FORCE_CUT_OFF, keep, nodes),)


def _force(snapshot: Snapshot, *, keep: bool) -> Actions:
    """Force the pods; once none is left, force the components."""
    if snapshot.labelled_pods and not any(each.makes_unseen for each in snapshot.components):
        return (DeleteComponents(DeletionMode.FORCE_PODS, keep),)
    return (
        DeleteComponents(DeletionMode.FORCE_COMPONENTS, keep),
        DeleteComponents(DeletionMode.BACKGROUND_EMPTY, keep),
    )


def _explain(
    snapshot: Snapshot, cut_off: Sequence[CutOff] = (), *, overdue: bool = False
) -> Actions:
    """Report what blocks the deletion, in the condition and as an Event, only when it changes.

    `cut_off`: the pods that are forced before the deletion is overdue.
    """
    blocked = overdue or bool(snapshot.blockers)
    forced = snapshot.forced_off if overdue else tuple(each.message for each in cut_off)
    if not blocked and not forced:
        return ()
    report = DeletionBlocked(
        reason=Reason.DELETION_BLOCKED if blocked else Reason.FORCED_ON_UNREACHABLE_NODE,
        blockers=snapshot.blockers,
        left=_left(snapshot) if blocked else "",
        forced_off=forced,
    )
    if not snapshot.is_news(report):
        return ()
    last = snapshot.reported.get(CONDITION_DELETING_RESOURCES)
    news = forced and not (isinstance(last, DeletionBlocked) and last.forced_off == forced)
    return (
        reporting(report),
        *((Warn(Reason.DELETION_BLOCKED, report.text()),) if blocked else ()),
        *((Warn(Reason.FORCED_ON_UNREACHABLE_NODE, unconfirmed(forced)),) if news else ()),
    )


def _under_way(snapshot: Snapshot) -> bool:
    return (
        CONDITION_DELETING_RESOURCES in snapshot.conditions
        and snapshot.timers.forceful_deletion is not None
    )


def _is_anything_left(snapshot: Snapshot, *, keep: bool) -> bool:
    return bool(snapshot.labelled_pods or _remaining(snapshot, keep=keep))


def _remaining(snapshot: Snapshot, *, keep: bool) -> list[Component]:
    """Return the components that exist; with `keep`, except kept components."""
    return [each for each in snapshot.components if each.exists and not (keep and each.keep)]


def _undeleted(snapshot: Snapshot) -> bool:
    """True if an object exists without a delete: a create or a delete was interrupted."""
    left = _remaining(snapshot, keep=spares_kept(snapshot))
    return snapshot.stray_pods or any(each.presence is Presence.PRESENT for each in left)


def _left(snapshot: Snapshot) -> str:
    left = _remaining(snapshot, keep=spares_kept(snapshot))
    things = [f"{each.kind} {each.name}" for each in left]
    if snapshot.labelled_pods:
        things.append("1 pod" if snapshot.labelled_pods == 1 else f"{snapshot.labelled_pods} pods")
    return ", ".join(things) or "nothing that this controller sees"
