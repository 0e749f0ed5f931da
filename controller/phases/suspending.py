"""Suspending: Kueue or a user stopped the AppWrapper, and its quota will be released.

Delete the components, then release the quota, even if suspend became false again meanwhile.

Half-deleted resources cannot resume, and Kueue has already acted on the suspension.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, MoveTo, Reason, SetCondition, Warn, reporting
from controller.phases.ask import Need
from controller.phases.deletion import begin_deletion, end_deletion, something_is_left
from controller.phases.phase import Phase
from controller.phases.reassignment import is_reassigned
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.reports.quota_reserved import awaits_other_nodes, evicted_text, timed_out
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED, CONDITION_UNHEALTHY
from shared.config.kueue import longest_unready


def suspend(snapshot: Snapshot) -> Actions:
    """Enter Suspending, from any phase that holds resources."""
    return (MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), *begin_deletion(snapshot, keep=True))


def suspended(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """Kueue or a user suspended it, or a user holds it: Suspending."""
    return suspend(snapshot) if snapshot.suspend or snapshot.held else None


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
    if eviction := snapshot.pods_ready_eviction:
        text = evicted_text(eviction, _longest_unready(config))
        report = reporting(timed_out(text))
        return (report, Warn(Reason.PODS_READY_TIMEOUT, report.message))
    if is_reassigned(snapshot):
        return (reporting(awaits_other_nodes()),)
    return (SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),)


def _longest_unready(config: FaultTolerance) -> timedelta:
    """Return the longest time that the pods of the AppWrapper may be unready."""
    return longest_unready(
        admission=config.admission_grace,
        warmup=config.warmup_grace,
        flap=config.flap_period,
        failure=config.failure_grace,
        deletion=config.forceful_deletion_grace,
        retry_pause=config.asked_retry_pause,
        retry_limit=config.retry_limit,
        deletion_on_failure=config.deletion_on_failure_grace,
    )
