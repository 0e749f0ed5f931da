"""Reset an unhealthy AppWrapper, or let it fail if no retry remains or may follow."""

from dataclasses import dataclass, replace
from datetime import datetime
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
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision, RootCause
from controller.phases.snapshot import FaultTolerance, HoldReason, ResetHold, Snapshot
from controller.phases.timers import ZERO
from controller.reports.pods_ready import NextAttempt
from controller.reports.unhealthy import Problem
from shared.api.names import CONDITION_UNHEALTHY

_HELD: Final = {
    HoldReason.RATE: Reason.RESET_THROTTLED,
    HoldReason.PAUSED: Reason.RESETS_PAUSED,
    HoldReason.BREAKER: Reason.EVACUATION_HELD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem of an AppWrapper. `logged` as for MoveTo.

    `root_cause` is set only for failures, not for a deletion, a node's label or a refused create.
    """

    reason: Reason
    message: str
    logged: str | None = None
    root_cause: RootCause | None = None
    retryable: bool = True  # False: move to Failed directly
    non_recoverable: bool = False  # not retryable because the program recorded that none can help
    why_terminal: str = ""  # the reason against a retry, if `message` lacks it
    spends_retry: bool = True  # False: a reset needs a remaining retry but does not spend it


def reset_or_fail(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Actions:
    """Reset if retries remain and nothing forbids one, else fail.

    Call `hold_on` first: this function does not check whether the reset must wait.
    """
    if is_hopeless(snapshot, finding, config):
        return fail(snapshot, finding, config)
    message, logged, spend = finding.message, finding.logged, finding.spends_retry
    retry = f"retry {snapshot.retries + 1} of {config.retry_limit} follows"
    return (
        MoveTo(Phase.RESETTING, finding.reason, message, spend_retry=spend, logged=logged),
        reporting(unhealthy(finding)),
        reporting(next_attempt(snapshot.retries + spend, config)),
        *_suspicion(snapshot, finding),
        *_root_cause(finding, Decision.RETRY, retry),
        *begin_deletion(snapshot, keep=True),
    )


def next_attempt(spent: int, config: FaultTolerance, begins: datetime | None = None) -> NextAttempt:
    """Return the report of PodsReady during a reset."""
    limit, pause = config.retry_limit, config.asked_retry_pause
    return NextAttempt(spent=spent, limit=limit, pause=pause, begins=begins)


def unhealthy(finding: Finding, *, reason: Reason | None = None, then: str = "") -> Problem:
    """Return the report about a finding. `reason`: if it is not that of the finding."""
    root = finding.root_cause
    return Problem(
        reason=reason or finding.reason,
        problem=finding.message,
        quoted=finding.logged,
        then=then,
        cause=(root.pod, root.node) if root else None,
    )


def report_pause(snapshot: Snapshot, begins: datetime, config: FaultTolerance) -> Actions:
    """Report the start of the next attempt in PodsReady and Unhealthy."""
    attempt = next_attempt(snapshot.retries, config, begins)
    said, last = snapshot.told.get(CONDITION_UNHEALTHY), snapshot.reported.get(CONDITION_UNHEALTHY)
    if said is None or CONDITION_UNHEALTHY not in snapshot.conditions:
        return (reporting(attempt),)
    if not (isinstance(last, Problem) and last.reason == said.reason):  # after a restart
        if (reason := next((each for each in Reason if each == said.reason), None)) is None:
            return (reporting(attempt),)  # another operator wrote this reason
        last = Problem(reason=reason, problem=said.message, quoted="")
    return (reporting(attempt), reporting(replace(last, then=attempt.text())))


def hold_on(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> ResetHold | None:
    """Return why the answer to `finding` must wait for its permit; None if it need not.

    A move to Failed waits only if it is an evacuation: otherwise wrong labels would end all
    AppWrappers that have no retry left. Call it only if the answer can be given now: the permit for
    a reset takes a token.
    """
    if finding.reason is Reason.AUTOPILOT_NO_EXECUTE:
        snapshot.require(Need.PERMIT_EVACUATION)
        return snapshot.evacuation_hold
    if is_hopeless(snapshot, finding, config):
        return None
    snapshot.require(Need.PERMIT_RESET)
    return snapshot.reset_hold


def tell_hold(snapshot: Snapshot, finding: Finding, hold: ResetHold) -> Actions:
    """Set Unhealthy and report what the reset waits for: once, not in every pass."""
    reason = _HELD[hold.reason]
    said = snapshot.told.get(CONDITION_UNHEALTHY)
    if CONDITION_UNHEALTHY in snapshot.conditions and said and said.reason == reason:
        return ()
    told = reporting(unhealthy(finding, reason=reason, then=hold.message))
    return (told, Warn(reason, told.message, told.logged))


def was_held(snapshot: Snapshot) -> bool:
    """True if Unhealthy reports a reset that waits."""
    said = snapshot.told.get(CONDITION_UNHEALTHY)
    return said is not None and said.reason in _HELD.values()


def fail(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> Actions:
    """Move to Failed: keep the resources for DeletionOnFailureGracePeriod, then delete them.

    QuotaReserved and ResourcesDeployed stay True until the deletion is proved complete.
    """
    if finding.retryable:
        finding = _opened(finding, f"{_exhausted_words(config)}: ")
    elif finding.why_terminal:
        finding = _opened(finding, f"{finding.why_terminal}; ")
    message, logged = finding.message, finding.logged
    said: Actions = (
        MoveTo(Phase.FAILED, finding.reason, message, logged=logged),
        reporting(unhealthy(finding)),
        *_suspicion(snapshot, finding),
        *_root_cause(finding, Decision.TERMINAL, _why_no_retry(finding, config)),
    )
    if config.deletion_on_failure_grace > ZERO and not snapshot.suspend:
        start = StartTimer(Timer.DELETION_ON_FAILURE)
        return (*said, start, WakeAfter(config.deletion_on_failure_grace))
    return (*said, *begin_deletion(snapshot, keep=False))


def _suspicion(snapshot: Snapshot, finding: Finding) -> Actions:
    """Record the node that may be the cause, in the status write that ends the attempt.

    A failure that forbids a retry is not a node's fault. In an evacuation the bad node is known:
    pods on other nodes mostly failed because their peers failed. The last attempt also names its
    node: an admin who reads the status looks there.
    """
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


def _exhausted_words(config: FaultTolerance) -> str:
    limit = config.retry_limit
    return f"retries exhausted ({limit} of {limit})" if limit else "retryLimit is 0"


def _why_no_retry(finding: Finding, config: FaultTolerance) -> str:
    return _exhausted_words(config) if finding.retryable else finding.why_terminal


def is_hopeless(snapshot: Snapshot, finding: Finding, config: FaultTolerance) -> bool:
    """True if no retry follows `finding`."""
    return not finding.retryable or snapshot.retries >= config.retry_limit
