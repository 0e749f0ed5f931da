"""Suspending: Kueue, or a user, takes the quota back."""

from datetime import datetime

from controller.phases import deletion
from controller.phases.actions import Actions, MoveTo, Reason, SetCondition
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_UNHEALTHY,
)


def suspend(snapshot: Snapshot) -> Actions:
    """The way in, from every phase that holds resources."""
    return (MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), *deletion.begin(snapshot, keep=True))


def decide_suspending(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Delete; the quota goes back when all is gone, even if suspend became false again meanwhile.

    Half-deleted resources cannot be resumed, and Kueue has already given the decision to suspend
    away.
    """
    if not snapshot.gone:
        return deletion.proceed(snapshot, now, config)
    return (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        *deletion.finish(snapshot),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),
        SetCondition(CONDITION_PODS_READY, False, Reason.SUSPENDED),
        SetCondition(CONDITION_UNHEALTHY, False, Reason.SUSPENDED),
    )
