"""Failed: no retry follows. After a grace period resources are deleted and quota is released."""

from datetime import datetime

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.deletion import continue_deletion, end_deletion, is_gone
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
)


def decide_failed(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Keep the components for DeletionOnFailureGracePeriod or until suspended; then delete them."""
    if CONDITION_RESOURCES_DEPLOYED not in snapshot.conditions:
        return ()
    left = remaining(snapshot.timers.deletion_on_failure, config.deletion_on_failure_grace, now)
    if left > ZERO and not _deletion_due(snapshot):
        start = snapshot.timers.deletion_on_failure is None
        begin = (StartTimer(Timer.DELETION_ON_FAILURE),) if start else ()
        return (*begin, WakeAfter(left))
    if not is_gone(snapshot):
        return continue_deletion(snapshot, now, config)
    return (
        *end_deletion(snapshot),
        ClearTimer(Timer.DELETION_ON_FAILURE),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.FAILED),
        SetCondition(CONDITION_PODS_READY, False, Reason.FAILED),
    )


def _deletion_due(snapshot: Snapshot) -> bool:
    """True if a suspension ends the grace period or a deletion has begun."""
    return snapshot.suspend or snapshot.timers.forceful_deletion is not None
