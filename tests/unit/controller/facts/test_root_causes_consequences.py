"""Which failures are told from the containers' ends alone to be consequences of which."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.facts.error_text import log_reports_lost_peer
from shared.api.names import LABEL_ATTEMPT
from tests.support.builders.failed_pods import (
    clock,
    failed_pod,
    found,
    record,
    recorded_pod,
    sure,
    terminated,
    termination_message,
)

NCCL = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333"


@pytest.mark.parametrize(
    ("code", "text", "ends", "root"),
    [
        (1, NCCL, 71, "w1"),
        (1, NCCL, 72, "w0"),
        (143, "", 12, "w1"),
        (143, "", 13, "w0"),
        (137, "", 11, "w1"),
        (137, "", 12, "w0"),
    ],
)
def test_a_lost_peer_may_come_a_minute_before_its_cause_and_a_kill_not(
    code: int, text: str, ends: int, root: str
) -> None:
    other = failed_pod("w0", code, 11, text)
    assert sure(found([other, failed_pod("w1", 1, ends)])).pod == root


def test_a_worker_that_was_killed_first_is_the_root_cause() -> None:
    """The kernel kills for want of memory, and not every runtime reports so."""
    killed = failed_pod("w1", 137, 10)
    victims = [failed_pod("w0", 1, 12, NCCL), failed_pod("w2", 1, 40, "bad")]
    for peer in (failed_pod("m", 1, 10, NCCL), failed_pod("m", 1, 9, NCCL)):
        assert sure(found([*victims, peer, killed])).pod == "w1"
    assert sure(found([killed, failed_pod("m", 1, 8, NCCL)])).pod == "m"


@pytest.mark.parametrize(
    ("seconds", "message", "root"),
    [(7, NCCL, "w1"), (6.9, NCCL, "w0"), (11.9, "ValueError: bad shard", "w0")],
)
def test_peers_may_record_their_loss_before_the_container_without_memory_has_ended(
    seconds: float, message: str, root: str
) -> None:
    lost = recorded_pod("w0", record(seconds, message=message))
    assert sure(found([lost, failed_pod("w1", 137, 12, reason="OOMKilled")])).pod == root


@pytest.mark.parametrize("odd", ["1970-01-01T00:00:00Z", "0001-01-01T00:00:01Z", clock(360), ""])
def test_a_time_of_the_kubelet_that_cannot_be_counts_as_none(odd: str) -> None:
    undated = failed_pod("w0", 1, None, finishedAt=odd)
    assert sure(found([undated, failed_pod("w1", 1, 12)])).pod == "w1"
    cause = sure(found([undated, failed_pod("w1", 1, 12, NCCL), failed_pod("w2", 143, 12)]))
    assert (cause.pod, cause.time) == ("w0", None)


@pytest.mark.parametrize(
    ("code", "reason", "finished"), [(137, "ContainerStatusUnknown", None), (255, "Unknown", 200)]
)
def test_a_container_that_was_lost_with_its_node_explains_its_peers(
    code: int, reason: str, finished: int | None
) -> None:
    lost = failed_pod("w0", code, finished, reason=reason)
    assert sure(found([failed_pod("w1", 1, 12, NCCL), lost])).pod == "w0"


def test_the_loss_of_a_node_is_reported_minutes_after_its_peers_failed() -> None:
    gone = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}
    status = {"containerStatuses": [], "conditions": [{**gone, "lastTransitionTime": clock(200)}]}
    lost = failed_pod("w0", status=status)
    cause = sure(found([failed_pod("w1", 1, 12, NCCL), lost]))
    assert (cause.pod, cause.infrastructure) == ("w0", "DeletionByPodGC")


def drained(second: int) -> dict[str, Any]:
    """Fields of a pod that was evicted at that second."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    deletion = {"deletionTimestamp": clock(second + 30), "deletionGracePeriodSeconds": 30}
    status = {"conditions": [{**condition, "lastTransitionTime": clock(second)}]}
    return {"metadata": deletion, "status": status}


@pytest.mark.parametrize(("evicted", "cause"), [(15, "EvictionByEvictionAPI"), (16, "")])
def test_a_drain_does_not_excuse_what_failed_before_it(evicted: int, cause: str) -> None:
    failed = failed_pod("w0", 1, 10, termination_message(record(10)), **drained(evicted))
    assert sure(found([failed])).infrastructure == cause


def test_the_word_for_one_container_is_not_the_others() -> None:
    ended = [
        {"name": "main", "state": terminated(1, 10, "ValueError: bad shard")},
        {"name": "side", "state": terminated(137, 12, reason="OOMKilled")},
    ]
    cause = sure(found([failed_pod("w0", status={"containerStatuses": ended})]))
    assert (cause.container, cause.code, cause.exit_code) == ("main", "", 1)


def test_within_one_second_a_container_takes_precedence_over_a_sidecar() -> None:
    status = {
        "initContainerStatuses": [{"name": "a", "state": terminated(1, 10)}],
        "containerStatuses": [{"name": "main", "state": terminated(1, 10)}],
    }
    assert sure(found([failed_pod("w0", status=status)])).container == "main"


@pytest.mark.parametrize("resource", ["cpu", "nvidia.com/gpu", "pods", "hugepages-2Mi"])
def test_a_node_without_room_is_infrastructure(resource: str) -> None:
    status = {"containerStatuses": [], "reason": f"OutOf{resource}", "startTime": clock(2)}
    cause = sure(found([failed_pod("w0", status=status), failed_pod("w1", 1, 9, NCCL)]))
    assert (cause.pod, cause.infrastructure) == ("w0", f"OutOf{resource}")


# What a log says.

START = (
    "[W socket.cpp:464] [c10d] The client socket has failed to connect to [::]:29500 (errno: 97)"
)
OWN = "Traceback (most recent call last):\n  x\nValueError: bad shard"
CHAINED = "\n\nDuring handling of the above exception, another exception occurred:\n\n"


@pytest.mark.parametrize(
    ("log", "lost"),
    [
        (NCCL, True),
        (START, True),
        (f"{START}\n{OWN}", False),
        (f"{OWN}\n[rank1]: {NCCL}", False),
        (f"{NCCL}\n[rank1]:[W TCPStore.cpp:106] sendBytes failed: Broken pipe", True),
        (f"ConnectionResetError: [Errno 104] Connection reset by peer{CHAINED}{OWN}", True),
        (f"{NCCL}\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=", True),
        (f"{NCCL}\nsubprocess.CalledProcessError: Command 'x' returned exit status 1.", True),
        (f"{NCCL}\nException in thread Thread-1 (run):\nError in atexit._run_exitfuncs:", True),
        (f"[default0]:[rank0]: {NCCL}", True),
        (OWN, False),
        ("", False),
    ],
)
def test_whether_a_log_reports_a_lost_peer(log: str, lost: bool) -> None:
    assert log_reports_lost_peer(log) is lost


def test_a_warning_at_the_start_hides_no_error() -> None:
    root = failed_pod("w2", 1, 10, f"{START}\n{OWN}")
    assert sure(found([root, failed_pod("w0", 1, 12)])).pod == "w2"
    assert sure(found([root, failed_pod("w0", 1, 10, f"{START}\n{NCCL}")])).pod == "w2"


@pytest.mark.parametrize("fields", [{"pod_uid": "uid-of-w1"}, {"attempt": 2}])
def test_a_log_that_quotes_the_record_of_another_pod_or_attempt_records_nothing(
    fields: dict[str, Any],
) -> None:
    labels = {"labels": {LABEL_ATTEMPT: "1"}}
    quoted = failed_pod(
        "w0", 1, 10, "worker 1: " + termination_message(record(5, **fields)), metadata=labels
    )
    cause = sure(found([quoted, failed_pod("w1", 1, 9)]))
    assert (cause.pod, cause.records) == ("w1", 0)
    own = failed_pod(
        "w0", 1, 10, termination_message(record(5, pod_uid="uid-w0", attempt=1)), metadata=labels
    )
    assert sure(found([own, failed_pod("w1", 1, 9)])).pod == "w0"


ENDS = st.tuples(
    st.sampled_from([1, 137, 143, 139, 255]),
    st.sampled_from([None, 9, 10, 11, 90]),
    st.sampled_from(["", NCCL, OWN]),
    st.sampled_from(["Error", "OOMKilled", "ContainerStatusUnknown"]),
)


@given(st.lists(ENDS, min_size=1, max_size=6))
def test_one_of_the_failures_is_always_the_root_cause(
    ends: list[tuple[int, int | None, str, str]],
) -> None:
    pods = [
        failed_pod(f"w{i}", code, finished, text, reason=reason)
        for i, (code, finished, text, reason) in enumerate(ends)
    ]
    assert sure(found(pods)).failed_pods == len(pods)
