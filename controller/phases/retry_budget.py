"""Reset or fail: what an unhealthy AppWrapper has left to spend."""

from dataclasses import dataclass
from typing import Final

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
from controller.phases.snapshot import HoldReason, ResetHold, Snapshot
from shared.api.names import CONDITION_PODS_READY, CONDITION_UNHEALTHY

_HELD: Final = {
    HoldReason.RATE: Reason.RESET_THROTTLED,
    HoldReason.PAUSED: Reason.RESETS_PAUSED,
    HoldReason.BREAKER: Reason.EVACUATION_HELD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong with an AppWrapper."""

    reason: Reason
    message: str
    retryable: bool = True  # False: straight to Failed
    spends_retry: bool = True  # False: one must be left, and stays


def reset_or_fail(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Actions:
    """Reset while retries are left and nothing forbids one, else fail."""
    if not finding.retryable or snapshot.retries >= config.retry_limit:
        return fail(snapshot, finding, config)
    if snapshot.reset_hold is not None:
        return wait_for_permission(finding, snapshot.reset_hold)
    spend = finding.spends_retry
    return (
        MoveTo(Phase.RESETTING, finding.reason, finding.message, spend_retry=spend),
        SetCondition(CONDITION_UNHEALTHY, True, finding.reason, finding.message),
        SetCondition(CONDITION_PODS_READY, False, Reason.RESETTING),
        *deletion.begin(snapshot),
    )


def wait_for_permission(finding: Finding, hold: ResetHold) -> Actions:
    """It is unhealthy, says so, and says what its reset waits for."""
    told = f"{finding.message}; {hold.message}"
    wait = () if hold.retry_in is None else (RequeueAfter(hold.retry_in),)
    return (SetCondition(CONDITION_UNHEALTHY, True, _HELD[hold.reason], told), *wait)


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
