"""The command as users call it: the choice of rows, the outputs, and unknown columns."""

import asyncio
import gc
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cli import main as program
from cli.cluster.connection import Cluster
from cli.listing import running
from cli.listing.gather import ListReader, ListScope
from cli.listing.outline import appwrapper_outline
from cli.terminal import CommandTerminal
from shared.kube.client import Unreachable
from shared.kube.discovery import Discovery
from shared.kube.requests import Request
from tests.support.builders.explained.objects import NOW
from tests.support.builders.listed import PLACES, USER, VISIBILITY, three_appwrappers
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock
from tests.support.fakes.served_objects import ServedObjects

WHY = "insufficient unused quota for nvidia.com/gpu in flavor default-flavor, 12 more needed"
FAILED = "1 failed pod: train-1-x7k2p on gpu-2 (exit code 139)"
TABLE = f"""\
NAME    USER     STATUS     GPUS  PRIORITY  QUEUE          POSITION  AGE  WHY
runs    alice@x  Running      16         -  default-queue         -  66m
waits   alice_x  Suspended    16         5  default-queue         2  10m  {WHY}
failed  alice@x  Failed       16         -  default-queue         -   2h  {FAILED}
"""


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ServedObjects:
    client = three_appwrappers()

    @asynccontextmanager
    async def connected(_arguments: object) -> AsyncIterator[Cluster]:
        yield Cluster(client, Discovery(client, FakeClock()), ImpatientClock(NOW), "team1")

    monkeypatch.setattr(running, "connected", connected)
    return client


def listing(*arguments: str, **environment: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    terminal = CommandTerminal(io.StringIO(), out, err, environment)
    return program.main(["list", *arguments], terminal), out.getvalue(), err.getvalue()


def names(*arguments: str) -> list[str]:
    code, out, err = listing(*arguments, "-o", "name")
    assert (code, err) == (0, "")
    return out.splitlines()


@pytest.mark.usefixtures("client")
def test_the_whole_namespace_ended_ones_too() -> None:
    assert listing() == (0, TABLE, "")
    assert max(map(len, listing(COLUMNS="80")[1].splitlines())) == 80


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("alias", ["ls", "queue"])
def test_the_aliases_do_the_same(alias: str) -> None:
    out = io.StringIO()
    terminal = CommandTerminal(io.StringIO(), out, io.StringIO(), {})
    assert program.main([alias], terminal) == 0
    assert out.getvalue() == TABLE


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["runs", "waits", "failed"]),
        (("--me",), ["runs", "failed"]),
        (("--user", "alice@x"), ["runs", "failed"]),
        (("--user", "alice_x"), ["runs", "waits", "failed"]),
        (("--user", "bob"), []),
        (("--state", "running"), ["runs"]),
        (("--state", "Running", "--state", "SUSPENDED"), ["runs", "waits"]),
        (("--me", "--state", "failed"), ["failed"]),
        (("--sort", "name"), ["failed", "runs", "waits"]),
        (("-A",), ["team1/runs", "team1/waits", "team1/failed"]),
    ],
)
@pytest.mark.usefixtures("client")
def test_the_options_choose(arguments: tuple[str, ...], expected: list[str]) -> None:
    """Two users whose names have one label are two users. `--user` also takes the label."""
    assert names(*arguments) == expected


def test_the_server_selects_the_user(client: ServedObjects) -> None:
    names("--me")
    assert f"list appwrappers team1 {USER}=alice_x" in client.sent


def test_it_reads_little(client: ServedObjects) -> None:
    """Two lists, the position in each queue, and no pods."""
    listing()
    assert [each for each in client.sent if "configmaps" not in each] == [
        "list appwrappers team1 ",
        "list workloads team1 ",
        VISIBILITY,
        PLACES,
    ]


@pytest.mark.usefixtures("client")
def test_json_has_the_same_facts_uncut() -> None:
    code, out, _ = listing("--state", "suspended", "-o", "json", COLUMNS="40")
    assert (code, json.loads(out)) == (
        0,
        [
            {
                "namespace": "team1",
                "name": "waits",
                "user": "alice_x",
                "status": "Suspended",
                "gpus": 16,
                "priority": 5,
                "priorityClass": "default-priority",
                "queue": "default-queue",
                "position": 2,
                "created": "2026-03-02T13:53:10Z",
                "attempt": 0,
                "retries": 0,
                "why": WHY,
            }
        ],
    )
    assert listing("--state", "suspended", "-o", "yaml")[1].startswith("- namespace: team1\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "There are no AppWrappers in namespace team1.\n"),
        (("-A",), "There are no AppWrappers in any namespace.\n"),
        (("--me",), "There are no AppWrappers that you asked for in namespace team1.\n"),
        (("-o", "json"), "[]\n"),
        (("-o", "name"), ""),
    ],
)
def test_an_empty_list_is_no_error(
    client: ServedObjects, arguments: tuple[str, ...], text: str
) -> None:
    client.objects["appwrappers"] = []
    assert listing(*arguments) == (0, text, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--me", "--user", "bob"), "--me and --user name two users: give one of them"),
        (("-A", "-n", "team1"), "-A lists all namespaces and -n one: give one of them"),
    ],
)
def test_options_that_contradict(arguments: tuple[str, ...], message: str) -> None:
    assert listing(*arguments) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "where"), [((), "in namespace team1"), (("-A",), "in all namespaces")]
)
def test_appwrappers_that_may_not_be_listed_end_the_command(
    client: ServedObjects, arguments: tuple[str, ...], where: str
) -> None:
    client.forbidden = {"appwrappers"}
    message = f"error: you may not list AppWrappers {where}: name your team's with -n\n"
    assert listing(*arguments) == (2, "", message)


def test_a_cluster_without_appwrappers(client: ServedObjects) -> None:
    del client.objects["appwrappers"]
    message = "this cluster has no AppWrappers: their CustomResourceDefinition is not installed"
    assert listing() == (2, "", f"error: {message}\n")


def places() -> list[list[str]]:
    """PRIORITY and POSITION of `waits`, as -o json has them."""
    return [[key for key in each if key in ("priority", "position")] for each in waits()]


def waits() -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(listing("--state", "suspended", "-o", "json")[1])
    return found


def test_workloads_that_may_not_be_read_cost_two_columns(client: ServedObjects) -> None:
    client.forbidden = {"workloads"}
    code, out, err = listing()
    assert (code, out.splitlines()[2].split()[3:7]) == (0, ["16", "-", "default-queue", "-"])
    assert err == (
        "warning: not known: PRIORITY and POSITION (workloads of namespace team1: no right to list"
        " them)\n"
    )
    assert places() == [[]]
    assert listing("-o", "name")[2] == ""


def test_without_kueue_there_is_nothing_to_report(client: ServedObjects) -> None:
    del client.objects["workloads"]
    assert listing()[::2] == (0, "")


def test_a_failed_read_of_workloads_costs_two_columns_too(client: ServedObjects) -> None:
    client.failing = {"workloads"}
    assert listing()[::2] == (
        0,
        "warning: not known: PRIORITY and POSITION (workloads of namespace team1: etcd has no"
        " leader)\n",
    )


def test_an_unreadable_configuration_costs_the_other_gpus(client: ServedObjects) -> None:
    client.forbidden = {"configmaps"}
    code, out, err = listing()
    assert (code, out) == (0, TABLE)
    assert err == (
        "warning: not known: GPUS (only nvidia.com/gpu: you may not read the operator's"
        " configuration)\n"
    )


def test_the_configuration_names_the_resources_of_gpus(client: ServedObjects) -> None:
    config = {"appwrapper": {"countedResources": ["cpu"]}}
    item = {
        "metadata": {"name": "appwrapper-operator-config", "namespace": "appwrapper-system"},
        "data": {"config.yaml": json.dumps(config)},
    }
    client.objects["configmaps"] = [item]
    assert [each["gpus"] for each in waits()] == [16 + 8]


def test_without_visibility_server_the_position_is_unknown(client: ServedObjects) -> None:
    del client.paths[VISIBILITY]
    assert listing()[::2] == (0, "")
    assert places() == [["priority"]]


@pytest.mark.parametrize("error", [TimeoutError(), Unreachable("no answer")])
def test_a_visibility_server_that_does_not_answer_costs_the_position(
    client: ServedObjects, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    answer = client.send

    async def send(request: Request, *, retry: bool = True) -> object:
        if request.target == PLACES:
            raise error
        return await answer(request, retry=retry)

    monkeypatch.setattr(client, "send", send)
    code, out, err = listing()
    assert (code, len(out.splitlines())) == (0, 4)
    assert err == ("warning: not known: POSITION (Kueue's visibility server does not answer)\n")


def test_a_hanging_visibility_server_is_waited_for_two_seconds(
    client: ServedObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock(NOW)

    async def send(request: Request, *, retry: bool = True) -> object:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(client, "send", send)

    async def read() -> tuple[bool, bool, dict[str, str]]:
        cluster = Cluster(client, Discovery(client, clock), clock, "team1")
        reader = ListReader(cluster, ListScope(namespace="team1"))
        outlines = [appwrapper_outline(client.objects["appwrappers"][0])]
        task = asyncio.ensure_future(reader.positions(outlines, {"uid-of-waits"}))
        await clock.advance(1.9)
        before = task.done()
        await clock.advance(0.1)
        return before, task.done(), reader.unread

    assert asyncio.run(read()) == (
        False,
        True,
        {"POSITION": "Kueue's visibility server does not answer"},
    )


def test_garbage_is_collected_again_afterwards(client: ServedObjects) -> None:
    client.forbidden = {"appwrappers"}
    listing()
    assert gc.isenabled()
