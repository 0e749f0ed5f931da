"""Gather evidence about a failure before answering it.

The answer waits in two cases:

- A component reports its failure, but its pods may still write their records (settlePeriod).
- The records in the error store are not read yet (readTimeout).

The start of each wait is stored, so a restart of the controller prolongs neither. Suspensions,
deletions, evacuations, deleted components and reports do not wait for evidence. After both waits
and the permit, `confirm` requires live reads, because watches may lag behind.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, Reason, StartTimer, Timer
from controller.phases.ask import Need
from controller.phases.failures import EARLIEST
from controller.phases.retries import Finding, is_hopeless
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
    if config.error_store and not snapshot.store_read:
        snapshot.require(Need.RECORDS)
    if snapshot.reads_store:
        began = snapshot.timers.store
        if (left := remaining(began, config.store_timeout, now)) > ZERO:
            return Wait((StartTimer(Timer.STORE),) if began is None else (), left)
    return None


# The reasons that only pods can show.
_SHOWN_BY_PODS: Final = frozenset({Reason.FAILED_PODS, Reason.INSUFFICIENT_PODS_READY})


def confirm(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> None:
    """Require live reads before `finding` is answered, because watches may lag behind.

    Pods that have healed, or whose node has, must not be deleted. This comes last: a reset that
    waits for its permit must not list its pods in every pass.
    """
    if finding.reason is Reason.AUTOPILOT_NO_EXECUTE:
        snapshot.require(Need.LIVE_LABELS)
    if _needs_live_pods(snapshot, finding, config):
        snapshot.require(Need.LIVE_PODS)


def _needs_live_pods(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> bool:
    """True if the pods decide about the answer.

    The reset of an evacuation needs no live list, for which the API server may take 100 ms until
    its cache is fresh: if a pod has moved meanwhile, the reset usually spends no retry. Without a
    remaining retry an evacuation ends the AppWrapper, so it needs the list. If a component failed,
    the root cause or a listed exit code decides about another attempt, and its pod or node may be
    missing from the cache.
    """
    match finding.reason:
        case Reason.AUTOPILOT_NO_EXECUTE:
            return is_hopeless(snapshot, finding, config)
        case Reason.FAILED_COMPONENT:
            unseen = config.remember_suspects and not snapshot.pods.failed
            listed = config.terminal_exit_codes or config.retryable_exit_codes
            return unseen or config.error_aggregation == EARLIEST or bool(listed)
    return finding.reason in _SHOWN_BY_PODS
