"""A KubeClient over a few objects in memory, with resourceVersions, conflicts and watches.

It is for code that reads its own writes. For single answers `fake_kube.FakeKube` is simpler.
Integration tests check that the real API server answers in the same way.
"""

import asyncio
import copy
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from typing import Any

import jsonpatch

from shared.api.objects import JsonObject, JsonValue, Resource
from shared.kube.client import (
    Conflict,
    Invalid,
    ListPage,
    NotFound,
    PatchType,
    WatchEvent,
    WatchEventType,
)

Key = tuple[str, str]  # plural and name


class ObjectStore:
    """`fail` is called before each request with its verb and plural; it may raise."""

    def __init__(self) -> None:
        self.objects: dict[Key, JsonObject] = {}
        self.calls: list[tuple[str, str]] = []
        self.fail: Callable[[str, str], None] = lambda _verb, _plural: None
        self.ahead = timedelta(0)
        self._version = 0
        self._watches: list[tuple[Key, asyncio.Queue[WatchEvent]]] = []

    def put(self, resource: Resource, raw: JsonObject) -> JsonObject:
        """Writes an object as another client, whatever was there."""
        key = (resource.plural, raw["metadata"]["name"])
        kind = WatchEventType.MODIFIED if key in self.objects else WatchEventType.ADDED
        self._version += 1
        known = self.objects.get(key, {}).get("metadata", {})
        metadata = {"uid": known.get("uid", f"uid-{self._version}"), **raw["metadata"]}
        stored = {**raw, "metadata": {**metadata, "resourceVersion": str(self._version)}}
        self.objects[key] = copy.deepcopy(stored)
        self._tell(key, kind, stored)
        return copy.deepcopy(stored)

    def remove(self, resource: Resource, name: str) -> None:
        """Deletes an object as another client."""
        self._version += 1
        raw = self.objects.pop((resource.plural, name))
        raw["metadata"]["resourceVersion"] = str(self._version)
        self._tell((resource.plural, name), WatchEventType.DELETED, raw)

    def one(self, resource: Resource, name: str) -> JsonObject:
        return copy.deepcopy(self.objects[resource.plural, name])

    def server_ahead(self) -> timedelta:
        """Returns by how much the client's clock is behind."""
        return self.ahead

    async def get(self, resource: Resource, _namespace: str | None, name: str) -> JsonObject:
        await self._called("get", resource)
        if (resource.plural, name) not in self.objects:
            raise NotFound(404, "NotFound", f'{resource.plural} "{name}" not found')
        return self.one(resource, name)

    async def update(
        self, resource: Resource, namespace: str | None, name: str, body: JsonObject
    ) -> JsonObject:
        await self._called("update", resource)
        known = self.one(resource, name)["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != known:
            raise Conflict(409, "Conflict", f'"{name}" has been modified')
        return self.put(resource, body)

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonValue,
        patch_type: PatchType,
    ) -> JsonObject:
        await self._called("patch", resource)
        assert patch_type is PatchType.JSON
        try:
            patched = jsonpatch.apply_patch(self.one(resource, name), body)
        except jsonpatch.JsonPatchException as error:
            raise Invalid(422, "Invalid", "the server rejected our request") from error
        known = self.one(resource, name)["metadata"]["resourceVersion"]
        if patched["metadata"]["resourceVersion"] != known:
            raise Conflict(409, "Conflict", f'"{name}" has been modified')
        return self.put(resource, patched)

    async def pages(
        self, resource: Resource, _namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[ListPage, None]:
        await self._called("list", resource)
        found = self.objects.get((resource.plural, _name_in(options)))
        yield ListPage([] if found is None else [copy.deepcopy(found)], str(self._version or 1))

    async def watch(
        self, resource: Resource, _namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        await self._called("watch", resource)
        queue: asyncio.Queue[WatchEvent] = asyncio.Queue()
        self._watches.append(((resource.plural, _name_in(options)), queue))
        while True:
            yield await queue.get()

    async def _called(self, verb: str, resource: Resource) -> None:
        self.calls.append((verb, resource.plural))
        self.fail(verb, resource.plural)
        await asyncio.sleep(0)

    def _tell(self, key: Key, kind: WatchEventType, raw: JsonObject) -> None:
        for watched, queue in self._watches:
            if watched == key:
                queue.put_nowait(WatchEvent(kind, copy.deepcopy(raw)))


def _name_in(options: dict[str, Any]) -> str:
    return str(options["field_selector"]).removeprefix("metadata.name=")
