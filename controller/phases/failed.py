"""Failed: no retry follows. After a grace period resources are deleted and quota is released.

Keep the components for DeletionOnFailureGracePeriod or until suspended; then delete them.
"""

from datetime import datetime
from typing import Final

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.deletion import end_deletion, nothing_deployed, something_is_left
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED


def kept(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """DeletionOnFailureGracePeriod is not over, and it is not suspended: nothing."""
    left = remaining(snapshot.timers.deletion_on_failure, config.deletion_on_failure_grace, now)
    if left == ZERO or _deletion_due(snapshot):
        return None
    start = snapshot.timers.deletion_on_failure is None
    begin = (StartTimer(Timer.DELETION_ON_FAILURE),) if start else ()
    return (*begin, WakeAfter(left))


def all_is_gone(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """All is gone: ResourcesDeployed and QuotaReserved False."""
    return (
        *end_deletion(snapshot),
        ClearTimer(Timer.DELETION_ON_FAILURE),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.FAILED),
        SetCondition(CONDITION_PODS_READY, False, Reason.FAILED),
    )


ROWS: Final[tuple[Row, ...]] = (nothing_deployed, kept, something_is_left, all_is_gone)


def _deletion_due(snapshot: Snapshot) -> bool:
    """True if a suspension ends the grace period or a deletion has begun."""
    return snapshot.suspend or snapshot.timers.forceful_deletion is not None
