import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bench.errors import BenchError
from bench.load.lives import Lives, appwrapper_end, job_end
from shared.api.json import JsonObject
from shared.kube.client import ListPage, WatchEvent, WatchEventType
from shared.kube.errors import Unreachable
from shared.kube.http_client import HttpKubeClient
from shared.kube.resource import APPWRAPPERS, Resource


@pytest.mark.parametrize(
    ("appwrapper", "end"),
    [
        ({}, None),
        ({"status": {}}, None),
        ({"status": {"phase": "Running"}}, None),
        ({"status": {"phase": "Succeeded"}}, "Succeeded"),
        ({"status": {"phase": "Failed"}}, "Failed"),
    ],
)
def test_appwrapper_end(appwrapper: JsonObject, end: str | None) -> None:
    assert appwrapper_end(appwrapper) == end


@pytest.mark.parametrize(
    ("conditions", "end"),
    [
        ([], None),
        ([("Suspended", "True")], None),
        ([("SuccessCriteriaMet", "True")], None),
        ([("Complete", "False")], None),
        ([("SuccessCriteriaMet", "True"), ("Complete", "True")], "Succeeded"),
        ([("Failed", "True")], "Failed"),
    ],
)
def test_job_end(conditions: list[tuple[str, str]], end: str | None) -> None:
    status = {"conditions": [{"type": kind, "status": value} for kind, value in conditions]}
    assert job_end({"status": status}) == end


END_OF_WATCH, BOOKMARK = "the server ends the watch", "a bookmark comes"


class Cluster(HttpKubeClient):
    """A watch that a test feeds; creates and deletes come back through it."""

    def __init__(self, phases: tuple[str, ...]) -> None:
        self._phases = phases
        self._feed: asyncio.Queue[WatchEvent | None] = asyncio.Queue()
        self.selectors: list[str] = []
        self.versions: list[str] = []
        self.version = 7

    def put(self, kind: WatchEventType, name: str, phase: str = "", **metadata: str) -> None:
        self.version += 1
        described = {"name": name, "resourceVersion": str(self.version)} | metadata
        self._feed.put_nowait(WatchEvent(kind, {"metadata": described, "status": {"phase": phase}}))

    async def list_pages(
        self, resource: Resource, namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[ListPage, None]:
        self.selectors.append(options["label_selector"])
        yield ListPage([], str(self.version))

    async def watch(
        self, resource: Resource, namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        self.selectors.append(options["label_selector"])
        self.versions.append(options["resource_version"])
        while (event := await self._feed.get()) is not None:
            yield event

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        name = body["metadata"]["name"]
        self.put(WatchEventType.ADDED, name)
        for phase in self._phases:
            if phase == END_OF_WATCH:
                self._feed.put_nowait(None)
            elif phase == BOOKMARK:
                self.put(WatchEventType.BOOKMARK, "")
            else:
                self.put(WatchEventType.MODIFIED, name, phase)
        return body

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, **options: Any
    ) -> None:
        self.put(WatchEventType.MODIFIED, name, "Succeeded", deletionTimestamp="now")
        self.put(WatchEventType.DELETED, name, "Succeeded")


def lives(cluster: Cluster) -> Lives:
    return Lives(cluster, APPWRAPPERS, "a-batch", appwrapper_end)


def appwrappers(*names: str) -> list[JsonObject]:
    return [{"metadata": {"name": name, "namespace": "bench"}} for name in names]


async def test_a_batch_lives_until_the_last_success() -> None:
    cluster = Cluster(("Running", "Succeeded", "Succeeded"))
    async with lives(cluster) as watched:
        assert await watched.run(appwrappers("a", "b")) > 0
        assert await watched.delete(["a", "b"]) > 0
        # Those of the deletion are not among them.
        assert watched.events == {"a": 4, "b": 4}
    assert cluster.selectors == ["bench.localcluster.dev/batch=a-batch"] * 2
    assert cluster.versions == ["7"]


async def test_one_failure_ends_it() -> None:
    async with lives(Cluster(("Running", "Failed"))) as watched:
        with pytest.raises(BenchError, match=r"^AppWrapper a ended as Failed\.$"):
            await watched.run(appwrappers("a"))


async def test_a_watch_that_the_server_ends_goes_on_where_it_was() -> None:
    cluster = Cluster(("Running", END_OF_WATCH, BOOKMARK, "Succeeded"))
    async with lives(cluster) as watched:
        await watched.run(appwrappers("a"))
    assert cluster.versions == ["7", "9"]
    assert watched.events == {"a": 3}


async def test_an_error_of_the_watch_is_not_waited_out() -> None:
    class Broken(Cluster):
        async def watch(
            self, resource: Resource, namespace: str | None = None, **options: Any
        ) -> AsyncGenerator[WatchEvent, None]:
            if self.selectors:
                raise Unreachable("gone")
            yield WatchEvent(WatchEventType.BOOKMARK, {})

    with pytest.raises(Unreachable, match=r"^gone$"):
        async with lives(Broken(())) as watched:
            await watched.run(appwrappers("a"))
