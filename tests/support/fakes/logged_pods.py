"""A KubeClient over a test's objects, whose pods have logs, and a clock that hurries."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeError, ListPage, NotFound, WatchEvent, WatchEventType
from shared.kube.requests import Request
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.served_objects import ServedObjects

_LOG = re.compile(r"/api/v1/namespaces/[^/]+/pods/(?P<pod>[^/]+)/log\?(?P<query>.*)")
# One stream: pieces of the log, an error that ends it, or a call between two pieces.
Stream = list[bytes | KubeError | Callable[[], None]]


class HurryingClock(FakeClock):
    """Waits end within milliseconds, and move its time by as much as was asked for."""

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0.001)
        self._elapsed += max(0.0, seconds)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(0.01):
                yield
        except TimeoutError:
            self._elapsed += seconds
            raise


class LoggedPods(ServedObjects):
    """`logs`: the streams of each pod, in the order of the requests; the last one is repeated.

    `asked`: pod and query of each request, in order. `put` changes an object, and watches show it.
    """

    def __init__(self, objects: dict[str, list[JsonObject]]) -> None:
        super().__init__(objects)
        self.logs: dict[str, list[Stream]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._version = 100
        self._changes: list[tuple[int, str, WatchEvent]] = []
        self._changed = asyncio.Event()
        for items in objects.values():
            for each in items:
                self._number(each)

    def queries(self, pod: str) -> list[dict[str, str]]:
        """Returns the queries of the pod's requests, without what all have."""
        constant = ("container", "timestamps")
        return [
            {key: value for key, value in query.items() if key not in constant}
            for name, query in self.asked
            if name == pod
        ]

    def put(self, plural: str, item: JsonObject) -> None:
        self.remove(plural, item["metadata"]["name"], silent=True)
        self._number(item)
        self.objects[plural].append(item)
        self._show(plural, WatchEvent(WatchEventType.MODIFIED, item))

    def remove(self, plural: str, name: str, *, silent: bool = False) -> None:
        for each in list(self.objects[plural]):
            if each["metadata"]["name"] == name:
                self.objects[plural].remove(each)
                if not silent:
                    self._number(each)
                    self._show(plural, WatchEvent(WatchEventType.DELETED, each))

    async def pages(
        self, resource: Resource, namespace: str | None = None, **selectors: object
    ) -> AsyncGenerator[ListPage, None]:
        found = [
            one
            async for page in super().pages(resource, namespace, **selectors)  # type: ignore[arg-type]
            for one in page.items
        ]
        yield ListPage(found, f"{self._version}")

    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        **options: object,
    ) -> AsyncGenerator[WatchEvent, None]:
        shown = int(resource_version)
        while True:
            for version, plural, event in self._changes:
                if version > shown and plural == resource.plural:
                    shown = version
                    yield event
            self._changed.clear()
            await self._changed.wait()

    async def chunks(
        self, request: Request, *, seconds: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        found = _LOG.fullmatch(request.target)
        assert found is not None, request.target
        query = {key: each[0] for key, each in parse_qs(found["query"]).items()}
        self.asked.append((found["pod"], query))
        assert (seconds is None) is ("follow" in query)
        self._check("logs")
        streams = self.logs.get(found["pod"])
        if not streams:
            raise NotFound(404, "NotFound", f'pods "{found["pod"]}" not found')
        for each in streams.pop(0) if len(streams) > 1 else streams[0]:
            await asyncio.sleep(0)
            if isinstance(each, KubeError):
                raise each
            if isinstance(each, bytes):
                yield each
            else:
                each()

    def _number(self, item: JsonObject) -> None:
        self._version += 1
        item["metadata"]["resourceVersion"] = f"{self._version}"

    def _show(self, plural: str, event: WatchEvent) -> None:
        self._changes.append((self._version, plural, event))
        self._changed.set()


def lines(*texts: str, second: int = 0) -> bytes:
    """Formats lines as the kubelet does, a second apart."""
    return b"".join(
        f"2026-03-02T14:00:{second + index:02}.000000000Z {text}\n".encode()
        for index, text in enumerate(texts)
    )
