"""ServedObjects that a command deletes and creates."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import orjson

from shared.api.objects import JsonObject, Resource
from shared.kube.client import (
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
    WatchEvent,
    WatchEventType,
)
from shared.kube.requests import Request
from tests.support.fakes.served_objects import ServedObjects


class ChangedObjects(ServedObjects):
    """AppWrappers with finalizers: a delete begins, and a test ends it with `gone`.

    `deletes` and `creates` record names, targets and bodies. `refusing`: the errors of the next
    writes. `on_patch` receives the body of each patch.
    """

    def __init__(
        self, *appwrappers: JsonObject, paths: dict[str, JsonObject] | None = None
    ) -> None:
        super().__init__({"appwrappers": [*appwrappers]}, paths=paths)
        self.deletes: list[tuple[str, JsonObject]] = []
        self.creates: list[tuple[str, JsonObject]] = []
        self.refusing: list[ApiError] = []
        self.on_patch: Callable[[JsonObject], None] = lambda _: None
        self._version = 100
        self._watches: list[asyncio.Queue[WatchEvent]] = []

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        """Answers a write; otherwise as ServedObjects."""
        if request.method == "PATCH":
            self.on_patch(orjson.loads(request.body or b"{}"))
            return {}
        if request.method not in ("DELETE", "POST") or request.target in self.paths:
            return await super().send(request, retry=retry)
        body: JsonObject = orjson.loads(request.body or b"{}")
        if request.method == "DELETE":
            return self._delete(request.target.rpartition("/")[2], body)
        self.creates.append((request.target, body))
        if self.refusing:
            raise self.refusing.pop()
        if body["metadata"]["name"] in [each["metadata"]["name"] for each in self._all]:
            raise AlreadyExists(409, "AlreadyExists", "exists")
        return body

    def _delete(self, name: str, body: JsonObject) -> JsonObject:
        self.deletes.append((name, body))
        if self.refusing:
            raise self.refusing.pop()
        for each in self._all:
            if each["metadata"]["name"] == name:
                if each["metadata"]["uid"] != body["preconditions"]["uid"]:
                    raise Conflict(409, "Conflict", "the UID is another")
                each["metadata"]["deletionTimestamp"] = "2026-03-02T14:03:10Z"
                return each
        raise NotFound(404, "NotFound", "")

    @property
    def _all(self) -> list[JsonObject]:
        return self.objects["appwrappers"]

    def change(self, name: str, **status: Any) -> None:
        """Changes the status."""
        (found,) = (each for each in self._all if each["metadata"]["name"] == name)
        found["status"] = {**found["status"], **status}
        self._send(WatchEventType.MODIFIED, found)

    def gone(self, name: str) -> None:
        """Removes the AppWrapper."""
        (found,) = (each for each in self._all if each["metadata"]["name"] == name)
        self._all.remove(found)
        self._send(WatchEventType.DELETED, found)

    def _send(self, kind: WatchEventType, item: JsonObject) -> None:
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        for each in self._watches:
            each.put_nowait(WatchEvent(kind, item))

    async def watch(
        self, resource: Resource, *_: Any, **__: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yields the test's changes."""
        queue: asyncio.Queue[WatchEvent] = asyncio.Queue()
        self._watches.append(queue)
        while True:
            yield await queue.get()
