"""`list --watch`: what is drawn, what is appended, and when."""

import asyncio
import io
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from cli.cluster.connection import Cluster
from cli.listing.gather import ListReader, ListScope
from cli.listing.view import ListView
from cli.listing.watching import EVERY, TOGETHER, follow
from cli.terminal import CommandTerminal
from shared.api.objects import JsonObject, Resource
from shared.kube.client import Forbidden, Gone, WatchEvent, WatchEventType
from shared.kube.discovery import Discovery
from tests.support.builders.explained.objects import NOW, held
from tests.support.builders.listed import three_appwrappers
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.served_objects import ServedObjects


class Watched(ServedObjects):
    """Watches wait for what a test sends: events of AppWrappers, or an error."""

    def __init__(self, served: ServedObjects) -> None:
        super().__init__(served.objects, paths=served.paths)
        for each in served.objects["appwrappers"] + served.objects["workloads"]:
            each["metadata"]["resourceVersion"] = "5"
            each["metadata"].setdefault("uid", "w")
        self.queue: asyncio.Queue[WatchEvent | Exception] = asyncio.Queue()

    async def watch(
        self, resource: Resource, *_: Any, **__: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        self.sent.append(f"watch {resource.plural}")
        while True:
            event = await (self.queue.get() if resource.plural == "appwrappers" else _never())
            if isinstance(event, Exception):
                raise event
            yield event


async def _never() -> WatchEvent:
    await asyncio.Event().wait()
    raise AssertionError


class Window(io.StringIO):
    def isatty(self) -> bool:
        return True


class Followed:
    """A list that is followed while the test changes the cluster."""

    def __init__(self, output: str = "text", out: io.StringIO | None = None) -> None:
        self.client = Watched(three_appwrappers())
        self.clock = FakeClock(NOW)
        self.out = out or io.StringIO()
        self.err = io.StringIO()
        cluster = Cluster(self.client, Discovery(self.client, self.clock), self.clock, "team1")
        environment = {"COLUMNS": "200", "TERM": "xterm"}
        terminal = CommandTerminal(io.StringIO(), self.out, self.err, environment)
        view = ListView(output=output, sort="status")
        reader = ListReader(cluster, ListScope(namespace="team1"))
        self.task = asyncio.ensure_future(follow(reader, view, terminal))
        self.version = 10

    def item(self, name: str) -> JsonObject:
        """A copy with a newer version."""
        [found] = [
            each for each in self.client.objects["appwrappers"] if each["metadata"]["name"] == name
        ]
        self.version += 1
        return {**found, "metadata": {**found["metadata"], "resourceVersion": f"{self.version}"}}

    async def news(self, *events: WatchEvent | Exception) -> str:
        """What is written because of these events."""
        before = len(self.out.getvalue())
        for each in events:
            self.client.queue.put_nowait(each)
        await self.clock.advance(TOGETHER)
        return self.out.getvalue()[before:]

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def changed(item: JsonObject) -> WatchEvent:
    return WatchEvent(WatchEventType.MODIFIED, item)


def deleted(item: JsonObject) -> WatchEvent:
    return WatchEvent(WatchEventType.DELETED, item)


def words(text: str) -> list[list[str]]:
    """Of each line: name, status and the beginning of WHY."""
    return [[line.split()[0], line.split()[2], *line.split()[8:9]] for line in text.splitlines()]


def test_a_program_gets_the_list_and_then_only_changed_rows() -> None:
    async def lived() -> None:
        list_ = Followed()
        assert words(await list_.news()) == [
            ["NAME", "STATUS", "WHY"],
            ["runs", "Running"],
            ["waits", "Suspended", "insufficient"],
            ["failed", "Failed", "1"],
        ]
        waits = list_.item("waits")
        waits["status"] = {"phase": "Running", "conditions": list(held(ready=True)), "attempt": 1}
        waits["spec"] = {**waits["spec"], "suspend": False}
        assert words(await list_.news(changed(waits))) == [["waits", "Running"]]
        assert await list_.news(changed(list_.item("runs"))) == ""  # nothing that a row shows
        assert words(await list_.news(deleted(list_.item("failed")))) == [["failed", "Deleted"]]
        await list_.clock.advance(10 * EVERY)
        assert len(list_.out.getvalue().splitlines()) == 6
        await list_.end()

    asyncio.run(lived())


def test_it_watches_and_lists_again_only_if_the_watch_is_too_old() -> None:
    async def lived() -> None:
        list_ = Followed()
        await list_.news()
        await list_.clock.advance(20 * EVERY)
        lists = [each for each in list_.client.sent if each.startswith("list appwrappers")]
        assert len(lists) == 2  # before the watch, and its own
        list_.client.objects["appwrappers"] = [list_.item("runs")]
        await list_.news(Gone(410, "Expired", "too old"))
        await list_.clock.advance(1)
        assert words(list_.out.getvalue())[-2:] == [["waits", "Deleted"], ["failed", "Deleted"]]
        lists = [each for each in list_.client.sent if each.startswith("list appwrappers")]
        assert len(lists) == 3
        await list_.end()

    asyncio.run(lived())


@pytest.mark.parametrize(
    ("output", "text"),
    [("name", "runs\nwaits\nfailed\n"), ("json", '{\n  "namespace": "team1",\n'), ("yaml", "---")],
)
def test_programs_get_their_form(output: str, text: str) -> None:
    async def lived() -> None:
        list_ = Followed(output)
        assert (await list_.news()).startswith(text)
        await list_.end()

    asyncio.run(lived())


def test_a_right_that_is_withdrawn_ends_it() -> None:
    async def lived() -> None:
        list_ = Followed()
        await list_.news()
        await list_.news(Forbidden(403, "Forbidden", "no more"))
        await list_.clock.advance(1)
        with pytest.raises(Forbidden):
            await list_.task

    asyncio.run(lived())


def test_a_terminal_is_drawn_in_place() -> None:
    async def lived() -> None:
        list_ = Followed(out=Window())
        assert "runs " in await list_.news()
        drawn = await list_.news(deleted(list_.item("failed")))
        assert "\x1b[1A" in drawn  # the cursor goes up
        assert "runs " in drawn
        assert "failed" not in drawn
        before = len(list_.out.getvalue())
        await list_.clock.advance(EVERY + TOGETHER)
        assert "waits" in list_.out.getvalue()[before:]  # ages grow without an event
        await list_.end()

    asyncio.run(lived())


def test_unreadable_workloads_are_not_watched() -> None:
    async def lived() -> None:
        list_ = Followed()
        list_.client.forbidden = {"workloads"}
        await list_.news()
        assert list_.err.getvalue().startswith("warning: not known: PRIORITY and POSITION (")
        assert [each for each in list_.client.sent if each.startswith("watch")] == [
            "watch appwrappers"
        ]
        await list_.end()

    asyncio.run(lived())
