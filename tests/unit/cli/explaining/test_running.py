"""The command as people call it: names, files, --all, --watch, -o."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli import main as program
from cli.cluster.connection import Cluster
from cli.explaining import running, watching
from cli.explaining.gather import ExplanationReader
from cli.terminal import CommandTerminal
from shared.api.objects import JsonObject
from shared.kube.client import WatchEvent, WatchEventType
from shared.kube.discovery import Discovery
from tests.support.builders.explained import deployed, ending
from tests.support.builders.explained.objects import NOW
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock
from tests.support.fakes.served_objects import ServedObjects


def client_with(*appwrappers: JsonObject) -> ServedObjects:
    plurals = ("pods", "events", "workloads", "localqueues", "clusterqueues", "cohorts", "nodes")
    rest: dict[str, list[JsonObject]] = {each: [] for each in (*plurals, "configmaps")}
    return ServedObjects({"appwrappers": list(appwrappers), "namespaces": [], **rest})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ServedObjects:
    """A cluster whose only AppWrapper has succeeded."""
    client = client_with(ending.succeeded().appwrapper)

    @asynccontextmanager
    async def connected(_arguments: object) -> AsyncIterator[Cluster]:
        yield Cluster(client, Discovery(client, FakeClock()), ImpatientClock(NOW), "team1")

    monkeypatch.setattr(running, "connected", connected)
    return client


def explain(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = program.main(["explain", *arguments], CommandTerminal(io.StringIO(stdin), out, err, {}))
    return code, out.getvalue(), err.getvalue()


FIRST_LINE = "train succeeded at 13:58:10 UTC, 5 min ago.\n"


@pytest.mark.usefixtures("client")
def test_one_by_its_name() -> None:
    code, out, err = explain("train")
    assert (code, out.splitlines(keepends=True)[0], err) == (0, FIRST_LINE, "")


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("many", [False, True])
def test_json_is_one_report_or_a_list(many: bool) -> None:
    code, out, _ = explain(*(["train", "train"] if many else ["train"]), "-o", "json")
    found = json.loads(out)
    assert code == 0
    first = found[0] if many else found
    assert (first["situation"], first["phase"]) == ("Succeeded", "Succeeded")
    assert isinstance(found, list) is many


@pytest.mark.usefixtures("client")
def test_those_that_a_file_names(tmp_path: Path) -> None:
    text = "kind: Service\nmetadata: {name: other}\n---\nkind: List\nitems:\n" + (
        "- {kind: AppWrapper, metadata: {name: train, namespace: team1}}\n---\n"
    )
    file = tmp_path / "train.yaml"
    file.write_text(text)
    assert explain("-f", str(file))[1].startswith(FIRST_LINE)
    assert explain("-f", "-", stdin=text)[1].startswith(FIRST_LINE)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (
            (),
            "",
            "name the AppWrapper: explain NAME, explain -f FILE or explain --all",
        ),
        (
            ("train", "--all"),
            "",
            "name the AppWrapper: explain NAME, explain -f FILE or explain --all",
        ),
        (
            ("--all", "--watch"),
            "",
            "--watch follows one AppWrapper: explain NAME --watch",
        ),
        (("-f", "-"), "kind: Pod", "-: there is no AppWrapper with a name in it"),
        (("-f", "/nowhere.yaml"), "", "/nowhere.yaml: No such file or directory"),
        (("trian",), "", 'there is no AppWrapper "trian" in namespace team1. Did you mean train?'),
    ],
)
def test_objects_that_explain_refuses(arguments: tuple[str, ...], stdin: str, message: str) -> None:
    assert explain(*arguments, stdin=stdin) == (2, "", f"error: {message}\n")


@pytest.mark.usefixtures("client")
def test_malformed_yaml_is_refused() -> None:
    code, out, err = explain("-f", "-", stdin="a: [")
    assert (code, out) == (2, "")
    assert err.startswith("error: standard input:1: this is not YAML: ")


def test_all_are_a_line_each(client: ServedObjects) -> None:
    code, out, _ = explain("--all")
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["NAME", "STATUS", "WHY"],
        ["train", "Succeeded", *["Succeeded", "at", "13:58:10", "UTC,", "5", "min", "ago."]],
    ]
    client.objects["appwrappers"] = []
    assert explain("--all") == (0, "There are no AppWrappers in namespace team1.\n", "")
    assert json.loads(explain("--all", "-o", "json")[1]) == []


def lives(client: ServedObjects, *stages: JsonObject | None) -> None:
    """Each read after the first shows the next stage; None: it is gone."""
    client.objects["appwrappers"] = [stage for stage in stages[:1] if stage]
    rest = list(stages[1:])
    asked = ServedObjects.watch

    def watch(*arguments: object, **options: object) -> object:
        stage = rest.pop(0)
        client.objects["appwrappers"] = [stage] if stage else []
        return asked(client, *arguments, **options)  # type: ignore[arg-type]

    client.watch = watch  # type: ignore[method-assign,assignment]


def test_watching_ends_with_its_success(client: ServedObjects) -> None:
    lives(
        client,
        ending.retry_pause().appwrapper,
        ending.retry_pause().appwrapper,
        ending.succeeded().appwrapper,
    )
    code, out, _ = explain("train", "--watch")
    assert code == 0
    assert [line.partition("  ")[2].partition(" (")[0] for line in out.splitlines()] == [
        # What had happened before.
        "created",
        "Kueue granted its quota",
        "it turned unhealthy",
        "train was reset",
        "train succeeded at 13:58:10 UTC, 5 min 6 s ago.",
    ]


def test_watching_fails_with_its_failure_or_its_deletion(client: ServedObjects) -> None:
    lives(client, ending.retry_pause().appwrapper, ending.failed().appwrapper)
    assert explain("train", "--watch")[0] == 1
    lives(client, ending.retry_pause().appwrapper, None)
    code, _, err = explain("train", "--watch")
    assert (code, err) == (1, "error: train was deleted before it ended\n")


def test_watching_does_not_take_another_of_its_name_for_it(client: ServedObjects) -> None:
    another = ending.succeeded().appwrapper
    another["metadata"]["uid"] = "another"
    lives(client, ending.retry_pause().appwrapper, another)
    assert explain("train", "--watch")[0] == 1


def test_watching_prints_documents_for_programs(client: ServedObjects) -> None:
    lives(client, ending.retry_pause().appwrapper, ending.succeeded().appwrapper)
    _, out, _ = explain("train", "--watch", "-o", "json")
    assert [json.loads(each)["situation"] for each in out.replace("}\n{", "}\0{").split("\0")] == [
        "RetryPause",
        "Succeeded",
    ]


def watched_in_a_window(columns: int) -> tuple[int, str]:
    class Window(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Window()
    environment = {"TERM": "xterm", "COLUMNS": f"{columns}", "NO_COLOR": "1"}
    terminal = CommandTerminal(io.StringIO(), out, io.StringIO(), environment)
    return program.main(["explain", "train", "--watch"], terminal), out.getvalue()


def test_a_person_sees_one_screen_that_stays(client: ServedObjects) -> None:
    lives(client, ending.retry_pause().appwrapper, ending.succeeded().appwrapper)
    code, out = watched_in_a_window(80)
    assert code == 0
    assert "train succeeded at 13:58:10 UTC" in out
    assert "\x1b[2K" in out  # the lines of the screen before are taken away


def test_in_the_end_a_person_sees_whole_commands(client: ServedObjects) -> None:
    """A live screen is cut at the window's edge."""
    lives(client, ending.retry_pause().appwrapper, ending.failed().appwrapper)
    command = "appwrapper resubmit train -n team1 --set deletionOnFailureGracePeriodDuration=30m"
    code, out = watched_in_a_window(40)
    assert (code, out.count(f"  {command}\n")) == (1, 1)


def test_a_change_is_read_at_once(client: ServedObjects) -> None:
    clock, item = ImpatientClock(NOW), deployed.runs().appwrapper
    gatherer = ExplanationReader(
        Cluster(client, Discovery(client, FakeClock()), clock, "team1"), "team1"
    )
    bookmark = {"metadata": {"resourceVersion": "9"}}
    client.events = [
        WatchEvent(WatchEventType.BOOKMARK, bookmark),
        WatchEvent(WatchEventType.MODIFIED, item),
    ]
    asyncio.run(watching._changed(gatherer, item))
    assert clock.slept == []


def test_a_watch_that_fails_only_costs_its_wait(client: ServedObjects) -> None:
    clock = ImpatientClock(NOW)
    gatherer = ExplanationReader(
        Cluster(client, Discovery(client, FakeClock()), clock, "team1"), "team1"
    )
    asyncio.run(watching._changed(gatherer, deployed.runs().appwrapper))
    assert clock.slept == [watching.EVERY.total_seconds()]
