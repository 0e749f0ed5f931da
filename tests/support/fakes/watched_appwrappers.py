"""A cluster of AppWrappers for measurements: a watch reports its creates and deletes."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from shared.api.objects import JsonObject, Resource
from shared.kube.client import ListPage, WatchEvent, WatchEventType
from shared.kube.http_client import HttpKubeClient

END_OF_WATCH, BOOKMARK = "the server ends the watch", "a bookmark comes"
READY = "Running, PodsReady"


class WatchedAppWrappers(HttpKubeClient):
    """Each created AppWrapper takes all `phases`; a test may `put` more events."""

    def __init__(self, phases: tuple[str, ...]) -> None:
        self._phases = phases
        self._feed: asyncio.Queue[WatchEvent | None] = asyncio.Queue()
        self.selectors: list[str] = []
        self.versions: list[str] = []
        self.version = 7

    def put(self, kind: WatchEventType, name: str, phase: str = "", **metadata: str) -> None:
        self.version += 1
        described = {"name": name, "resourceVersion": str(self.version)} | metadata
        status: JsonObject = {"phase": phase}
        if phase == READY:
            status = {
                "phase": "Running",
                "conditions": [{"type": "PodsReady", "status": "True"}],
            }
        self._feed.put_nowait(WatchEvent(kind, {"metadata": described, "status": status}))

    async def pages(
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
        self, resource: Resource, namespace: str | None, body: JsonObject, **options: Any
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
    ) -> JsonObject:
        self.put(WatchEventType.MODIFIED, name, "Succeeded", deletionTimestamp="now")
        self.put(WatchEventType.DELETED, name, "Succeeded")
        return {}


def appwrappers(*names: str) -> list[JsonObject]:
    return [{"metadata": {"name": name, "namespace": "bench"}} for name in names]
