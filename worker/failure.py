"""One failure inside this pod, and the rules for which of several came first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from worker.error_texts import is_device_fault, is_peer_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

_TERMINATED = -15
_KILLED = (-15, -9)  # torchrun's way to end its other ranks
# torchrun gives its ranks 30 s to end after the first of them failed.
_LINK_NS = 30 * 1_000_000_000


@dataclass(frozen=True)
class Failure:
    """The end of a process: an exception, an exit code or a signal.

    It happened in [time_ns, time_ns + precision_ns]. `status` is the exit code, or the negated
    number of a signal; None if no process waited for the end. `recoverable` is the program's own
    statement; None without one.
    """

    time_ns: int
    precision_ns: int = 0
    code: str = ""
    message: str = ""
    recoverable: bool | None = None
    is_exception: bool = False
    rank: int | None = None
    status: int | None = None


@dataclass(frozen=True)
class Report:
    """The report of one process, in the form of torchrun's error files.

    `ranks` are the failures of a launcher, each with its process id, if torchrun gave up.
    """

    failure: Failure
    pid: int | None = None
    thread: bool = False
    ranks: tuple[tuple[int | None, Failure], ...] = ()


def first_failure(
    reports: Sequence[Report], error_file: Report | None, pid: int, end: Failure
) -> Failure:
    """Return the failure that ended the command whose process id is `pid`.

    `end` is the end of the command itself: the answer if no report explains it. A launcher's list
    takes precedence over exceptions, exceptions over `error_file` (of the command itself), and that
    file over an exception of a thread. Reports long before the end explain nothing: the program
    survived them.
    """
    linked = _linked(reports, pid, end)
    launches = [report for report in linked if report.ranks]
    if launches:
        launch = max(launches, key=lambda report: report.failure.time_ns)
        return earliest([_exact(rank, number, reports) for number, rank in launch.ranks])
    # Programs that end with an exit code are often asked for it, and the answer is no failure.
    exits = [report.failure for report in linked if _explains(report.failure, end)]
    linked = [report for report in linked if report.failure.is_exception]
    errors = [report.failure for report in linked if not report.thread]
    # A file with a process id is our hooks' own, and so one of `reports`.
    if not errors and error_file is not None and error_file.pid is None:
        found = error_file.failure
        errors = [found if found.time_ns else replace(found, time_ns=end.time_ns)]
    if not errors and (end.status or 0) > 0:
        errors = [report.failure for report in linked]
    if not errors:
        return earliest(exits or [end])
    first = earliest(errors)
    return first if first.status is not None else replace(first, status=end.status)


def earliest(failures: Sequence[Failure]) -> Failure:
    """Return the first of `failures`, which must not be empty.

    Failures of ranks that a launcher killed afterwards count only if there are no others. If times
    are too coarse to decide, an exception of the program takes precedence over a signal, a signal
    over an exit code, and an exit code over the loss of a peer.
    """
    others = [failure for failure in failures if failure.status != _TERMINATED]
    candidates = others or list(failures)
    limit = min(failure.time_ns + failure.precision_ns for failure in candidates)
    return min(
        (failure for failure in candidates if failure.time_ns <= limit),
        key=lambda failure: (
            _weight(failure),
            failure.time_ns,
            -1 if failure.rank is None else failure.rank,
        ),
    )


def is_recoverable(failure: Failure, exit_code: int, recoverable_codes: frozenset[int]) -> bool:
    """True if the failure is worth another try.

    The program's own statement takes precedence, then the exit codes that the user named. An
    exception without a statement is the program's own fault, unless it reports a lost peer or a
    faulty device. A signal or a bare exit code proves nothing against another try.
    """
    if failure.recoverable is not None:
        return failure.recoverable
    if exit_code in recoverable_codes or not failure.is_exception:
        return True
    return is_peer_loss(failure.message) or is_device_fault(failure.message)


def _explains(failure: Failure, end: Failure) -> bool:
    """True if a program that ended with the same exit code reported a message."""
    return bool(failure.message) and not failure.is_exception and failure.status == end.status


def _weight(failure: Failure) -> int:
    if failure.is_exception:
        return 3 if failure.recoverable is None and is_peer_loss(failure.message) else 0
    return 1 if (failure.status or 0) < 0 else 2


def _linked(reports: Sequence[Report], pid: int, end: Failure) -> list[Report]:
    """Return the reports that lead to the end: each close to the next one, or of the command.

    A command that a signal killed did not end by an exception of another process. So only a
    launcher's report and its own can explain it.
    """
    by_signal = (end.status or 0) < 0
    horizon = end.time_ns
    linked = []
    for report in sorted(reports, key=lambda report: -report.failure.time_ns):
        own = report.pid == pid and not report.thread
        near = horizon - report.failure.time_ns <= _LINK_NS
        if own or (near and (report.ranks or not by_signal)):
            linked.append(report)
            horizon = min(horizon, report.failure.time_ns)
    return linked


def _exact(rank: Failure, pid: int | None, reports: Sequence[Report]) -> Failure:
    """Return a rank's failure by its own report, which has the exact time, if there is one.

    A rank that failed first may still be ending when the launcher kills it, together with the ranks
    that failed because of it. Then the rank's own report counts, and not the launcher's signal.
    """
    own = [
        report.failure
        for report in reports
        if report.pid is not None and report.pid == pid and not report.thread
    ]
    if not own:
        return rank
    last = max(own, key=lambda failure: failure.time_ns)
    status = last.status or (1 if rank.status in _KILLED else rank.status)
    return replace(last, rank=rank.rank, status=status)
