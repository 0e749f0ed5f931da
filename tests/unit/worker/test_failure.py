"""Which of several failures in one pod came first, and whether it is worth another try."""

from dataclasses import replace
from itertools import permutations

import pytest

from worker.failure import Failure, Report, earliest, first_failure, is_recoverable

S = 10**9
PID = 100
T = 1_795_448_580 * S
LOST_PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer"


def error(time_ns: int, message: str = "ValueError: bad shard", **facts: int | None) -> Failure:
    return replace(
        Failure(time_ns, code="X", message=message, is_exception=True),
        **facts,  # type: ignore[arg-type]
    )


def ended(status: int, time_ns: int = T) -> Failure:
    return Failure(time_ns, status=status)


def launch(time_ns: int, *ranks: tuple[int, Failure], pid: int = PID) -> Report:
    return Report(error(time_ns, "ChildFailedError: train.py FAILED"), pid=pid, ranks=ranks)


def noticed(time_ns: int, rank: int, status: int, late_s: int = 5) -> Failure:
    """A rank without a file, as a launcher that looks each `late_s` seconds dates it."""
    return Failure(time_ns - late_s * S, (late_s + 1) * S, rank=rank, status=status)


def test_a_command_without_reports_ended_as_it_ended() -> None:
    assert first_failure([], None, PID, ended(42)) == ended(42)


def test_the_commands_own_exception_counts_however_long_it_took_to_end() -> None:
    report = Report(error(T - 600 * S), pid=PID)
    assert first_failure([report], None, PID, ended(1)) == error(T - 600 * S, status=1)


@pytest.mark.parametrize(("seconds", "counts"), [(30, True), (31, False)])
def test_an_exception_of_another_process_counts_shortly_before_the_end(
    seconds: int, counts: bool
) -> None:
    report = Report(error(T - seconds * S), pid=7)
    expected = error(T - seconds * S, status=1) if counts else ended(1)
    assert first_failure([report], None, PID, ended(1)) == expected


def test_the_earliest_of_linked_exceptions_counts_in_any_order() -> None:
    survived = Report(error(T - 100 * S, "KeyError: survived"), pid=4)
    reports = [
        Report(error(T - 50 * S, "ValueError: first"), pid=5),
        Report(error(T - 25 * S, "OSError: second"), pid=6),
        Report(error(T - 1 * S, "CalledProcessError"), pid=PID),
        survived,
    ]
    for shuffled in permutations(reports):
        found = first_failure(shuffled, None, PID, ended(1))
        assert found.message == "ValueError: first"


def test_a_signal_is_not_explained_by_an_exception_of_another_process() -> None:
    report = Report(error(T - S), pid=7)
    assert first_failure([report], None, PID, ended(-11)) == ended(-11)


def test_a_threads_exception_explains_an_exit_code_only_if_nothing_else_does() -> None:
    thread = Report(error(T - 2 * S, "ValueError: in a thread"), pid=PID, thread=True)
    own = Report(error(T - S, "queue.Empty"), pid=PID)
    assert first_failure([thread], None, PID, ended(3)).message == "ValueError: in a thread"
    assert first_failure([thread, own], None, PID, ended(3)).message == "queue.Empty"
    assert first_failure([thread], None, PID, ended(-6)) == ended(-6)


def test_an_exit_code_that_was_asked_for_is_no_failure() -> None:
    asked = Report(Failure(T - S, code="EXIT_1", status=1), pid=7)
    assert first_failure([asked], None, PID, ended(2)) == ended(2)


def test_an_exit_code_is_explained_by_the_program_that_chose_it() -> None:
    asked = Failure(T - S, code="EXIT_3", message="no data", status=3)
    report = Report(asked, pid=7)
    assert first_failure([report], None, PID, ended(3)) == asked
    assert first_failure([report], None, PID, ended(4)) == ended(4)
    raised = Report(error(T - 2 * S), pid=8)
    assert first_failure([report, raised], None, PID, ended(3)) == error(T - 2 * S, status=3)


def test_torchruns_own_file_counts_where_no_hook_saw_anything() -> None:
    file = Report(error(T - S, precision_ns=S, status=-11))
    assert first_failure([], file, PID, ended(1)) == file.failure
    undated = Report(error(0))
    assert first_failure([], undated, PID, ended(1)) == error(T, status=1)
    own = Report(error(T - S, "exact"), pid=PID)
    assert first_failure([own], file, PID, ended(1)).message == "exact"


def test_a_launchers_list_takes_precedence_over_exceptions() -> None:
    subprocess = Report(error(T - 20 * S, "KeyError: survived"), pid=7)
    last = launch(T, (11, noticed(T, 3, 42)))
    found = first_failure([subprocess, last], None, PID, ended(1))
    assert (found.rank, found.status) == (3, 42)


def test_the_last_of_a_loop_of_launchers_counts() -> None:
    before = launch(T - 5 * S, (11, noticed(T, 1, 9)), pid=8)
    last = launch(T - S, (12, noticed(T, 2, 10)), pid=9)
    found = first_failure([last, before], None, PID, ended(1))
    assert found.status == 10


def test_a_ranks_own_report_has_the_exact_time() -> None:
    own = Report(error(T - 4 * S + 123), pid=11)
    found = first_failure([own, launch(T, (11, noticed(T, 3, 1)))], None, PID, ended(1))
    assert found == error(T - 4 * S + 123, rank=3, status=1)


@pytest.mark.parametrize("by", [-15, -9])
def test_a_rank_that_was_killed_while_it_ended_failed_by_itself(by: int) -> None:
    asked = Report(Failure(T - 2 * S, code="EXIT_42", status=42), pid=11)
    peer = Report(error(T - S, LOST_PEER), pid=12)
    last = launch(T, (11, noticed(T, 1, by)), (12, noticed(T, 0, 1)))
    found = first_failure([asked, peer, last], None, PID, ended(1))
    assert (found.rank, found.status, found.code) == (1, 42, "EXIT_42")


@pytest.mark.parametrize(("by", "status"), [(-15, 1), (-9, 1), (-11, -11), (3, 3)])
def test_an_exception_of_a_rank_that_was_killed_while_it_ended_has_exit_code_1(
    by: int, status: int
) -> None:
    """Python would have ended with it. A crash of its own is no one's kill."""
    own = Report(error(T - 2 * S), pid=11)
    found = first_failure([own, launch(T, (11, noticed(T, 1, by)))], None, PID, ended(1))
    assert found == error(T - 2 * S, rank=1, status=status)


def test_a_rank_that_dies_of_a_signal_precedes_the_peers_that_lose_it() -> None:
    peer = Report(error(T - S, LOST_PEER), pid=12)
    last = launch(T, (12, noticed(T, 0, 1)), (11, noticed(T, 1, -11)))
    assert first_failure([peer, last], None, PID, ended(1)).status == -11


def test_a_worker_killed_by_its_launcher_counts_only_alone() -> None:
    killed, later = noticed(T, 0, -15), noticed(T + 60 * S, 1, 3)
    assert earliest([killed, later]) == later
    assert earliest([killed]) == killed


@pytest.mark.parametrize("seed", range(24))
def test_coarse_times_are_decided_by_what_failed_and_then_by_rank(seed: int) -> None:
    own, signal, bare = error(T, rank=5), ended(-6), replace(ended(3), rank=1)
    peer = error(T, LOST_PEER, rank=0)
    coarse = [replace(item, precision_ns=S) for item in (own, signal, bare, peer)]
    shuffled = list(permutations(coarse))[seed]
    assert earliest(shuffled) == coarse[0]
    assert earliest([item for item in shuffled if item != coarse[0]]) == coarse[1]
    assert earliest([item for item in shuffled if item in coarse[2:]]) == coarse[2]
    twins = [replace(coarse[0], rank=2), coarse[0]]
    assert earliest(twins[:: 1 if seed % 2 else -1]).rank == 2


def test_exact_times_decide_whatever_failed() -> None:
    assert earliest([error(T + 1), error(T, LOST_PEER)]) == error(T, LOST_PEER)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (error(T), False),
        (error(T, "MemoryError"), False),
        (error(T, "torch.cuda.OutOfMemoryError: CUDA out of memory."), False),
        (error(T, LOST_PEER), True),
        (error(T, "RuntimeError: CUDA error: uncorrectable ECC error encountered"), True),
        (ended(-11), True),
        (ended(7), True),
        (replace(error(T), recoverable=True), True),
        (replace(error(T, LOST_PEER), recoverable=False), False),
    ],
)
def test_failures_that_are_worth_a_retry(failure: Failure, expected: bool) -> None:
    assert is_recoverable(failure, 1, frozenset()) is expected


def test_an_exit_code_that_the_user_named_is_worth_another_try() -> None:
    assert is_recoverable(error(T), 10, frozenset({10}))
    assert not is_recoverable(error(T), 10, frozenset({11}))
    assert not is_recoverable(replace(error(T), recoverable=False), 10, frozenset({10}))
