"""Failed: it cannot go on. Its resources and its quota go once they may."""

from datetime import datetime

from controller.phases import deletion
from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Snapshot
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
)


def decide_failed(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Keep the resources for DeletionOnFailureGracePeriod, unless suspend ends it early; delete."""
    if CONDITION_RESOURCES_DEPLOYED not in snapshot.conditions:
        return ()
    left = remaining(snapshot.timers.deletion_on_failure, config.deletion_on_failure_grace, now)
    if left > ZERO and not _deletion_due(snapshot):
        start = snapshot.timers.deletion_on_failure is None
        begin = (StartTimer(Timer.DELETION_ON_FAILURE),) if start else ()
        return (*begin, RequeueAfter(left))
    if not snapshot.gone:
        return deletion.proceed(snapshot, now, config)
    return (
        *deletion.finish(snapshot),
        ClearTimer(Timer.DELETION_ON_FAILURE),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.FAILED),
        SetCondition(CONDITION_PODS_READY, False, Reason.FAILED),
    )


def _deletion_due(snapshot: Snapshot) -> bool:
    """Suspending ends the grace period, and a deletion that has begun goes on."""
    return snapshot.suspend or snapshot.timers.forceful_deletion is not None
