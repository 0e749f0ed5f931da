"""One watch of one resource: a list, then every change, until cancelled.

It has its own few lines on aiohttp, so that errors of the product's client stay visible.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import orjson

from localcluster.machine.slowness import stretched
from tests.support.observer.change import Change

_METADATA: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_PAUSE: Final = 0.2
_ON_THE_WAY: Final = 0.02
_LIST_SECONDS: Final = stretched(120.0)


# A test stores arrays nested too deep for a decoder; the observer reads nothing in them.
_TOO_DEEP: Final = re.compile(rb"\[{200,}\]{200,}")
# Another stores arrays of so many objects that all versions of a few of them fill the memory.
_TOO_MANY: Final = re.compile(rb"(?:\{\},){1000,}")


class Expired(Exception):
    """The API server no longer has the changes after the last revision that was seen."""


class Refused(Exception):
    """The API server's answer to a list or a watch was none of the expected ones."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A resource, by its path and the labels of the objects that matter."""

    plural: str
    path: str
    selector: str = ""
    metadata_only: bool = False


class Watch:
    """Gives every change to `tell`. `gaps` lists what was missed, and why; it should stay empty."""

    def __init__(
        self, http: aiohttp.ClientSession, watched: Watched, tell: Callable[[Change], None]
    ) -> None:
        self.watched = watched
        self.gaps: list[str] = []
        self._http = http
        self._tell = tell
        self._known: dict[str, Change] = {}
        self._revision = 0
        self._moved = asyncio.Event()

    async def begin(self) -> None:
        """Reports the existing objects. Raises Refused, also if the resource is not served."""
        await self._list_anew()

    async def run(self) -> None:
        """Continues until cancelled, over lost connections and restarts of the API server."""
        while True:
            try:
                await self._follow()
            except Expired as expired:
                self.gaps.append(f"{self.watched.plural} after {self._revision}: {expired}")
                await self._begin_again()
            except (aiohttp.ClientError, TimeoutError, OSError, Refused):
                await asyncio.sleep(_PAUSE)

    async def fence(self) -> int:
        """Waits until all that a list shows now has been reported; returns the list's revision.

        By then every change of this resource up to that revision has been reported, since a watch
        reports in order: but for objects that came and went so lately that neither has shown them.
        Those are on their way: a process that stood still has the list and the changes to read.
        """
        revision, items = await self._list(whole=False)
        listed = {
            each["metadata"]["uid"]: int(each["metadata"]["resourceVersion"]) for each in items
        }
        while not self._has_come_to(revision, listed):
            self._moved.clear()
            await self._moved.wait()
        await asyncio.sleep(_ON_THE_WAY)
        return revision

    def _has_come_to(self, revision: int, listed: dict[str, int]) -> bool:
        if self._revision >= revision:
            return True
        for uid, version in listed.items():
            known = self._known.get(uid)
            if known is None or known.revision < version:
                return False
        return not any(
            uid not in listed and known.revision <= revision for uid, known in self._known.items()
        )

    async def _begin_again(self) -> None:
        while True:
            try:
                return await self._list_anew()
            except (aiohttp.ClientError, TimeoutError, OSError, Refused):
                await asyncio.sleep(_PAUSE)

    async def _list_anew(self) -> None:
        revision, items = await self._list(whole=True)
        listed = {each["metadata"]["uid"] for each in items}
        for uid in [*self._known]:
            if uid not in listed:
                # The time of its end is unknown. No fault is reported for events that may have come
                # in time.
                known = self._known[uid]
                self._note(Change(known.resource, self._revision, known.item, deleted=True))
        for item in sorted(items, key=lambda each: int(each["metadata"]["resourceVersion"])):
            known_before = self._known.get(item["metadata"]["uid"])
            version = int(item["metadata"]["resourceVersion"])
            if known_before is None or known_before.revision < version:
                self._note(Change(self.watched.plural, version, item))
        self._revision = max(self._revision, revision)
        self._moved.set()

    async def _list(self, *, whole: bool) -> tuple[int, list[dict[str, Any]]]:
        async with self._http.get(
            self.watched.path,
            params={"labelSelector": self.watched.selector},
            headers=self._accept("List", whole=whole),
            timeout=aiohttp.ClientTimeout(total=_LIST_SECONDS),
        ) as answer:
            body = await answer.read()
            if answer.status != 200:
                raise Refused(f"{self.watched.plural}: {answer.status} {body[:500]!r}")
            content = _decoded(body)
        return int(content["metadata"]["resourceVersion"]), content.get("items") or []

    async def _follow(self) -> None:
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": str(self._revision),
            "labelSelector": self.watched.selector,
        }
        async with self._http.get(
            self.watched.path, params=parameters, headers=self._accept("", whole=True)
        ) as answer:
            if answer.status == 410:
                raise Expired(await answer.text())
            if answer.status != 200:
                raise Refused(f"{self.watched.plural}: {answer.status}")
            async for line in _lines(answer.content):
                self._hear(_decoded(line))

    def _hear(self, event: dict[str, Any]) -> None:
        kind, item = event["type"], event["object"]
        if kind == "ERROR":
            if item.get("code") == 410:
                raise Expired(str(item.get("message")))
            raise Refused(str(item))
        revision = int(item["metadata"]["resourceVersion"])
        if kind != "BOOKMARK":
            self._note(Change(self.watched.plural, revision, item, deleted=kind == "DELETED"))
        self._revision = max(self._revision, revision)
        self._moved.set()

    def _note(self, change: Change) -> None:
        if change.deleted:
            self._known.pop(change.uid, None)
        else:
            self._known[change.uid] = change
        self._tell(change)

    def _accept(self, suffix: str, *, whole: bool) -> dict[str, str]:
        if whole and not self.watched.metadata_only:
            return {"Accept": "application/json"}
        return {"Accept": _METADATA.format(suffix)}


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yields lines of any length: an event may hold an object of a megabyte."""
    rest = b""
    async for chunk in stream.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _decoded(text: bytes) -> Any:
    text = _TOO_MANY.sub(b"", text)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return orjson.loads(_TOO_DEEP.sub(b"[]", text))
