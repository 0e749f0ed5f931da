"""How containers ended, and what is kept of their last words."""

from time import process_time
from typing import Any

import pytest

from controller.facts.container_ends import ContainerEnd
from controller.facts.error_text import names_an_error
from controller.facts.pods import Pod, project_pod
from shared.api.objects import JsonObject
from tests.support.builders.failed_pods import (
    BEGAN,
    clock,
    failed_item,
    failed_pod,
    record,
    terminated,
    termination_message,
)
from worker.record import ErrorRecord
from worker.termination_message import encode

DELETED_AT_5 = {"deletionTimestamp": clock(35), "deletionGracePeriodSeconds": 30}


def only(pod: Pod) -> ContainerEnd:
    (end,) = pod.ends
    return end


def test_an_end_keeps_container_codes_times_and_message() -> None:
    assert failed_pod("w0", 137, 10, "out\n", reason="OOMKilled", signal=9).ends == (
        ContainerEnd(
            container="main",
            exit_code=137,
            signal=9,
            reason="OOMKilled",
            started=clock(1),
            finished=clock(10),
            message="out",
        ),
    )


def test_init_containers_count_and_neither_success_nor_what_never_ended() -> None:
    status = {
        "initContainerStatuses": [{"name": "fetch", "state": terminated(2, 3)}],
        "containerStatuses": [
            {"name": "done", "state": terminated(0, 4)},
            {"name": "main", "state": {"waiting": {"reason": "PodInitializing"}}},
            {"name": "side", "state": None, "lastState": terminated(3, 4)},
        ],
    }
    assert [(each.container, each.init) for each in failed_pod("w0", status=status).ends] == [
        ("fetch", True)
    ]


@pytest.mark.parametrize(
    ("message", "finished", "kept"),
    [
        ("log", 4, True),
        ("log", 6, False),
        (termination_message(record(5.9)), 20, True),
        (termination_message(record(6)), 20, False),
        (termination_message(record(5.9, collateral=True)), 20, False),
        (termination_message(record(None)), 20, False),
    ],
)
def test_an_end_after_a_deletion_counts_if_its_record_is_older(
    message: str, finished: int, kept: bool
) -> None:
    pod = failed_pod("w0", 143, finished, message, metadata=DELETED_AT_5)
    assert bool(pod.ends) is kept
    assert pod.failed_at == (clock(finished) if kept else "")


def running_item(*statuses: JsonObject) -> JsonObject:
    item = failed_item("w0")
    item["spec"]["restartPolicy"] = "Always"
    return {**item, "status": {"phase": "Running", "containerStatuses": list(statuses)}}


def test_a_pod_that_crashes_in_place_has_its_latest_ends() -> None:
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    item = running_item(
        {"name": "main", "restartCount": 3, "state": waiting, "lastState": terminated(3, 8)},
        {
            "name": "side",
            "restartCount": 2,
            "state": terminated(4, 9),
            "lastState": terminated(5, 6),
        },
        {"name": "well", "state": {"running": {}}},
    )
    item["status"]["initContainerStatuses"] = [{"name": "fetch", "state": terminated(6, 2)}]
    ends = project_pod(item).ends
    assert [(each.container, each.exit_code) for each in ends] == [("main", 3), ("side", 4)]


def test_containers_that_the_kubelet_removed_to_restart_all_have_no_end() -> None:
    """Only the container that asked for the restart had one, if the kubelet still knows it."""
    removed = terminated(137, None, "removed", reason="RestartingAllContainers", startedAt=None)
    waiting = {"waiting": {"reason": "RestartingAllContainers"}}
    main = {"name": "main", "restartCount": 2, "state": waiting, "lastState": removed}
    failed = {"name": "side", "restartCount": 2, "state": waiting, "lastState": terminated(3, 8)}
    ends = project_pod(running_item(main, failed)).ends
    assert [(each.container, each.exit_code) for each in ends] == [("side", 3)]
    item = failed_item("w0", status={"containerStatuses": [{"name": "main", "state": removed}]})
    pod = project_pod(item)
    assert (pod.exit_codes, pod.ends) == ((), ())


def test_a_pod_that_runs_keeps_nothing() -> None:
    restarted = {"running": {"startedAt": clock(9)}}
    once = {"name": "main", "restartCount": 1, "state": restarted, "lastState": terminated(3, 8)}
    assert project_pod(running_item(once)).ends == ()
    assert project_pod(running_item({"name": "main", "state": {"running": {}}})).ends == ()


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        ({"restartCount": 2, "state": {"running": {}}, "lastState": terminated(3, 8)}, True),
        ({"restartCount": 2, "state": terminated(3, 8)}, True),
        ({"restartCount": 1, "state": terminated(3, 8)}, False),
        ({"restartCount": 2, "state": terminated(0, 9), "lastState": terminated(3, 8)}, False),
    ],
)
def test_a_pod_whose_init_container_crashes_again_and_again(
    status: dict[str, Any], kept: bool
) -> None:
    item = failed_item("w0")
    waiting = {"waiting": {"reason": "PodInitializing"}}
    item["status"] = {
        "phase": "Pending",
        "initContainerStatuses": [{"name": "fetch", **status}],
        "containerStatuses": [{"name": "main", "state": waiting, "lastState": terminated(9, 9)}],
    }
    ends = project_pod(item).ends
    assert [(each.container, each.exit_code, each.init) for each in ends] == (
        [("fetch", 3, True)] if kept else []
    )


@pytest.mark.parametrize(("finished", "kept"), [(5, True), (2, True), (6, False)])
def test_a_pod_that_is_deleted_for_a_crash_in_place(finished: int, kept: bool) -> None:
    """A Job that gives up after the first one; the second run is then ended by SIGTERM."""
    status = {"name": "main", "restartCount": 1, "lastState": terminated(3, finished)}
    item = running_item({**status, "state": {"running": {"startedAt": clock(6)}}})
    assert project_pod(item).ends == ()
    item["metadata"].update(DELETED_AT_5)
    assert [each.exit_code for each in project_pod(item).ends] == ([3] if kept else [])
    killed = failed_pod(
        "w0",
        metadata=DELETED_AT_5,
        status={"containerStatuses": [{**status, "state": terminated(143, 9)}]},
    )
    assert [each.exit_code for each in killed.ends] == ([3] if kept else [])


# Last words.

WHOLE = record(10, rank=3, record_id="a")


@pytest.mark.parametrize(
    "text",
    [
        termination_message(WHOLE),
        "failed to start: " + termination_message(WHOLE),
        "\x00é" + termination_message(WHOLE) + "\n",
        termination_message(WHOLE)[:-4],
    ],
)
def test_a_record_is_found_wherever_it_stands(text: str) -> None:
    end = only(failed_pod("w0", 1, 10, text))
    assert (end.message, end.peer_loss) == ("", False)
    assert isinstance(end.record, ErrorRecord)
    assert (end.record.rank, end.record.record_id, end.record.time_ns) == (3, "a", WHOLE.time_ns)
    assert "ValueError: bad sha" in end.record.message


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\n\n a \r\nb\rc\n", " a \nb\nc"),
        ("\x1b[1;31mred\x1b[0m \x07\x00\x9f", "red "),
        # With an id of its own: processes that run tests side by side cannot exchange this text.
        pytest.param("x\u2028y\u202ez\ud800", "x\nyz", id="half a surrogate"),
        ("AWERR1 nonsense", "AWERR1 nonsense"),
        ("", ""),
    ],
)
def test_odd_characters_are_removed(text: str, kept: str) -> None:
    assert only(failed_pod("w0", 1, 10, text)).message == kept


@pytest.mark.parametrize("character", ["x", "é", "€", "😀", "\x00"])
def test_the_end_of_a_long_text_is_kept_in_whole_characters(character: str) -> None:
    kept = only(failed_pod("w0", 1, 10, character * 100_000 + "end")).message
    assert kept.endswith("end")
    assert len(kept.encode()) <= 2048
    assert set(kept) <= set(character + "end")


@pytest.mark.parametrize(("longer", "read"), [(0, True), (1, False)])
def test_a_text_longer_than_any_kubelets_is_cut_before_it_is_read(longer: int, read: bool) -> None:
    """Any client may write a status. The limit is 8192 characters."""
    text = encode(record(message="x" * 10_000), 8192 + longer).decode()
    assert len(text) == 8192 + longer
    assert (only(failed_pod("w0", 1, 10, text)).record is not None) is read


def test_a_lost_peer_is_noticed_once() -> None:
    assert only(failed_pod("w0", 1, 10, "x\nConnection reset by peer")).peer_loss
    assert not only(failed_pod("w0", 1, 10, "x\nValueError")).peer_loss


def test_a_pod_keeps_at_most_eight_ends_the_earliest() -> None:
    statuses = [{"name": f"c{i}", "state": terminated(1, 50 - i, "x" * 9999)} for i in range(40)]
    ends = failed_pod("w0", status={"containerStatuses": statuses}).ends
    assert [each.container for each in ends] == [f"c{i}" for i in range(39, 31, -1)]
    assert sum(len(each.message) for each in ends) == 8 * 2048


@pytest.mark.parametrize("reason", ["x" * 49, "two words", "\x1b[31m", "Größe"])
def test_a_reason_that_is_no_word_is_not_repeated(reason: str) -> None:
    assert only(failed_pod("w0", 1, 10, reason=reason)).reason == ""


@pytest.mark.parametrize("odd", [{"finishedAt": "soon"}, {"startedAt": None}, {"reason": None}])
def test_odd_states_are_read(odd: dict[str, Any]) -> None:
    state = terminated(1, 10)
    state["terminated"].update(odd)
    status = {"containerStatuses": [{"name": "main", "state": state}]}
    assert only(failed_pod("w0", status=status)).exit_code == 1


def test_times_of_the_builders_agree() -> None:
    assert record(0).time_ns == BEGAN


@pytest.mark.parametrize(
    "text",
    [
        "x" + "\n" * 2040 + "y",
        "x\n" + " \n" * 1000 + "y",
        "rendezvous" * 204,
        "\x1b[0;" * 2000,
        'AWERR1 {"msg":"\\x' * 20_000,
        "Connection closed by peer" + "\n" * 2000 + "y",
    ],
    ids=[
        "blank lines",
        "blanks",
        "one word again and again",
        "colours",
        "broken records",
        "a lost peer and blank lines",
    ],
)
def test_no_log_costs_much_more_to_search_than_plain_words(text: str) -> None:
    """Every pass searches every failed pod's log, and users write it."""
    assert search_seconds(text) < 30 * search_seconds("word " * 400)


def search_seconds(text: str) -> float:
    """Returns the least CPU time of a search among a few."""
    seconds: list[float] = []
    for _ in range(5):
        began = process_time()
        failed = failed_pod("a", 1, 10, text)
        assert names_an_error(failed.ends[0].message) is False
        seconds.append(process_time() - began)
    return min(seconds)
