"""Decide whether a failure may be retried, and describe it.

With errorAggregation `earliest` only the root cause decides. With `default` the exit code of any
failed pod decides and the root cause is only shown; with `off` it is not shown either. The order of
the checks in `forbidden` is their precedence.
"""

from enum import StrEnum
from typing import Final

from controller.phases.actions import Actions, Reason, RecordRootCause
from controller.phases.retries import Finding, unhealthy
from controller.phases.root_cause import (
    LONGEST_LINE,
    Decision,
    RootCause,
    clipped,
    headline,
    line,
    outline,
    place_of,
)
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.names import CONDITION_UNHEALTHY

EARLIEST: Final = "earliest"
_LONGEST_POD: Final = 63  # bytes; pods of training workloads have no longer names


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
        non_recoverable=verdict is Forbidden.BY_PROGRAM,
        why_terminal=_why_terminal(snapshot, verdict, config),
        root_cause=root,
    )


class Forbidden(StrEnum):
    """The reasons why no retry may follow, whatever the retry limit."""

    BY_EXIT_CODE = "exit code"
    BY_PROGRAM = "program"


def forbidden(
    root: RootCause | None, config: FaultTolerance, *, terminal_exit: bool
) -> Forbidden | None:
    """Return what forbids a retry; None if nothing does.

    The user's lists of exit codes take precedence over the program's record. So does a cause in the
    infrastructure: on a broken device programs fail in many ways.
    """
    if root is None or config.error_aggregation != EARLIEST:
        return Forbidden.BY_EXIT_CODE if terminal_exit else None
    if root.exits_terminally:
        return Forbidden.BY_EXIT_CODE
    if root.exit_code in config.retryable_exit_codes:
        return None
    return Forbidden.BY_PROGRAM if root.forbids_retry else None


def _why_terminal(snapshot: Snapshot, verdict: Forbidden | None, config: FaultTolerance) -> str:
    """Return `no retry: exit code 42 of train-0 is in terminalExitCodes`, for instance."""
    if verdict is None:
        return ""
    if verdict is Forbidden.BY_PROGRAM:
        return "no retry: the program recorded that none can help"
    root, why = snapshot.root_cause, snapshot.pods.terminal_named
    if root is not None and root.exit_code is not None and config.error_aggregation == EARLIEST:
        pod = clipped(root.pod or "a worker", _LONGEST_POD)
        why = f"exit code {root.exit_code} of {pod} {config.forbids(root.exit_code)}"
    return f"no retry: {why}"


def record_healed(snapshot: Snapshot) -> Actions:
    """Add a failure that healed to the history, if Unhealthy reported it."""
    if snapshot.healed is None or CONDITION_UNHEALTHY not in snapshot.conditions:
        return ()
    return (RecordRootCause(snapshot.healed, Decision.NONE),)


def would_repeat_report(snapshot: Snapshot, finding: Finding) -> bool:
    """False if Unhealthy reports another failure, and the root cause is not newer than that report.

    So pods that fail and heal repeatedly do not cost a status write each.
    """
    said, root = snapshot.told.get(CONDITION_UNHEALTHY), finding.root_cause
    if said is None or root is None or root.time is None or snapshot.timers.failure is None:
        return True
    if said.reason != finding.reason or root.time > snapshot.timers.failure:
        return True
    return not snapshot.is_news(unhealthy(finding))


def _naming(root: RootCause, words: str) -> str:
    """Add the root cause to `words`, in one line of at most LONGEST_LINE bytes.

    If `words` name the root cause's pod as the only failed pod, the line names it once.
    """
    if f"1 failed pod: {place_of(root)}" in words:
        what = headline(root)
        said = f"{words}: {what}" if what else words
    else:
        said = f"{line(root)}; {words}"
    return clipped(" ".join(said.split()), LONGEST_LINE)
