"""What a record says of a failure, and what counts more than it does."""

from datetime import UTC, datetime

import pytest

from controller.facts.pods import Pod
from controller.phases.root_cause import Source, summary
from controller.phases.snapshot import FaultTolerance
from tests.support.builders.failed_pods import (
    at,
    clock,
    failed_pod,
    found,
    record,
    recorded_pod,
    sure,
)
from worker.record import SYSTEM, UNKNOWN

NO_COMMAND = 'runc create failed: exec: "trian": executable file not found in $PATH: unknown'
NCCL = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333"


def test_a_killed_worker_that_recorded_an_error_is_no_consequence() -> None:
    killed = recorded_pod("w1", record(None), 137, finished=10)
    assert sure(found([killed, failed_pod("w0", 1, 11)])).pod == "w1"


def test_a_record_of_an_unknown_pod_belongs_to_no_other() -> None:
    strange = [record(9, worker="gone"), record(9, worker="gone", pod_uid="g")]
    cause = sure(found([failed_pod("w0")], *strange))
    assert (cause.pod, cause.recoverable, cause.records) == ("w0", None, 0)


def test_a_terminated_worker_is_the_root_cause_if_all_were_terminated() -> None:
    terminated_worker = recorded_pod("w0", record(9, collateral=True, message="told to end"), 143)
    cause = sure(found([terminated_worker]))
    assert (cause.pod, cause.recoverable, cause.points_at_node) == ("w0", None, False)


def test_recorded_times_are_taken_as_they_are_however_a_text_reads() -> None:
    lost = recorded_pod("w0", record(9.999, message=NCCL))
    assert sure(found([lost, recorded_pod("w1", record(10))])).pod == "w0"


def test_within_the_precision_of_the_times_the_kind_of_failure_decides() -> None:
    lost = recorded_pod("w0", record(10, message=NCCL, precision_ns=10**9))
    assert sure(found([lost, recorded_pod("w1", record(11))])).pod == "w1"
    assert sure(found([lost, recorded_pod("w1", record(11.1))])).pod == "w0"
    alike = recorded_pod("w0", record(10, precision_ns=10**9))
    assert sure(found([recorded_pod("w1", record(10.5)), alike])).pod == "w0"


@pytest.mark.parametrize(
    ("seconds", "suspect"), [(-5.1, True), (-5, False), (305, False), (305.1, True)]
)
def test_a_time_that_cannot_be_is_replaced_by_the_kubelets(seconds: float, suspect: bool) -> None:
    cause = sure(found([recorded_pod("w0", record(seconds), finished=12)]))
    assert cause.clock_suspect is suspect
    kubelets = datetime(2026, 1, 1, 10, 0, 12, tzinfo=UTC)
    assert (cause.time == kubelets) is suspect


def test_the_store_gives_the_whole_text_and_the_kubelet_pod_and_exit_code() -> None:
    whole = "Traceback (most recent call last):\n" + "  frame\n" * 1000 + "ValueError: bad shard"
    own = record(10, record_id="a", exit_code=42, worker="liar", rank=4)
    stored = record(10, record_id="a", message=whole, worker="w0", pod_uid="uid-w0", rank=7)
    cause = sure(found([recorded_pod("w0", own, 7)], stored))
    assert (cause.pod, cause.exit_code, cause.rank) == ("w0", 7, 4)
    assert cause.source is Source.STORE
    assert len(cause.message.encode()) <= 2048
    assert cause.message.startswith("Traceback")
    assert cause.message.endswith("ValueError: bad shard")
    assert summary(cause) == "w0 r4: ValueError: bad shard (non-recoverable)"


def test_the_record_of_the_newer_run_of_a_pod_counts() -> None:
    own = recorded_pod("w0", record(10, record_id="b", started_ns=at(5)))
    older = record(4, record_id="a", message="older", worker="w0", started_ns=at(2))
    newer = record(11, record_id="c", message="newer", worker="w0", started_ns=at(9))
    assert sure(found([own], older)).message == "ValueError: bad shard"
    assert sure(found([own], older, newer)).message == "newer"


def test_flytes_default_kind_does_not_end_a_job_that_lost_a_peer_or_a_device() -> None:
    for text in (NCCL, "RuntimeError: CUDA error: an illegal memory access"):
        flytes = recorded_pod("w0", record(10, message=text))
        ours = recorded_pod("w0", record(10, message=text, record_id="a"))
        assert sure(found([flytes])).recoverable is None
        assert sure(found([ours])).recoverable is False


@pytest.mark.parametrize(
    ("failed", "points"),
    [
        (recorded_pod("w0", record()), False),
        (recorded_pod("w0", record(message="RuntimeError: CUDA error: device-side assert")), True),
        (recorded_pod("w0", record(message=NCCL, origin=SYSTEM)), False),
        (recorded_pod("w0", record(message="", code="", signal=11), 139), True),
        (recorded_pod("w0", record(origin=UNKNOWN)), True),
        (failed_pod("w0", 139, 10), True),
        (failed_pod("w0", 137, 10), True),
        (failed_pod("w0", 1, 10, "ValueError: bad"), True),
        (failed_pod("w0", 1, 10, NCCL), False),
        (failed_pod("w0", 137, 10, reason="OOMKilled"), False),
        (failed_pod("w0", 127, 10), False),
        (failed_pod("w0", 128, 10, NO_COMMAND, reason="StartError"), False),
        (failed_pod("w0", 128, 10, "nvidia-container-cli: no device", reason="StartError"), True),
        (failed_pod("w0", 1, 10, NO_COMMAND), True),
        (failed_pod("w0", 1, 10, "CUDA error: uncorrectable ECC error encountered"), True),
        (failed_pod("w0", 1, 10, "CUDA error: out of memory"), True),
    ],
)
def test_failures_that_suggest_a_bad_node(failed: Pod, points: bool) -> None:
    assert sure(found([failed])).points_at_node is points


@pytest.mark.parametrize(
    ("config", "points"),
    [
        (FaultTolerance(terminal_exit_codes=frozenset({3})), False),
        (FaultTolerance(terminal_exit_codes=frozenset({4})), True),
        (FaultTolerance(retryable_exit_codes=frozenset({4})), False),
        (FaultTolerance(retryable_exit_codes=frozenset({3})), True),
    ],
)
def test_a_program_that_ends_terminally_blames_no_node(
    config: FaultTolerance, points: bool
) -> None:
    assert sure(found([failed_pod("w0", 3, 10)], config=config)).points_at_node is points


def test_the_first_failed_of_several_containers_is_named() -> None:
    ended = [
        {"name": "proxy", "state": {"terminated": {"exitCode": 143, "finishedAt": clock(9)}}},
        {"name": "main", "state": {"terminated": {"exitCode": 3, "finishedAt": clock(10)}}},
    ]
    failed = failed_pod("w0", status={"containerStatuses": ended})
    cause = sure(found([failed]))
    assert (cause.container, cause.exit_code) == ("main", 3)
    stored = record(8, worker="w0", exit_code=3, message="the main one")
    cause = sure(found([failed], stored))
    assert (cause.container, cause.exit_code, cause.message) == ("main", 3, "the main one")


def test_exit_code_lists_ignore_init_containers() -> None:
    config = FaultTolerance(terminal_exit_codes=frozenset({3}))
    ended = [{"name": "fetch", "state": {"terminated": {"exitCode": 3, "finishedAt": clock(9)}}}]
    status = {"containerStatuses": [], "initContainerStatuses": ended}
    cause = sure(found([failed_pod("w0", status=status)], config=config))
    assert (cause.container, cause.exit_code, cause.exits_terminally) == ("fetch", 3, False)
    assert sure(found([failed_pod("w0", 3)], config=config)).exits_terminally
