"""Waiting for what is yet to be known of a failure before it is answered.

Two waits, each with its own persisted start, so that a restart of the controller prolongs neither:
a component that gave up may have pods that are yet to leave their records (settlePeriod), and the
records in the error store may be on their way (readTimeout). Nothing else waits for them: neither
suspension nor deletion, an evacuation, a component that somebody deleted, nor what is reported.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, Reason, StartTimer, Timer
from controller.phases.retries import Finding
from controller.phases.snapshot import OFF, FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining

# Answers to what pods did themselves.
FAILURES: Final = frozenset(
    {Reason.FAILED_COMPONENT, Reason.FAILED_PODS, Reason.INSUFFICIENT_PODS_READY}
)


@dataclass(frozen=True, slots=True)
class Wait:
    """`begin` starts its timer where it does not run yet; `left` is how long it lasts at most."""

    begin: Actions
    left: timedelta


def wait_for_evidence(
    snapshot: Snapshot, finding: Finding, now: datetime, config: FaultTolerance
) -> Wait | None:
    """Return what the answer to `finding` waits for; None if it waits no more.

    Where pods are given FailureGracePeriod they have had the time to leave their records.
    """
    if finding.reason not in FAILURES or config.error_aggregation == OFF:
        return None
    if finding.reason is Reason.FAILED_COMPONENT and snapshot.awaits_records:
        began = snapshot.timers.records
        if (left := remaining(began, config.record_settle, now)) > ZERO:
            return Wait((StartTimer(Timer.RECORDS),) if began is None else (), left)
    if snapshot.reads_store:
        began = snapshot.timers.store
        if (left := remaining(began, config.store_timeout, now)) > ZERO:
            return Wait((StartTimer(Timer.STORE),) if began is None else (), left)
    return None
