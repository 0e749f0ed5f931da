"""Follows a batch of objects through one watch, from creation to their end and until gone."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Self

from bench.errors import BenchError
from bench.load.creations import AT_ONCE, create_all
from bench.objects import BATCH_LABEL, NAMESPACE
from shared.api.json import JsonObject
from shared.kube.client import KubeClient, Propagation, WatchEventType
from shared.kube.errors import NotFound
from shared.kube.resource import Resource

End = Callable[[JsonObject], str | None]
"""How an object ended: `Succeeded`, anything else for a failure, None while it goes on."""

SUCCEEDED = "Succeeded"
_PATIENCE = 90.0
_QUIET_SECONDS = 0.5


def appwrapper_end(appwrapper: JsonObject) -> str | None:
    """By its phase."""
    phase = appwrapper.get("status", {}).get("phase")
    return phase if phase in (SUCCEEDED, "Failed") else None


def job_end(job: JsonObject) -> str | None:
    """By its conditions."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
            return SUCCEEDED if condition["type"] == "Complete" else "Failed"
    return None


class Lives:
    """The objects of one batch, watched. `async with Lives(…) as lives:`."""

    def __init__(self, client: KubeClient, resource: Resource, batch: str, end: End) -> None:
        self._client = client
        self._resource = resource
        self._selector = f"{BATCH_LABEL}={batch}"
        self._end = end
        self._alive: set[str] = set()
        self._unfinished: set[str] = set()
        self._failure: str | None = None
        self._began = self._last_end = self._last_gone = 0.0
        self._changed = asyncio.Event()
        self.events: Counter[str] = Counter()
        """Watch events per object, its deletion's not among them."""

    async def __aenter__(self) -> Self:
        """Starts the watch before anything is created, so that it misses nothing."""
        version = await self._list_version()
        self._watch = asyncio.create_task(self._follow(version))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the watch."""
        self._watch.cancel()
        with suppress(asyncio.CancelledError):
            await self._watch

    async def run(self, documents: Sequence[JsonObject]) -> float:
        """Creates all, 16 at once. Seconds from the first create to the last object's success.

        Raises BenchError when one fails or nothing happens for a minute and a half.
        """
        self._unfinished |= self.expect(documents)
        self._began = time.perf_counter()
        await create_all(self._client, self._resource, documents)
        await self._until(lambda: not self._unfinished, "to end")
        return self._last_end - self._began

    def expect(self, documents: Sequence[JsonObject]) -> set[str]:
        """These are or will be there, by whomever they are created. Their names."""
        names = {each["metadata"]["name"] for each in documents}
        self._alive |= names
        return names

    async def settle(self) -> None:
        """Waits until no event has come for half a second: late status writes count too."""
        with suppress(TimeoutError):
            while True:
                self._changed.clear()
                async with asyncio.timeout(_QUIET_SECONDS):
                    await self._next_change()

    async def delete(self, names: Sequence[str]) -> float:
        """Deletes these, 16 at once, as kubectl does. Seconds until the last of them is gone."""
        began = time.perf_counter()
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(name: str) -> None:
            async with slots:
                with suppress(NotFound):
                    await self._client.delete(
                        self._resource, NAMESPACE, name,
                        uid=None, propagation=Propagation.BACKGROUND,
                    )  # fmt: skip

        await asyncio.gather(*map(one, names))
        await self._until(lambda: self._alive.isdisjoint(names), "to be gone")
        return self._last_gone - began

    async def _until(self, done: Callable[[], bool], what: str) -> None:
        while not done():
            if self._failure is not None:
                raise BenchError(self._failure)
            if self._watch.done():
                self._watch.result()
            self._changed.clear()
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._next_change()
            except TimeoutError:
                raise BenchError(
                    f"{len(self._unfinished or self._alive)} {self._resource.plural} were waited"
                    f" for {what}, and nothing happened for {_PATIENCE:.0f} s."
                ) from None

    async def _next_change(self) -> None:
        """The next event, or the end of the watch, which only an error brings about."""
        change = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((change, self._watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()

    async def _list_version(self) -> str:
        pages = self._client.list_pages(
            self._resource, NAMESPACE, label_selector=self._selector, metadata_only=True
        )
        async with aclosing(pages):
            async for page in pages:
                return page.resource_version
        raise AssertionError("a list has at least one page")

    async def _follow(self, version: str) -> None:
        while True:  # the server ends each watch after some minutes
            stream = self._client.watch(
                self._resource,
                NAMESPACE,
                resource_version=version,
                label_selector=self._selector,
            )
            async with aclosing(stream):
                async for event in stream:
                    version = event.object["metadata"]["resourceVersion"]
                    if event.type is not WatchEventType.BOOKMARK:
                        self._take(event.type, event.object)

    def _take(self, kind: WatchEventType, changed: JsonObject) -> None:
        now = time.perf_counter()
        metadata = changed["metadata"]
        name = metadata["name"]
        if kind is WatchEventType.DELETED:
            self._alive.discard(name)
            self._last_gone = now
        elif "deletionTimestamp" not in metadata:
            self.events[name] += 1
            self._note_end(name, self._end(changed), now)
        self._changed.set()

    def _note_end(self, name: str, end: str | None, now: float) -> None:
        if end == SUCCEEDED and name in self._unfinished:
            self._unfinished.discard(name)
            self._last_end = now
        elif end not in (None, SUCCEEDED):
            self._failure = f"{self._resource.kind} {name} ended as {end}."
