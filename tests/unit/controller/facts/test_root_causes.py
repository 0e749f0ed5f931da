"""Which failure is the root cause, and what is said of it: the acceptance cases."""

from dataclasses import replace

import pytest

from controller.facts.pods import Pod
from controller.phases.root_cause import (
    outline,
    summary,
)
from tests.support.builders.failed_pods import (
    at,
    clock,
    failed_pod,
    found,
    record,
    recorded_pod,
    sure,
    termination_message,
)
from tests.support.builders.remembered_pods import pod
from worker.record import ErrorRecord

NCCL = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333"


LEGACY = record(None, message="Traceback: old Flyte", code="USER:Old")


def test_case_4_a_record_that_names_no_pod_counts_for_nothing_beside_another() -> None:
    pods = [failed_pod("w0", 1, 12), failed_pod("w1", 1, 11)]
    assert sure(found(pods, LEGACY)).pod == "w1"
    other = sure(found(pods, LEGACY, record(10, worker="w0")))
    assert (other.pod, other.message, other.records) == ("w0", "ValueError: bad shard", 1)


def test_case_4_a_record_that_names_no_pod_does_not_hide_an_out_of_memory_kill() -> None:
    pods = [failed_pod("w0", 137, 12, reason="OOMKilled"), failed_pod("w1", 1, 12)]
    cause = sure(found(pods, LEGACY))
    assert (cause.pod, cause.code, cause.recoverable) == ("w0", "OOMKilled", None)


def test_case_4_without_any_pod_records_alone_decide() -> None:
    cause = sure(found([], LEGACY))
    assert (cause.pod, cause.node, cause.message) == ("", "", LEGACY.message)
    assert summary(cause) == "a worker: Traceback: old Flyte (non-recoverable)"
    gone = [record(11, worker="w0", pod_uid="a"), record(10, worker="w1", pod_uid="b")]
    assert sure(found([], LEGACY, *gone)).pod == "w1"
    assert found([], record(10, worker="w1", pod_uid="b"), others=[pod("x", uid="b")]) is None
    assert found([], record(10, worker="x", pod_uid="b"), others=[pod("x")]) is None
    assert found([], record(10, worker="x"), others=[pod("x")]) is None
    assert found([]) is None


def test_case_9_a_failure_without_any_time_comes_last() -> None:
    dated = recorded_pod("w1", record(10.5), finished=12)
    never = failed_pod("w0", 1, None, termination_message(record(None)), status={"startTime": None})
    assert sure(found([dated, never])).pod == "w1"


@pytest.mark.parametrize(
    "stale",
    [
        record(9, worker="w0", attempt=1),
        record(9, worker="w0", attempt=1, pod_uid="uid-w0"),
        record(9, worker="w0", pod_uid="uid-of-an-earlier-pod"),
        record(-6, worker="w0"),
        record(0, worker="w0", started_ns=at(-6)),
        record(0, worker="w0", pod_uid="uid-w0"),
    ],
    ids=["attempt", "attempt and uid", "uid", "before the pod", "began before", "earlier run"],
)
def test_case_17_records_of_other_attempts_pods_and_runs_count_for_nothing(
    stale: ErrorRecord,
) -> None:
    pods = [failed_pod("w0", 1, 12), failed_pod("w1", 1, 11)]
    cause = sure(found(pods, stale, attempt=2))
    assert (cause.pod, cause.records, cause.recoverable) == ("w1", 0, None)
    valid = record(10, worker="w0", pod_uid="uid-w0", attempt=2)
    cause = sure(found(pods, stale, valid, attempt=2))
    assert (cause.pod, cause.records, cause.recoverable) == ("w0", 1, False)


def test_in_one_moment_the_recorded_rank_decides_then_the_index_then_the_name() -> None:
    ranks = {"w0": 2, "w1": 1, "w2": 3}
    pods = [recorded_pod(name, record(rank=rank)) for name, rank in ranks.items()]
    assert sure(found(pods)).pod == "w1"
    indexed = [replace(failed_pod(f"w{i}"), index=f"worker/{9 - i}") for i in range(3)]
    assert sure(found(indexed)).pod == "w2"
    assert sure(found([failed_pod("w1"), failed_pod("w0")])).pod == "w0"


def test_pods_without_any_container_end_are_possible() -> None:
    evicted = failed_pod(
        "w1", status={"containerStatuses": [], "reason": "Evicted", "startTime": clock(9)}
    )
    cause = sure(found([failed_pod("w0", 1, 9, NCCL), evicted]))
    assert (cause.pod, cause.infrastructure, cause.exit_code) == ("w1", "Evicted", None)
    assert summary(cause) == "w1 on n-w1: Evicted"


def test_a_drained_pod_explains_its_peers() -> None:
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    deletion = {"deletionTimestamp": clock(35), "deletionGracePeriodSeconds": 30}
    status = {"conditions": [{**disrupted, "lastTransitionTime": clock(5)}]}
    drained = failed_pod("w1", 143, 8, metadata=deletion, status=status)
    cause = sure(found([failed_pod("w0", 1, 7, NCCL), drained]))
    assert (cause.pod, cause.infrastructure) == ("w1", "EvictionByEvictionAPI")
    assert not cause.points_at_node


def test_an_end_after_a_deletion_is_no_failure() -> None:
    deletion = {"deletionTimestamp": clock(35), "deletionGracePeriodSeconds": 30}
    collateral_record = record(8, collateral=True, message="told to end")
    ended = failed_pod("w0", 143, 8, termination_message(collateral_record), metadata=deletion)
    assert found([ended]) is None
    after = record(8, worker="w0", pod_uid="uid-w0")
    assert found([ended], after) is None
    before = failed_pod("w0", 143, 8, termination_message(record(4)), metadata=deletion)
    assert sure(found([before])).message == "ValueError: bad shard"
    assert sure(found([ended], record(4, worker="w0", pod_uid="uid-w0"))).recoverable is False


HEALED = record(10, worker="train-abcde", pod_uid="uid-train-abcde", record_id="r1")


def test_a_record_of_an_unknown_pod_counts_not_beside_pods_that_go_on() -> None:
    """A pod under a random name was replaced, and now its successor waits for a node."""
    assert found([], HEALED, others=[pod("train-fghij", "Pending")]) is None
    assert found([], HEALED, others=[pod("train-fghij", "Running")]) is None


@pytest.mark.parametrize(
    "others", [[], [pod("a", "Running", deleting=True)], [pod("a", "Succeeded")]]
)
def test_it_counts_once_nothing_goes_on(others: list[Pod]) -> None:
    assert sure(found([], HEALED, others=others)).pod == "train-abcde"


def test_a_record_without_a_pod_counts_not_if_it_is_older_than_the_failed_run() -> None:
    killed = failed_pod("w0", 137, 200, startedAt=clock(100))
    assert sure(found([killed], record(90))).recoverable is None
    assert sure(found([killed], record(199))).recoverable is False


@pytest.mark.parametrize("name", ["a\nfrom A to B", "\x1b[31mw0", "w 0", "W0", "x" * 300])
def test_a_malformed_pod_name_names_none(name: str) -> None:
    cause = sure(found([], record(10, worker=name)))
    assert cause.pod == ""
    assert outline(cause) == "a worker failed"
