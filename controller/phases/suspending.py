"""Suspending: Kueue or a user suspended the AppWrapper, and its quota will be released."""

from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, MoveTo, Reason, SetCondition, Warn
from controller.phases.ask import Need
from controller.phases.deletion import begin_deletion, continue_deletion, end_deletion, is_gone
from controller.phases.phase import Phase
from controller.phases.reassignment import is_reassigned
from controller.phases.snapshot import FaultTolerance, PodsReadyEviction, Snapshot
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED, CONDITION_UNHEALTHY
from shared.api.times import format_duration
from shared.config.kueue import longest_unready
from shared.waits.workload import NEW_WORKLOAD


def suspend(snapshot: Snapshot) -> Actions:
    """Enter Suspending, from any phase that holds resources."""
    return (MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), *begin_deletion(snapshot, keep=True))


def decide_suspending(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Delete the components, then release the quota, even if suspend became false again meanwhile.

    Half-deleted resources cannot resume, and Kueue has already acted on the suspension.
    """
    if not is_gone(snapshot):
        return continue_deletion(snapshot, now, config)
    return (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        *end_deletion(snapshot),
        *_release(snapshot, config),
        SetCondition(CONDITION_PODS_READY, False, Reason.SUSPENDED),
        SetCondition(CONDITION_UNHEALTHY, False, Reason.SUSPENDED),
    )


_REASSIGNED: Final = (
    "Kueue was asked to assign other nodes, so the quota is released. Kueue keeps its place in "
    "the queue; another workload can get the quota first"
)


def _release(snapshot: Snapshot, config: FaultTolerance) -> Actions:
    """Release the quota. Report a reason unless it was an ordinary suspension or preemption."""
    if snapshot.queued:
        snapshot.require(Need.EVICTION)
    if snapshot.pods_ready_eviction is not None:
        return _tell_eviction(snapshot.pods_ready_eviction, config)
    if is_reassigned(snapshot):
        return (SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.REASSIGNMENT, _REASSIGNED),)
    return (SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),)


def _tell_eviction(eviction: PodsReadyEviction, config: FaultTolerance) -> Actions:
    """Report that Kueue's timeout was too short, and which setting an admin can raise."""
    longest = longest_unready(
        admission=config.admission_grace,
        warmup=config.warmup_grace,
        flap=config.flap_period,
        failure=config.failure_grace,
        deletion=config.forceful_deletion_grace,
        retry_pause=config.asked_retry_pause,
        retry_limit=config.retry_limit,
        deletion_on_failure=config.deletion_on_failure_grace,
    )
    often = "once" if eviction.count == 1 else f"{eviction.count} times"
    given_up = (
        f" Kueue took the Workload out of the queue for good. {NEW_WORKLOAD}."
        if eviction.given_up
        else ""
    )
    message = (
        f"Kueue evicted Workload {eviction.workload} ({often} so far): its pods were not ready "
        "within the timeout or recoveryTimeout of waitForPodsReady. This spent no retry."
        f"{given_up} The periods and retries of this AppWrapper add up to "
        f"{format_duration(longest)}; evacuations, and waits before resets and deletions, take "
        "longer. An admin can raise both timeouts in Kueue's configuration."
    )
    return (
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.PODS_READY_TIMEOUT, message),
        Warn(Reason.PODS_READY_TIMEOUT, message),
    )
