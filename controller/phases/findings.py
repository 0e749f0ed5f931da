"""Find the problems of an AppWrapper, and decide whether a retry may follow each.

With errorAggregation `earliest` only the root cause decides. With `default` the exit code of any
failed pod decides and the root cause is only shown; with `off` it is not shown either. The order of
the checks in `forbidden` is their precedence.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from controller.phases.actions import Reason
from controller.phases.readiness import crash_loops, none_is_missing, runs_as_wanted
from controller.phases.root_cause import (
    LONGEST_LINE,
    RootCause,
    headline,
    line,
    outline,
    place_of,
)
from controller.phases.silent_nodes import UnreachablePods
from controller.phases.snapshot import (
    OFF,
    FaultTolerance,
    PodCounts,
    Presence,
    Snapshot,
    TerminalExit,
)
from controller.phases.success_and_stragglers import with_trouble, words_of, words_of_failed
from controller.phases.timers import ZERO, in_force, remaining
from controller.reports.unhealthy import Problem
from shared.api.conditions import Terminal
from shared.api.lines import clipped

EARLIEST: Final = "earliest"
_LONGEST_POD: Final = 63  # bytes; pods of training workloads have no longer names


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem of an AppWrapper. `logged` as for MoveTo.

    `root_cause` is set only for failures, silent nodes and tainted devices, not for a deletion, a
    node's label or a refused create.
    """

    reason: Reason
    message: str
    logged: str | None = None
    root_cause: RootCause | None = None
    retryable: bool = True  # False: move to Failed directly
    non_recoverable: bool = False  # not retryable because the program recorded that none can help
    why_terminal: str = ""  # the reason against a retry, if `message` lacks it
    spends_retry: bool = True  # False: a reset needs a remaining retry but does not spend it


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


# A component that another client deleted.


def missing_component(snapshot: Snapshot) -> Finding | None:
    """Return the finding about components that another client deleted; None without one.

    No retry follows: creating the component again would act against that client. A component that
    had reported its end is not missing, because a TTL deletes Jobs. A helper does not count either:
    the other components continue without it. A bare pod does not count if its node was removed.
    """
    return _deleted(_without_pods(snapshot) if snapshot.lost else snapshot, Presence.GONE)


def leaving_component(snapshot: Snapshot) -> Finding | None:
    """Return the finding about components that another client is deleting; None without one.

    Such a component is missing only after its pods have ended. Foreground deletion or a long
    terminationGracePeriodSeconds takes time, and the pods fail meanwhile. The client that stopped
    the component must not cause another attempt. Bare pods are excluded because Kubernetes deletes
    them too: on a silent node such a pod never ends, and needs another attempt.
    """
    return _deleted(_without_pods(snapshot), Presence.DELETING)


def _without_pods(snapshot: Snapshot) -> Snapshot:
    others = tuple(each for each in snapshot.components if each.kind != "Pod")
    return replace(snapshot, components=others)


def _deleted(snapshot: Snapshot, presence: Presence) -> Finding | None:
    missing = [
        f"{component.kind} {component.name}"
        for component in snapshot.components
        if component.presence is presence and component.terminal is None and not component.helper
    ]
    if not missing:
        return None
    return Finding(
        reason=Reason.MISSING_COMPONENT,
        message="deleted by another client: " + ", ".join(missing),
        retryable=False,
    )


# A component that failed.


def failed_component(snapshot: Snapshot, config: FaultTolerance) -> Finding | None:
    """Return the finding about components that failed; None without one. Helpers do not count.

    A component that reports its failure has given up, so no grace period can help.
    """
    failed = [
        each for each in snapshot.components if each.terminal is Terminal.FAILED and not each.helper
    ]
    if not failed:
        return None
    if invalid := [each for each in failed if each.invalid]:
        names = ", ".join(f"{each.kind} {each.name}" for each in invalid)
        return Finding(
            reason=Reason.FAILED_COMPONENT,
            message=words_of(invalid),
            logged=names,
            retryable=False,
            why_terminal="no retry: the operator rejects the component",
        )
    pods = snapshot.pods
    why = f"; {words_of_failed(pods)}" if pods.failed_named else ""
    return failure(
        snapshot,
        config,
        Reason.FAILED_COMPONENT,
        words_of(failed) + why,
        logged=", ".join(f"{each.kind} {each.name}" for each in failed) + why,
        terminal_exit=pods.terminal is not None,
    )


# Pods that must leave their nodes at once.


# The reasons of moves that spend no retry and that the evacuation breaker may hold.
EVACUATIONS: Final = frozenset(
    {Reason.AUTOPILOT_NO_EXECUTE, Reason.DEVICE_TAINTED, Reason.NODE_UNREACHABLE}
)


def evacuation(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """Return the finding about pods that must leave their nodes or devices at once."""
    if (found := snapshot.evacuation) is None:
        return _unreachable(snapshot, now, config)
    root = found.root_cause
    return Finding(
        reason=Reason.AUTOPILOT_NO_EXECUTE if root is None else Reason.DEVICE_TAINTED,
        message=found.message,
        root_cause=None if config.error_aggregation == OFF else root,
        spends_retry=found.spends_retry,
    )


def silence_ends_in(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta | None:
    """Return the wait until pods must leave their silent nodes; None if they need not.

    They need not if enough other pods run: they were replaced.
    """
    found = snapshot.unreachable
    if found is None or config.unreachable_grace == ZERO or runs_as_wanted(snapshot):
        return None
    return remaining(found.since, config.unreachable_grace, now)


def _unreachable(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    found = snapshot.unreachable
    if found is None or silence_ends_in(snapshot, now, config) != ZERO:
        return None
    return without_its_nodes(found, config)


def without_its_nodes(found: UnreachablePods, config: FaultTolerance) -> Finding:
    """Return the finding about pods whose nodes do not answer, or were removed."""
    first = found.suspects[0]
    root = RootCause(
        pod=first.pod,
        node=first.node,
        time=found.since,
        code=Reason.NODE_UNREACHABLE.value,
        infrastructure=Reason.NODE_UNREACHABLE.value,
        message=found.message,
        failed_pods=found.pods,
        points_at_node=True,
    )
    return Finding(
        reason=Reason.NODE_UNREACHABLE,
        message=found.message,
        root_cause=None if config.error_aggregation == OFF else root,
        spends_retry=found.spends_retry,
    )


# A pod that no node can hold.


def unschedulable(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """Return the finding about a pod that no node could hold for failUnschedulable.

    No retry follows: each would hold its quota in vain.
    """
    if not config.fail_unschedulable or not snapshot.pods.no_node:
        return None
    if remaining(snapshot.timers.unschedulable, config.fail_unschedulable, now) > ZERO:
        return None
    return Finding(reason=Reason.UNSCHEDULABLE, message=snapshot.pods.no_node, retryable=False)


# A problem with pods is reported, may heal within FailureGracePeriod, and then causes a reset.
# docs/users/phases.md shows the first paragraph of the checks' docstrings.

Check = Callable[[Snapshot, datetime, FaultTolerance], Finding | None]


def current_finding(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """Return the finding about pods, with the periods that are in force (timers.py)."""
    return first_finding(in_force(snapshot, now), now, config)


def first_finding(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """Return the finding of the first check that has one."""
    findings = (check(snapshot, now, config) for check in CHECKS)
    return next((finding for finding in findings if finding is not None), None)


def failed_pods(snapshot: Snapshot, _now: datetime, config: FaultTolerance) -> Finding | None:
    """Pods failed and were not replaced."""
    pods = snapshot.pods
    if not pods.failed:
        return None
    words, terminal = words_of_failed(pods), pods.terminal is not None
    return failure(snapshot, config, Reason.FAILED_PODS, words, terminal_exit=terminal)


def too_few_exist(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """AdmissionGracePeriod is over, and pods were not created."""
    pods = snapshot.pods
    if pods.existing >= pods.wanted:
        return None
    if remaining(snapshot.timers.admission, config.admission_grace, now) > ZERO:
        return None
    message = f"{pods.existing} of {_wanted(pods)} exist"
    return _too_few(message, snapshot, config)


def too_few_run(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """WarmupGracePeriod is over, and pods do not run, or have not run for long enough. Pods on
    unreachable nodes do not count as missing.
    """
    pods = snapshot.pods
    if none_is_missing(snapshot):
        return None
    if remaining(snapshot.timers.warmup, config.warmup_grace, now) > ZERO:
        return None
    message = f"{pods.ready} of {_wanted(pods)} run or succeeded"
    if pods.pending_named:
        message += f"; not running: {pods.pending_named}"
    if loops := crash_loops(snapshot):
        message += f"; {loops}"
    return _too_few(message, snapshot, config)


def _too_few(words: str, snapshot: Snapshot, config: FaultTolerance) -> Finding:
    """Return the finding. The components' messages may quote users, so they are not logged."""
    message = with_trouble(words, snapshot)
    return failure(snapshot, config, Reason.INSUFFICIENT_PODS_READY, message, logged=words)


def _wanted(pods: PodCounts) -> str:
    """Return `2 pods`, or `the 2 pods wanted so far`."""
    return f"the {pods.wanted} pods wanted so far" if pods.deferred else f"{pods.wanted} pods"


CHECKS: Final[tuple[Check, ...]] = (failed_pods, too_few_exist, too_few_run)


# Whether a failure may be retried, and its description.


def failure(
    snapshot: Snapshot,
    config: FaultTolerance,
    reason: Reason,
    words: str,
    *,
    logged: str | None = None,
    terminal_exit: bool = False,
) -> Finding:
    """Return the finding about a failure. `words` describe the failure without its root cause.

    If `words` quote users, the operator's log contains `logged` instead. `terminal_exit`: an exit
    code of some pod forbids a retry, which counts if no root cause decides.
    """
    root = snapshot.root_cause
    verdict = forbidden(root, config, terminal_exit=terminal_exit)
    message, logged = words, words if logged is None else logged
    if root is not None:
        message, logged = _naming(root, words), f"{outline(root)}; {logged}"
    return Finding(
        reason=reason,
        message=message,
        logged=None if message == logged else logged,
        retryable=verdict is None,
        non_recoverable=verdict is RetryForbidden.BY_PROGRAM,
        why_terminal=_why_terminal(snapshot, verdict, config),
        root_cause=root,
    )


class RetryForbidden(StrEnum):
    """The reasons why no retry may follow, whatever the retry limit."""

    BY_EXIT_CODE = "exit code"
    BY_PROGRAM = "program"


def forbidden(
    root: RootCause | None, config: FaultTolerance, *, terminal_exit: bool
) -> RetryForbidden | None:
    """Return what forbids a retry; None if nothing does.

    The user's lists of exit codes take precedence over the program's record. So does a cause in the
    infrastructure: on a broken device programs fail in many ways.
    """
    if root is None or config.error_aggregation != EARLIEST:
        return RetryForbidden.BY_EXIT_CODE if terminal_exit else None
    if root.exits_terminally:
        return RetryForbidden.BY_EXIT_CODE
    if root.exit_code in config.retryable_exit_codes:
        return None
    return RetryForbidden.BY_PROGRAM if root.forbids_retry else None


def _why_terminal(
    snapshot: Snapshot, verdict: RetryForbidden | None, config: FaultTolerance
) -> str:
    """Return `no retry: exit code 42 of train-0 is in terminalExitCodes`, for instance."""
    if verdict is None:
        return ""
    if verdict is RetryForbidden.BY_PROGRAM:
        return "no retry: the program recorded that none can help"
    root, terminal = snapshot.root_cause, snapshot.pods.terminal
    if root is not None and root.exit_code is not None and config.error_aggregation == EARLIEST:
        terminal = TerminalExit(clipped(root.pod or "a worker", _LONGEST_POD), root.exit_code)
    if terminal is None:
        return "no retry"
    why = config.forbids(terminal.code)
    return f"no retry: exit code {terminal.code} of {terminal.pod} {why}"


def _naming(root: RootCause, words: str) -> str:
    """Add the root cause to `words`, in one line of at most LONGEST_LINE bytes.

    If `words` name the root cause's pod as the only failed pod, the line names it once.
    """
    if f"1 failed pod: {place_of(root)}" in words:
        what = headline(root)
        text = f"{words}: {what}" if what else words
    else:
        text = f"{line(root)}; {words}"
    return clipped(" ".join(text.split()), LONGEST_LINE)
