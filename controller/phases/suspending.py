"""Suspending: Kueue or a user suspended the AppWrapper, and its quota will be released."""

from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, MoveTo, Reason, SetCondition, Warn, reporting
from controller.phases.ask import Need
from controller.phases.deletion import begin_deletion, end_deletion, something_is_left
from controller.phases.phase import Phase
from controller.phases.reassignment import is_reassigned
from controller.phases.rows import Row, first_of
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.waiting import pods_ready_timeout
from controller.reports.quota_reserved import AwaitsOtherNodes, TimedOut
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED, CONDITION_UNHEALTHY


def suspend(snapshot: Snapshot) -> Actions:
    """Enter Suspending, from any phase that holds resources."""
    return (MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), *begin_deletion(snapshot, keep=True))


def suspended(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """Kueue or a user suspended it: Suspending."""
    return suspend(snapshot) if snapshot.suspend else None


def decide_suspending(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Delete the components, then release the quota, even if suspend became false again meanwhile.

    Half-deleted resources cannot resume, and Kueue has already acted on the suspension.
    """
    return first_of(ROWS, snapshot, now, config)


def all_is_gone(snapshot: Snapshot, _now: datetime, config: FaultTolerance) -> Actions:
    """All is gone: QuotaReserved and ResourcesDeployed False; Suspended."""
    return (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        *end_deletion(snapshot),
        *_release(snapshot, config),
        SetCondition(CONDITION_PODS_READY, False, Reason.SUSPENDED),
        SetCondition(CONDITION_UNHEALTHY, False, Reason.SUSPENDED),
    )


ROWS: Final[tuple[Row, ...]] = (something_is_left, all_is_gone)


def _release(snapshot: Snapshot, config: FaultTolerance) -> Actions:
    """Release the quota. Report a reason unless it was an ordinary suspension or preemption."""
    if snapshot.queued:
        snapshot.require(Need.EVICTION)
    if timeout := pods_ready_timeout(snapshot.pods_ready_eviction, config):
        report = reporting(TimedOut(timeout=timeout))
        return (report, Warn(Reason.PODS_READY_TIMEOUT, report.message))
    if is_reassigned(snapshot):
        return (reporting(AwaitsOtherNodes()),)
    return (SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),)
