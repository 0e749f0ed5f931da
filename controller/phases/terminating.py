"""Terminating: the AppWrapper is being deleted, and disappears last.

Delete everything; then remove the finalizer, and the API server removes the AppWrapper. If nothing
was ever deployed, only remove the finalizer: the AppWrapper keeps its phase.
"""

from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, MoveTo, Reason, RemoveFinalizer, SetCondition
from controller.phases.deletion import begin_deletion, end_deletion, is_gone, something_is_left
from controller.phases.phase import Phase
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED, CONDITION_UNHEALTHY


def terminate(snapshot: Snapshot) -> Actions:
    """Enter Terminating, from any other phase. Without the finalizer nothing remains to do."""
    if not snapshot.finalizer:
        return ()
    if snapshot.never_deployed:
        return (RemoveFinalizer(),)
    move = MoveTo(Phase.TERMINATING, Reason.TERMINATING)
    if is_gone(snapshot):
        return _let_go(snapshot, move)
    return (move, *begin_deletion(snapshot, keep=False))


def release_foreign(snapshot: Snapshot) -> Actions:
    """Remove the finalizer from an AppWrapper that another controller manages, and nothing else.

    Kueue's webhook can set `managedBy` (MultiKueue) after this project's webhook has added the
    finalizer. The proof is needed: a user may have changed `managedBy` during the deletion.
    """
    if not (snapshot.deletion_requested and snapshot.finalizer):
        return ()
    return (RemoveFinalizer(),) if snapshot.never_deployed or is_gone(snapshot) else ()


def finalizer_is_gone(
    snapshot: Snapshot, _now: datetime, _config: FaultTolerance
) -> Actions | None:
    """The controller's finalizer is gone: nothing."""
    return None if snapshot.finalizer else ()


def all_is_gone(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """All is gone: the finalizer is removed. If another one is left, all conditions turn False."""
    return _let_go(snapshot)


ROWS: Final[tuple[Row, ...]] = (finalizer_is_gone, something_is_left, all_is_gone)


def _let_go(snapshot: Snapshot, *moves: MoveTo) -> Actions:
    """Remove the finalizer. With its last one the AppWrapper disappears: no status is written."""
    if not snapshot.other_finalizers:
        return (RemoveFinalizer(),)
    return (
        *moves,
        *end_deletion(snapshot),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.TERMINATING),
        SetCondition(CONDITION_PODS_READY, False, Reason.TERMINATING),
        SetCondition(CONDITION_UNHEALTHY, False, Reason.TERMINATING),
        RemoveFinalizer(),
    )
