"""The command as users call it: the choice of rows, the outputs, the totals."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cli import main as program
from cli.accounting import running
from cli.accounting.text import table
from cli.cluster.connection import Cluster
from cli.commands.history import SORTS, STATES
from cli.phases import ENDED
from cli.terminal import CommandTerminal
from shared.kube.discovery import Discovery
from tests.support.builders.explained import deployed, ending, waiting
from tests.support.builders.explained.objects import NOW
from tests.support.builders.listed import REVIEWS, called
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock
from tests.support.fakes.served_objects import ServedObjects

TABLE = """\
NAME    USER     STATUS     ENDED (UTC)    TIME  TRIES  GPUS  GPU-HOURS
failed  bob      Failed     03-02 14:02  49m35s      4    16      13.22
kept    bob      Failed     03-02 14:02     15m      1    16       4.00
done    alice@x  Succeeded  03-02 13:58    1h5m      1    16      17.33
"""
BY_USER = """\
USER     ENDED  SUCCEEDED  FAILED  GPU-HOURS
alice@x      1          1       0      17.33
bob          2          0       2      17.22
all          3          1       2      34.55
"""


def of_team(item: dict[str, Any], team: str) -> dict[str, Any]:
    item["metadata"]["namespace"] = team
    return item


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ServedObjects:
    """Two AppWrappers that have not ended, and three that have: `kept` still holds its quota."""
    appwrappers = [
        called(deployed.runs().appwrapper, "runs", "alice@x"),
        called(waiting.preempted().appwrapper, "waits", "alice@x"),
        called(ending.failed().appwrapper, "failed", "bob"),
        called(ending.failed_and_kept().appwrapper, "kept", "bob"),
        called(ending.succeeded().appwrapper, "done", "alice@x"),
    ]
    client = ServedObjects(
        {"appwrappers": appwrappers, "configmaps": []},
        paths={REVIEWS: {"status": {"userInfo": {"username": "alice@x"}}}},
    )

    @asynccontextmanager
    async def connected(_arguments: object) -> AsyncIterator[Cluster]:
        yield Cluster(client, Discovery(client, FakeClock()), ImpatientClock(NOW), "team1")

    monkeypatch.setattr(running, "connected", connected)
    return client


def history(*arguments: str, **environment: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    terminal = CommandTerminal(io.StringIO(), out, err, environment)
    return program.main(["history", *arguments], terminal), out.getvalue(), err.getvalue()


def names(*arguments: str) -> list[str]:
    code, out, err = history(*arguments, "-o", "json")
    assert (code, err) == (0, "")
    return [each["name"] for each in json.loads(out)]


@pytest.mark.usefixtures("client")
def test_the_ended_ones_of_the_namespace() -> None:
    assert history() == (0, TABLE, "")
    assert max(map(len, history(COLUMNS="80")[1].splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--me",), ["done"]),
        (("--user", "bob"), ["failed", "kept"]),
        (("--state", "failed"), ["failed", "kept"]),
        (("--state", "succeeded", "--state", "failed"), ["failed", "kept", "done"]),
        (("--since", "2m"), ["failed", "kept"]),
        (("--since", "10s"), []),
        (("--sort", "name"), ["done", "failed", "kept"]),
        (("--sort", "user"), ["done", "failed", "kept"]),
        (("--sort", "attempts"), ["failed", "done", "kept"]),
        (("--sort", "hours"), ["done", "failed", "kept"]),
        (("--sort", "time"), ["done", "failed", "kept"]),
    ],
)
@pytest.mark.usefixtures("client")
def test_the_options_choose(arguments: tuple[str, ...], expected: list[str]) -> None:
    assert names(*arguments) == expected


@pytest.mark.usefixtures("client")
def test_json_has_the_fields_of_the_log_line() -> None:
    code, out, _ = history("--user", "bob", "--sort", "attempts", "-o", "json")
    found = json.loads(out)[0]
    assert code == 0
    assert found == {
        "namespace": "team1",
        "name": "failed",
        "uid": "uid-of-failed",
        "phase": "Failed",
        "reason": "FoundFailedPods",
        "user": "bob",
        "queue": "default-queue",
        "created": "2026-03-02T11:33:10Z",
        "ended": "2026-03-02T14:02:30Z",
        "attempts": 4,
        "retries": 3,
        "gpus": 16,
        "quotaSeconds": 2975,
        "gpuHours": 13.22,
        "why": "1 failed pod: train-1-x7k2p on gpu-2 (exit code 139)",
    }


@pytest.mark.usefixtures("client")
def test_csv_has_headings_and_one_line_for_each() -> None:
    code, out, _ = history("--user", "alice@x", "-o", "csv")
    headings, line = out.splitlines()
    assert (code, headings) == (
        0,
        "namespace,name,uid,phase,reason,user,queue,created,ended,attempts,retries,gpus,"
        "quotaSeconds,gpuHours,why",
    )
    assert line == (
        "team1,done,uid-of-done,Succeeded,Succeeded,alice@x,default-queue,2026-03-02T12:43:10Z,"
        "2026-03-02T13:58:10Z,1,0,16,3900,17.33,"
    )
    assert history("--user", "nobody", "-o", "csv")[1].splitlines() == [headings]


@pytest.mark.usefixtures("client")
def test_totals() -> None:
    assert history("--by", "user") == (0, BY_USER, "")
    by_team = json.loads(history("-A", "--by", "team", "-o", "json")[1])
    assert by_team == [
        {
            "team": "team1",
            "appwrappers": 3,
            "succeeded": 1,
            "failed": 2,
            "gpuHours": 34.55,
            "unrecorded": 0,
        }
    ]
    csv = history("--by", "team", "-o", "csv")[1]
    assert csv == "team,appwrappers,succeeded,failed,gpuHours,unrecorded\nteam1,3,1,2,34.55,0\n"


def test_an_unrecorded_time_is_no_zero(client: ServedObjects) -> None:
    """It ended under an earlier version of the controller."""
    for each in client.objects["appwrappers"]:
        each["status"].pop("quotaSeconds", None)
    code, out, err = history("--state", "succeeded")
    assert code == 0
    assert out.splitlines()[1].split()[-4:] == ["-", "1", "16", "-"]
    assert err == (
        "warning: not known: GPU-HOURS of 1 (an earlier version of the controller did not record"
        " their time with quota)\n"
    )
    totals = history("--by", "user")[1].splitlines()
    # One of bob's still holds its quota, which has a time.
    assert [line.split()[-1] for line in totals] == ["GPU-HOURS", "4.00", "-", "4.00"]


@pytest.mark.usefixtures("client")
def test_nothing_has_ended() -> None:
    text = "No AppWrapper that you asked for has ended in namespace team1.\n"
    assert history("--user", "nobody") == (0, text, "")


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--me", "--user", "bob"), "--me and --user name two users: give one of them"),
        (("-A", "-n", "x"), "-A lists all namespaces and -n one: give one of them"),
        (("--since", "0s"), "--since 0s: name a time before now, such as 24h or 7d"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], error: str) -> None:
    assert history(*arguments) == (2, "", f"error: {error}\n")


def test_the_options_name_what_there_is() -> None:
    from cli.accounting.rows import SORT_KEYS

    assert frozenset(STATES) == ENDED
    assert tuple(SORT_KEYS) == SORTS


def test_no_table_is_wider_than_the_window(client: ServedObjects) -> None:
    assert table([], width=80).startswith("NAME")
    for each in client.objects["appwrappers"]:
        each["metadata"]["name"] += "-with-a-name-that-goes-on-and-on"
    for width in range(20, 120, 7):
        lines = history("-A", COLUMNS=str(width))[1].splitlines()
        assert max(map(len, lines)) <= width
        assert all(line == line.rstrip() for line in lines)
        assert lines[1].endswith(" 13.22"), "the last number is whole"


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (80, "NAMESPACE NAME USER STATUS ENDED (UTC) TIME GPUS GPU-HOURS"),
        (72, "NAMESPACE NAME USER STATUS ENDED (UTC) GPUS GPU-HOURS"),
        (56, "NAMESPACE NAME USER STATUS GPUS GPU-HOURS"),
        (30, "NAME USER GPU-HOURS"),
    ],
)
def test_a_narrow_window_leaves_out_columns(width: int, headings: str) -> None:
    lines = history("-A", COLUMNS=str(width))[1].splitlines()
    assert " ".join(lines[0].split()) == headings
    assert lines[1].endswith(" 13.22")


@pytest.mark.usefixtures("client")
def test_totals_in_a_narrow_window_keep_the_hours() -> None:
    lines = history("--by", "user", COLUMNS="30")[1].splitlines()
    assert [line.split() for line in lines] == [
        ["USER", "ENDED", "GPU-HOURS"],
        ["alice@x", "1", "17.33"],
        ["bob", "2", "17.22"],
        ["all", "3", "34.55"],
    ]
