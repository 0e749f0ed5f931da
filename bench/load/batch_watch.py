"""Watches the objects of one batch, from before the first of them is created."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Self

from bench.errors import BenchError
from bench.objects import BATCH_LABEL, NAMESPACE
from localcluster.machine.slowness import stretched
from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient, WatchEventType

_PATIENCE = stretched(180.0)
_QUIET_SECONDS = 0.5

Take = Callable[[WatchEventType, JsonObject], None]
"""Gets each watch event when it arrives, except bookmarks."""


class BatchWatch:
    """`async with BatchWatch(…) as watch:` passes every event inside to `take`."""

    def __init__(self, client: KubeClient, resource: Resource, batch: str, take: Take) -> None:
        self._client = client
        self._resource = resource
        self._selector = f"{BATCH_LABEL}={batch}"
        self._take = take
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Starts the watch; it misses no object that is created from now on."""
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

    async def until(self, done: Callable[[], bool], waited_for: Callable[[], str]) -> None:
        """Returns once an event made `done` true. Raises BenchError after 180 s without an event.

        `waited_for` returns the beginning of that error's text. Errors of the watch are raised here
        too.
        """
        while not done():
            if self._watch.done():
                self._watch.result()
            self._changed.clear()
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._next_change()
            except TimeoutError:
                raise BenchError(
                    f"{waited_for()}, and nothing happened for {_PATIENCE:.0f} s."
                ) from None

    async def settle(self) -> None:
        """Waits until half a second has passed without an event: late status writes count too."""
        with suppress(TimeoutError):
            while True:
                self._changed.clear()
                async with asyncio.timeout(_QUIET_SECONDS):
                    await self._next_change()

    async def _next_change(self) -> None:
        """Waits for the next event, or for the watch to end, which only an error causes."""
        change = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((change, self._watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()

    async def _list_version(self) -> str:
        pages = self._client.pages(
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
                        self._changed.set()
