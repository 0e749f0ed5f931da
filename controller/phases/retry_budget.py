"""Reset or fail: what an unhealthy AppWrapper has left to spend."""

from dataclasses import dataclass

from controller.phases import deletion
from controller.phases.actions import (
    Actions,
    MoveTo,
    Reason,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.deadlines import ZERO
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_PODS_READY, CONDITION_UNHEALTHY


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong with an AppWrapper."""

    reason: Reason
    message: str
    retryable: bool = True  # False: straight to Failed


def reset_or_fail(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Actions:
    """Reset while retries are left and nothing forbids one, else fail."""
    if not finding.retryable or snapshot.retries >= config.retry_limit:
        return fail(snapshot, finding, config)
    return (
        MoveTo(Phase.RESETTING, finding.reason, finding.message, spend_retry=True),
        SetCondition(CONDITION_UNHEALTHY, True, finding.reason, finding.message),
        SetCondition(CONDITION_PODS_READY, False, Reason.RESETTING),
        *deletion.begin(snapshot),
    )


def fail(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Actions:
    """Failed: keep the resources for DeletionOnFailureGracePeriod, then delete them.

    QuotaReserved and ResourcesDeployed stay True until the deletion is proved complete.
    """
    move = MoveTo(Phase.FAILED, finding.reason, finding.message)
    unhealthy = SetCondition(CONDITION_UNHEALTHY, True, finding.reason, finding.message)
    if config.deletion_on_failure_grace > ZERO and not snapshot.suspend:
        start = StartTimer(Timer.DELETION_ON_FAILURE)
        return (move, unhealthy, start, RequeueAfter(config.deletion_on_failure_grace))
    return (move, unhealthy, *deletion.begin(snapshot))
