"""Which failure is the root cause, and what is said of it: the acceptance cases."""

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controller.facts.error_store import StoreRead
from controller.facts.pods import Pod
from controller.phases.root_cause import (
    Confidence,
    RootCause,
    Source,
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
    said,
    sure,
)
from tests.support.builders.remembered_pods import pod
from worker.record import ErrorRecord

NCCL = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333"


def test_case_1_the_first_of_four_is_named_whatever_the_order() -> None:
    first = recorded_pod("w2", record(10, rank=2, record_id="r2"))
    later = [
        recorded_pod(f"w{i}", record(10.4 + i / 100, message="Connection reset by peer", rank=i))
        for i in (0, 1, 3)
    ]
    expected = RootCause(
        pod="w2",
        pod_uid="uid-w2",
        container="main",
        node="n-w2",
        rank=2,
        time=datetime(2026, 1, 1, 10, 0, 10, tzinfo=UTC),
        code="USER:ValueError",
        origin="User",
        recoverable=False,
        exit_code=1,
        message="ValueError: bad shard",
        source=Source.TERMINATION_MESSAGE,
        confidence=Confidence.RECORDED,
        failed_pods=4,
        records=4,
    )
    for seed in range(24):
        pods = [first, *later]
        random.Random(seed).shuffle(pods)
        assert found(pods) == expected
    assert summary(expected) == "w2 r2: ValueError: bad shard (non-recoverable)"


def test_case_1_from_the_store_alone_in_any_order() -> None:
    pods = [failed_pod(f"w{i}", 1, 12) for i in range(4)]
    records = [
        record(10.3, worker="w0", message="Connection reset by peer"),
        record(10, worker="w2", pod_uid="uid-w2", message="KeyError: 'x'"),
        record(10.2, worker="w1", pod_uid="uid-w1"),
    ]
    for seed in range(12):
        random.Random(seed).shuffle(records)
        cause = sure(found(pods, *records))
        assert (cause.pod, cause.message, cause.source) == ("w2", "KeyError: 'x'", Source.STORE)
        assert (cause.records, cause.failed_pods) == (3, 4)


LEGACY = record(None, message="Traceback: old Flyte", code="USER:Old")


def test_case_4_a_record_that_names_no_pod_is_used_if_there_is_no_other() -> None:
    pods = [failed_pod("w0", 1, 12), failed_pod("w1", 1, 11)]
    cause = sure(found(pods, LEGACY))
    assert (cause.pod, cause.message, cause.source) == ("w1", LEGACY.message, Source.STORE)
    assert (cause.recoverable, cause.exit_code, cause.records) == (False, 1, 1)
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


def test_case_9_a_record_without_a_time_takes_the_kubelets_or_comes_last() -> None:
    dated = recorded_pod("w1", record(10.5), finished=12)
    early = recorded_pod("w0", record(None), finished=9)
    late = recorded_pod("w0", record(None), finished=11)
    never = failed_pod("w0", 1, None, said(record(None)), status={"startTime": None})
    assert sure(found([dated, early])).pod == "w0"
    assert sure(found([dated, late])).pod == "w1"
    assert sure(found([dated, never])).pod == "w1"


def test_case_10_the_valid_records_of_a_store_with_bad_files_decide() -> None:
    store = StoreRead(records=(record(10, worker="w0"),), skipped=("error-a.pb: empty",))
    cause = sure(found([failed_pod("w0"), failed_pod("w1", 1, 9)], store=store))
    assert (cause.pod, cause.recoverable) == ("w1", None)  # it failed a second before
    cause = sure(found([failed_pod("w0"), failed_pod("w1", 1, 11)], store=store))
    assert (cause.pod, cause.recoverable) == ("w0", False)


def test_case_11_without_recorder_the_logs_tail_is_shown_and_inferred() -> None:
    log = "loading\nTraceback (most recent call last):\n  x\nValueError: bad shard\n"
    cause = sure(found([failed_pod("w0", 1, 10, log)]))
    assert (cause.message, cause.source) == (log.strip("\n"), Source.LOG)
    assert (cause.confidence, cause.recoverable) == (Confidence.INFERRED, None)
    assert summary(cause) == "w0 on n-w0: ValueError: bad shard"
    silent = sure(found([failed_pod("w0", 3, 10)]))
    assert (silent.source, summary(silent)) == (Source.POD_STATUS, "w0 on n-w0: exit code 3")


@pytest.mark.parametrize("of_peers", [said(record(10.1, message=NCCL)), NCCL, ""])
def test_case_12_an_out_of_memory_kill_explains_its_peers_in_the_same_second(of_peers: str) -> None:
    killed = failed_pod("w3", 137, 10, reason="OOMKilled")
    peers = [failed_pod(f"w{i}", 1, 10, of_peers) for i in range(3)]
    cause = sure(found([*peers, killed]))
    assert (cause.pod, cause.code, cause.exit_code) == ("w3", "OOMKilled", 137)
    assert (cause.confidence, cause.recoverable) == (Confidence.INFERRED, None)
    assert not cause.points_at_node
    words = "w3 on n-w3: OOMKilled, exit code 137 (raise the memory limit)"
    assert summary(cause) == words


def test_case_16_equal_whole_seconds_have_one_winner_in_any_order() -> None:
    whole = {"precision_ns": 10**9}
    pods = [
        recorded_pod("w0", record(10, message=NCCL, rank=0, **whole)),
        recorded_pod("w2", record(10, rank=2, **whole)),
        recorded_pod("w1", record(10, rank=1, **whole)),
    ]
    for seed in range(100):
        random.Random(seed).shuffle(pods)
        assert sure(found(pods)).pod == "w1"


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


def test_case_19_a_node_that_is_called_bad_overrides_what_the_program_recorded() -> None:
    cause = sure(found([recorded_pod("w0", record())], flagged_nodes={"n-w0": "gpu"}))
    assert (cause.recoverable, cause.infrastructure) == (False, "UnhealthyNode")
    assert not cause.forbids_retry
    assert cause.points_at_node
    assert summary(cause) == "w0 on n-w0: ValueError: bad shard (UnhealthyNode)"
    assert sure(found([recorded_pod("w0", record())], flagged_nodes={"n": ""})).forbids_retry


def test_in_one_moment_the_recorded_rank_decides_then_the_index_then_the_name() -> None:
    ranks = {"w0": 2, "w1": 1, "w2": 3}
    pods = [recorded_pod(name, record(rank=rank)) for name, rank in ranks.items()]
    assert sure(found(pods)).pod == "w1"
    indexed = [replace(failed_pod(f"w{i}"), index=f"worker/{9 - i}") for i in range(3)]
    assert sure(found(indexed)).pod == "w2"
    assert sure(found([failed_pod("w1"), failed_pod("w0")])).pod == "w0"


# Without records.


def test_a_slow_torchrun_fails_before_its_victims_although_it_ends_later() -> None:
    root = failed_pod("w1", 1, 40, "Traceback\nValueError: bad shard")
    victims = [failed_pod("w0", 1, 12, NCCL), failed_pod("w2", 1, 11, NCCL)]
    cause = sure(found([*victims, root]))
    assert (cause.pod, cause.confidence) == ("w1", Confidence.INFERRED)


def test_if_all_look_like_consequences_the_earliest_counts() -> None:
    pods = [failed_pod("w0", 143, 12), failed_pod("w1", 1, 11, NCCL), failed_pod("w2", 137, 13)]
    assert sure(found(pods)).pod == "w1"


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
    told = record(8, collateral=True, message="told to end")
    ended = failed_pod("w0", 143, 8, said(told), metadata=deletion)
    assert found([ended]) is None
    after = record(8, worker="w0", pod_uid="uid-w0")
    assert found([ended], after) is None
    before = failed_pod("w0", 143, 8, said(record(4)), metadata=deletion)
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
