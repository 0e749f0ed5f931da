"""Answer a finding: reset the AppWrapper, or let it fail if no retry remains or may follow."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    MoveTo,
    Reason,
    RecordRootCause,
    RecordSuspect,
    StartTimer,
    Timer,
    WakeAfter,
    Warn,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.deletion import begin_deletion
from controller.phases.findings import (
    EARLIEST,
    EVACUATIONS,
    Finding,
    leaving_component,
    unhealthy,
    without_its_nodes,
)
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision
from controller.phases.snapshot import OFF, FaultTolerance, HoldReason, ResetHold, Snapshot
from controller.phases.timers import ZERO, remaining
from controller.reports.pods_ready import attempt_follows
from controller.reports.report import ConditionReport
from controller.reports.unhealthy import Problem
from shared.api.names import CONDITION_UNHEALTHY

# The reason of Unhealthy while a reset must wait.
HELD: Final = {
    HoldReason.RATE: Reason.RESET_THROTTLED,
    HoldReason.PAUSED: Reason.RESETS_PAUSED,
    HoldReason.BREAKER: Reason.EVACUATION_HELD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAnswer:
    """An answer that must wait for at most `left`: for a permit, or without `hold` for evidence.

    `begin` starts the timer of the wait; empty if it runs already.
    """

    finding: Finding
    left: timedelta | None
    hold: ResetHold | None = None
    begin: Actions = ()


def answer(
    snapshot: Snapshot, finding: Finding, now: datetime, config: FaultTolerance
) -> Actions | HeldAnswer:
    """Reset or fail; or return what the answer must wait for.

    The error store is read before the permit, because its records may forbid a retry. The live
    reads come last: a reset that waits for its permit must not list its pods in every pass.
    """
    finding = leaving_component(snapshot) or finding
    if (wait := wait_for_evidence(snapshot, finding, now, config)) is not None:
        return wait
    if (hold := hold_on(snapshot, finding, config)) is not None:
        return HeldAnswer(finding=finding, left=hold.retry_in, hold=hold)
    confirm(snapshot, finding, config)
    return reset_or_fail(snapshot, finding, config)


def reset_or_fail(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Actions:
    """Reset if retries remain and nothing forbids one, else fail.

    Call `hold_on` first: this function does not check whether the reset must wait.
    """
    finding = _by_removal(snapshot, finding, config) or finding
    if is_hopeless(snapshot, finding, config):
        return fail(snapshot, finding, config)
    message, logged, spend = finding.message, finding.logged, finding.spends_retry
    retry = f"retry {snapshot.retries + 1} of {config.retry_limit} follows"
    if not spend:
        retry = "another attempt follows and spends no retry"
    return (
        MoveTo(Phase.RESETTING, finding.reason, message, spend_retry=spend, logged=logged),
        reporting(unhealthy(finding)),
        reporting(next_attempt(snapshot.retries + spend, config, reason=finding.reason)),
        *_suspicion(snapshot, finding),
        *_root_cause(finding, Decision.RETRY, retry),
        *begin_deletion(snapshot, keep=True),
    )


def _by_removal(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Finding | None:
    """Return the finding about removed nodes if they caused the failure, as for silent nodes.

    Kubernetes has deleted the pods, so neither the period nor the evacuation breaker matters.
    """
    lost = snapshot.lost
    if lost is None or finding.reason not in FAILURES or not finding.retryable:
        return None
    return without_its_nodes(lost, config) if config.unreachable_grace > ZERO else None


def pause_after(reason: str, pause: timedelta) -> timedelta:
    """Return the pause before the next attempt: none after a node's silence, which was a wait."""
    return ZERO if reason == Reason.NODE_UNREACHABLE else pause


def next_attempt(
    spent: int, config: FaultTolerance, begins: datetime | None = None, reason: str = ""
) -> ConditionReport:
    """Return the report of PodsReady during a reset for that reason."""
    pause = pause_after(reason, config.asked_retry_pause)
    return attempt_follows(spent, config.retry_limit, pause, begins)


def report_pause(snapshot: Snapshot, begins: datetime, config: FaultTolerance) -> Actions:
    """Report the start of the next attempt in PodsReady and Unhealthy."""
    attempt = next_attempt(snapshot.retries, config, begins)
    if CONDITION_UNHEALTHY not in snapshot.conditions:
        return (reporting(attempt),)
    current, last = (
        snapshot.text_of(CONDITION_UNHEALTHY),
        snapshot.reported.get(CONDITION_UNHEALTHY),
    )
    if not (isinstance(last, Problem) and last.reason == current.reason):  # after a restart
        if (reason := next((each for each in Reason if each == current.reason), None)) is None:
            return (reporting(attempt),)  # another operator wrote this reason
        last = Problem(reason=reason, problem=current.message, quoted="")
    return (reporting(attempt), reporting(replace(last, then=attempt.text())))


def hold_on(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> ResetHold | None:
    """Return why the answer to `finding` must wait for its permit; None if it need not.

    A move to Failed waits only if it is an evacuation: otherwise wrong labels would end all
    AppWrappers that have no retry left. Call it only if the answer can be given now: the permit for
    a reset takes a token.
    """
    if finding.reason in EVACUATIONS:
        snapshot.require(Need.PERMIT_EVACUATION)
        return snapshot.evacuation_hold
    if is_hopeless(snapshot, finding, config):
        return None
    snapshot.require(Need.PERMIT_RESET)
    return snapshot.reset_hold


def tell_hold(snapshot: Snapshot, finding: Finding, hold: ResetHold) -> Actions:
    """Set Unhealthy and report what the reset waits for: once, not in every pass."""
    reason = HELD[hold.reason]
    held = snapshot.text_of(CONDITION_UNHEALTHY).reason == reason
    if held and CONDITION_UNHEALTHY in snapshot.conditions:
        return ()
    report = reporting(unhealthy(finding, reason=reason, then=hold.message))
    return (report, Warn(reason, report.message, report.logged))


def was_held(snapshot: Snapshot) -> bool:
    """True if Unhealthy reports a reset that waits."""
    return snapshot.text_of(CONDITION_UNHEALTHY).reason in HELD.values()


def fail(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Actions:
    """Move to Failed: keep the resources for DeletionOnFailureGracePeriod, then delete them.

    QuotaReserved and ResourcesDeployed stay True until the deletion is proved complete.
    """
    why, limit = finding.why_terminal, config.retry_limit
    if finding.retryable:
        why = f"retries exhausted ({limit} of {limit})" if limit else "retryLimit is 0"
        finding = _opened(finding, f"{why}: ")
    elif why:
        finding = _opened(finding, f"{why}; ")
    message, logged = finding.message, finding.logged
    actions: Actions = (
        MoveTo(Phase.FAILED, finding.reason, message, logged=logged),
        reporting(unhealthy(finding)),
        *_suspicion(snapshot, finding),
        *_root_cause(finding, Decision.TERMINAL, why),
    )
    if config.deletion_on_failure_grace > ZERO and not snapshot.suspend:
        start = StartTimer(Timer.DELETION_ON_FAILURE)
        return (*actions, start, WakeAfter(config.deletion_on_failure_grace))
    return (*actions, *begin_deletion(snapshot, keep=False))


def _suspicion(snapshot: Snapshot, finding: Finding) -> Actions:
    """Record the node that may be the cause, in the status write that ends the attempt.

    A failure that forbids a retry is not a node's fault. In an evacuation the bad node is known:
    pods on other nodes mostly failed because their peers failed. The last attempt also names its
    node: an admin who reads the status looks there.
    """
    if finding.reason is Reason.NODE_UNREACHABLE:
        nodes = filter(None, (snapshot.unreachable, snapshot.lost))
        return tuple(RecordSuspect(suspect) for each in nodes for suspect in each.suspects)
    if snapshot.evacuation is not None or not finding.retryable or snapshot.suspect is None:
        return ()
    return (RecordSuspect(snapshot.suspect),)


def _root_cause(finding: Finding, decision: Decision, consequence: str) -> Actions:
    """Record the root cause in the status write that ends the attempt."""
    if finding.root_cause is None:
        return ()
    recorded = finding.non_recoverable
    return (RecordRootCause(finding.root_cause, decision, consequence, non_recoverable=recorded),)


def _opened(finding: Finding, opening: str) -> Finding:
    """Put the reason against a retry before the message."""
    logged = None if finding.logged is None else f"{opening}{finding.logged}"
    return replace(finding, message=f"{opening}{finding.message}", logged=logged)


def is_hopeless(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> bool:
    """True if no retry follows `finding`."""
    return not finding.retryable or snapshot.retries >= config.retry_limit


# Evidence: the answer waits in two cases.
#
# - A component reports its failure, but its pods may still write their records (settlePeriod).
# - The records in the error store are not read yet (readTimeout).
#
# The start of each wait is stored, so a restart of the controller prolongs neither. Suspensions,
# deletions, evacuations, deleted components and reports do not wait for evidence. After both waits
# and the permit, `confirm` requires live reads, because watches may lag behind.

# The reasons of failures that pods caused themselves.
FAILURES: Final = frozenset(
    {Reason.FAILED_COMPONENT, Reason.FAILED_PODS, Reason.INSUFFICIENT_PODS_READY}
)


def wait_for_evidence(
    snapshot: Snapshot, finding: Finding, now: datetime, config: FaultTolerance
) -> HeldAnswer | None:
    """Return the wait before the answer to `finding`; None if it need not wait.

    Only a component's own failure waits for records: in other cases the pods had
    FailureGracePeriod to write them.
    """
    if finding.reason not in FAILURES or config.error_aggregation == OFF:
        return None
    if finding.reason is Reason.FAILED_COMPONENT and snapshot.awaits_records:
        began = snapshot.timers.records
        if (left := remaining(began, config.record_settle, now)) > ZERO:
            return _wait(finding, Timer.RECORDS, began, left)
    if config.error_store and not snapshot.store_read:
        snapshot.require(Need.RECORDS)
    if snapshot.reads_store:
        began = snapshot.timers.store
        if (left := remaining(began, config.store_timeout, now)) > ZERO:
            return _wait(finding, Timer.STORE, began, left)
    return None


def _wait(finding: Finding, timer: Timer, began: datetime | None, left: timedelta) -> HeldAnswer:
    begin = (StartTimer(timer),) if began is None else ()
    return HeldAnswer(finding=finding, left=left, begin=begin)


def confirm(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> None:
    """Require live reads before `finding` is answered, because watches may lag behind.

    Pods that have healed, or whose node has, must not be deleted. This comes last: a reset that
    waits for its permit must not list its pods in every pass.
    """
    if finding.reason in EVACUATIONS:
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
        case Reason.AUTOPILOT_NO_EXECUTE | Reason.DEVICE_TAINTED | Reason.NODE_UNREACHABLE:
            return is_hopeless(snapshot, finding, config)
        case Reason.FAILED_COMPONENT:
            unseen = config.remember_suspects and not snapshot.pods.failed
            listed = config.terminal_exit_codes or config.retryable_exit_codes
            return unseen or config.error_aggregation == EARLIEST or bool(listed)
        case Reason.UNSCHEDULABLE:
            return True
    return finding.reason in FAILURES  # only pods can show the others
