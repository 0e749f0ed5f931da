"""`appwrapper logs` without -f: which logs it shows, and what is left of deleted pods."""

import asyncio
from typing import Any

import pytest

from shared.kube.client import ApiError
from tests.support.builders.explained.objects import RUNS, ago, container, pod
from tests.support.fakes.log_session import train, world
from tests.support.fakes.logged_pods import LoggedPods, lines

ENDED = container({"terminated": {"exitCode": 1}})
CAUSE = {
    "attempt": 1,
    "pod": "train-1-x7k2p",
    "container": "main",
    "node": "gpu-2",
    "exitCode": 1,
    "message": "ValueError: shard 7",
    "source": "Log",
    "failedPods": 2,
}
SUMMARY = "train-1-x7k2p on gpu-2: ValueError: shard 7"


def two() -> LoggedPods:
    """Both pods run, and print in turn."""
    client = world(train(), [pod(index, containers=[RUNS]) for index in (0, 1)])
    client.logs["train-0-x7k2p"] = [[lines("a", "c", second=1)]]
    client.logs["train-1-x7k2p"] = [[lines("b", second=1), lines("d", second=3)]]
    return client


LAST_TEN = "note: the last 10 lines of each of 2 pods; --tail -1 shows all lines\n"


def test_the_pods_are_merged_by_time_with_their_ranks(logs: Any) -> None:
    client = two()
    assert logs(client, "train") == (
        0,
        "r0 | a\nr1 | b\nr0 | c\nr1 | d\n",
        LAST_TEN,
    )
    assert {query["tailLines"] for _, query in client.asked} == {"10"}


def test_colours_and_times_are_for_people(logs: Any) -> None:
    _, out, _ = logs(two(), "train", "--rank", "0", "--rank", "1", window=True)
    assert out.splitlines()[:2] == ["\x1b[36mr0 | \x1b[0ma", "\x1b[33mr1 | \x1b[0mb"]
    _, out, _ = logs(two(), "train", window=True, NO_COLOR="1")
    assert out.splitlines()[0] == "r0 | a"
    _, out, _ = logs(two(), "train", "--timestamps", "--pod", "train-0-x7k2p")
    assert out.splitlines()[0] == "2026-03-02T14:00:01.000000000Z a"


@pytest.mark.parametrize(
    ("words", "tail", "since"),
    [
        (["--rank", "1"], None, None),
        (["--tail", "3"], "3", None),
        (["--tail", "-1"], None, None),
        (["--since", "1h30m"], None, "5400"),
        (["--since", "1h", "--tail", "5"], "5", "3600"),
    ],
)
def test_how_much_is_shown(
    logs: Any, words: list[str], tail: str | None, since: str | None
) -> None:
    client = two()
    code, _, err = logs(client, "train", *words)
    assert (code, err) == (0, "")
    found = {(query.get("tailLines"), query.get("sinceSeconds")) for _, query in client.asked}
    assert found == {(tail, since)}


def test_control_characters_are_removed(logs: Any) -> None:
    client = two()
    client.logs["train-0-x7k2p"] = [[lines("bell\x07 \x1b[31mred\x1b[0m \x1bc")]]
    assert logs(client, "train", "--rank", "0")[1] == "bell red c\n"


def test_one_pod_is_shown_whole_and_without_a_prefix(logs: Any) -> None:
    assert logs(two(), "train", "--rank", "1") == (0, "b\nd\n", "")


def test_hundreds_of_pods_are_read_a_few_at_a_time(logs: Any) -> None:
    client = world(
        train(pods=300), [pod(index, containers=[RUNS], node="n") for index in range(300)]
    )
    open_now, most = 0, 0

    def opened() -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)

    def ended() -> None:
        nonlocal open_now
        open_now -= 1

    for index in range(300):
        client.logs[f"train-{index}-x7k2p"] = [[opened, lines(f"{index}", second=5), ended]]
    code, out, _ = logs(client, "train")
    assert (code, out.splitlines()) == (0, [f"r{each:<3} | {each}" for each in range(300)])
    assert most == 16
    code, _, err = logs(client, "train", "--tail", "-1")
    assert (code, err) == (
        2,
        "error: 300 whole logs are too many to merge: choose with --rank or --pod, or read at most"
        " --tail 100 lines of each\n",
    )


def test_long_logs_are_merged_in_bounded_memory(logs: Any) -> None:
    """A log that is far ahead waits for the others."""
    client = two()
    client.logs["train-0-x7k2p"] = [[lines(*map(str, range(60)))] * 20]
    client.logs["train-1-x7k2p"] = [[lines("first"), *[lambda: None] * 50, lines("x", second=59)]]
    code, out, _ = logs(client, "train", "--tail", "-1")
    assert (code, len(out.splitlines())) == (0, 1202)
    assert out.splitlines()[:2] == ["r0 | 0", "r1 | first"]


def test_a_failed_attempt_shows_the_pod_that_failed_first(logs: Any) -> None:
    item = train("Failed", rootCause=CAUSE)
    client = world(item, [pod(index, "Failed", containers=[ENDED]) for index in (0, 1)])
    client.logs["train-0-x7k2p"] = [[lines("connection reset")]]
    client.logs["train-1-x7k2p"] = [[lines("ValueError: shard 7")]]
    assert logs(client, "train") == (
        0,
        "ValueError: shard 7\n",
        f"note: {SUMMARY}. This is the log of the pod that failed first; --all shows all 2 pods\n",
    )
    assert logs(client, "train", "--all")[1] == (
        "r0 | connection reset\nr1 | ValueError: shard 7\n"
    )


def test_a_later_attempt_names_the_earlier_failure(logs: Any) -> None:
    item = train(attempt=2, rootCause=CAUSE)
    client = world(item, [pod(0, containers=[RUNS], attempt=2)])
    client.logs["train-0-x7k2p"] = [[lines("step 1")]]
    assert logs(client, "train") == (
        0,
        "step 1\n",
        f"note: attempt 1 failed: {SUMMARY}. appwrapper logs train -n team1 --attempt 1\n",
    )


def test_pods_that_cannot_give_logs_are_named(logs: Any) -> None:
    creating = container({"waiting": {"reason": "ContainerCreating"}})
    client = world(
        train(pods=3),
        [
            pod(0, containers=[RUNS]),
            pod(1, "Pending", containers=[creating]),
            pod(2, containers=[RUNS]),
        ],
    )
    client.logs["train-0-x7k2p"] = [[lines("a")]]
    client.logs["train-2-x7k2p"] = [[ApiError(500, "InternalError", "no route to host")]]
    code, out, err = logs(client, "train", "--tail", "5")
    assert (code, out) == (0, "r0 | a\n")
    assert err.splitlines() == [
        "note: train-1-x7k2p (rank 1): it has no log yet: ContainerCreating",
        "note: train-2-x7k2p (rank 2): its node does not answer (no route to host)",
    ]
    client.objects["pods"] = client.objects["pods"][1:2]
    assert logs(client, "train")[0] == 1


KEPT = """\
The pods of attempt 1 of train are deleted.
Its status keeps of it (errorHistory, rootCause):
  {at}  {summary} (decision: Retry)

  The end of its log or its error:
  ValueError: shard 7
"""
LINKED = KEPT.replace("deleted.\n", "deleted.\n{link}")


def gone(**annotations: str) -> LoggedPods:
    entry = {"attempt": 1, "time": ago(60), "summary": SUMMARY, "decision": "Retry"}
    item = train("Running", attempt=2, rootCause=CAUSE, errorHistory=[entry])
    return world(item, [pod(0, containers=[RUNS], attempt=2)], **annotations)


def test_a_deleted_attempt_is_shown_from_the_status(logs: Any) -> None:
    text = KEPT.format(at=ago(60), summary=SUMMARY)
    assert logs(gone(), "train", "--attempt", "1") == (0, text, "")


def test_a_deleted_attempt_is_linked_by_the_namespaces_template_or_the_users_own(
    logs: Any,
) -> None:
    url = {"workload.codeflare.dev/log-url": "https://logs/{pod}"}
    shown = "Its logs in the cluster's log store:\n  {}\n"

    def expected(link: str) -> str:
        return LINKED.format(at=ago(60), summary=SUMMARY, link=shown.format(link))

    one = ("train", "--attempt", "1")
    assert logs(gone(**url), *one)[1] == expected("https://logs/train-1-x7k2p")
    assert logs(gone(**url), *one, APPWRAPPER_LOG_URL="x:{attempt}")[1] == expected("x:1")
    hidden = gone(**url)
    hidden.forbidden = {"namespaces"}
    assert logs(hidden, *one)[1] == KEPT.format(at=ago(60), summary=SUMMARY)


def test_an_attempt_of_which_nothing_is_kept(logs: Any) -> None:
    client = world(train("Resetting"), [])
    assert logs(client, "train") == (
        1,
        "",
        "error: the pods of attempt 1 of train are deleted, and its status keeps nothing of it. If"
        " the cluster collects logs, set APPWRAPPER_LOG_URL\n",
    )


def test_an_appwrapper_that_waits_has_no_logs(logs: Any) -> None:
    client = world(train("Suspended", attempt=0), [])
    assert logs(client, "train") == (
        1,
        "",
        "error: train has not started, so it has no logs. This shows why: appwrapper explain"
        " train -n team1\n",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["trian"],
            'there is no AppWrapper "trian" in namespace team1. Did you mean train?',
        ),
        (["train", "--attempt", "3"], "train has had 1 attempt: there is no attempt 3"),
        (
            ["train", "--attempt", "0"],
            "--attempt 0: attempts count from 1. Without the option, the latest is shown",
        ),
        (
            ["train", "--attempt", "-1", "-f"],
            "--attempt -1: attempts count from 1. Without the option, the latest is shown",
        ),
        (["train", "--rank", "7"], "train has no pod of rank 7. Its pods have ranks 0 to 1"),
        (["train", "-f", "--rank", "7"], "train has no rank 7: its 2 pods have ranks from 0 to 1"),
        (
            ["train", "-c", "fetch"],
            "no chosen pod of train has a container fetch. The containers are main",
        ),
        (["train", "--tail", "-2"], "--tail is a number of lines, or -1 for all of them"),
        (["train", "--all", "--rank", "0"], "--all shows all pods: leave out --rank and --pod"),
        (
            ["train", "--since", "soon"],
            "--since: 'soon' is not a duration such as 90s, 1h30m or 7d",
        ),
        (["train", "--since", "0"], "--since 0: name a time before now, such as 10m"),
    ],
)
def test_wrong_usage(logs: Any, words: list[str], message: str) -> None:
    assert logs(two(), *words) == (2, "", f"error: {message}\n")


def test_a_missing_right_is_the_error(logs: Any) -> None:
    client = two()
    client.forbidden = {"logs"}
    assert logs(client, "train") == (2, "", f"{LAST_TEN}error: 403 Forbidden: logs is forbidden\n")


def test_ctrl_c_is_quiet(logs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)
    with pytest.warns(RuntimeWarning, match="never awaited"):
        assert logs(two(), "train") == (130, "", "")
