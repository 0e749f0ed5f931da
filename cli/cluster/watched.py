"""Watch objects for a command, which reads the informers after each change. I/O only."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from cli.cluster.connection import Cluster
from cli.tasks import one_error
from shared.api.objects import JsonObject, Resource
from shared.kube.client import Forbidden, KubeError, Unauthorized
from shared.kube.informer import Informer
from shared.process.sources import Sources

T = TypeVar("T")


class WatchedObjects:
    """`changed`: set by each change, by each informer's first list, and by a refusal."""

    def __init__(self, cluster: Cluster) -> None:
        self.changed = asyncio.Event()
        self._cluster = cluster
        self._informers: list[Informer[Any]] = []
        self._refusal: KubeError | None = None

    def add(
        self,
        resource: Resource,
        transform: Callable[[JsonObject], T],
        namespace: str | None,
        **selectors: str,
    ) -> Informer[T]:
        """Return an informer that `running` keeps in step."""
        informer = Informer(
            self._cluster.client,
            resource,
            transform=transform,
            sources=replace(Sources.of_the_machine(), clock=self._cluster.clock),
            namespace=namespace,
            label_selector=selectors.get("label_selector", ""),
            field_selector=selectors.get("field_selector", ""),
            failed=self._failed,
        )
        informer.add_handler(lambda _: self.changed.set())
        self._informers.append(informer)
        return informer

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.TaskGroup]:
        """Keep the informers in step inside the context. The group is for more tasks."""
        with _silent_informers():
            async with one_error() as tasks:
                own = [tasks.create_task(each.run()) for each in self._informers]
                own += [tasks.create_task(self._first(each)) for each in self._informers]
                try:
                    yield tasks
                finally:
                    for task in own:
                        task.cancel()

    def raise_refusal(self) -> None:
        """Raise the error that no repetition changes. The informers repeat the others."""
        if self._refusal is not None:
            raise self._refusal

    async def _first(self, informer: Informer[Any]) -> None:
        """Report the first list: an empty one has no change."""
        await informer.wait_synced()
        self.changed.set()

    def _failed(self, error: KubeError) -> None:
        if isinstance(error, Forbidden | Unauthorized):
            self._refusal = error
            self.changed.set()


@contextmanager
def _silent_informers() -> Iterator[None]:
    """Drop what informers log: it would stand between the lines that the user reads."""
    log = logging.getLogger(Informer.__module__)

    def drop(_: logging.LogRecord) -> bool:
        return False

    # One filter for each context: several may overlap, and end in any order.
    log.addFilter(drop)
    try:
        yield
    finally:
        log.removeFilter(drop)
