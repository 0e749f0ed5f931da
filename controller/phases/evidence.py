"""Wait for evidence about a failure before answering it, in two cases.

- A component reports its failure, but its pods may still write their records (settlePeriod).
- The records in the error store are not read yet (readTimeout).

The start of each wait is stored, so a restart of the controller prolongs neither. Suspensions,
deletions, evacuations, deleted components and reports do not wait for evidence.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, Reason, StartTimer, Timer
from controller.phases.retries import Finding
from controller.phases.snapshot import OFF, FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining

# The reasons of failures that pods caused themselves.
FAILURES: Final = frozenset(
    {Reason.FAILED_COMPONENT, Reason.FAILED_PODS, Reason.INSUFFICIENT_PODS_READY}
)


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait of at most `left`. `begin` starts its timer; empty if the timer runs already."""

    begin: Actions
    left: timedelta


def wait_for_evidence(
    snapshot: Snapshot, finding: Finding, now: datetime, config: FaultTolerance
) -> Wait | None:
    """Return the wait before the answer to `finding`; None if it need not wait.

    Only a component's own failure waits for records: in other cases the pods had
    FailureGracePeriod to write them.
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
