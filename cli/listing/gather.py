"""Read the AppWrappers of the list, and what Kueue reports about them. I/O only.

Only the AppWrappers are needed. If another read fails, its columns are unknown, and `unread` has
the reason.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cli.cluster.connection import Cluster
from cli.cluster.kueue import queue_positions
from cli.cluster.reader import NO_APPWRAPPERS, Reader, needed
from cli.cluster.unread import Unread
from cli.cluster.visibility import pending_workloads
from cli.command import CommandError
from cli.listing.outline import (
    AppWrapperOutline,
    WorkloadOutline,
    appwrapper_outlines,
    by_owner,
    workload_outlines,
)
from cli.listing.rows import may_wait
from shared.api.objects import APPWRAPPERS
from shared.kube.client import KubeError
from shared.waits.gpus import gpu_resources
from shared.waits.workload import WORKLOADS

# A visibility server that does not answer must not stop the list.
VISIBILITY_SECONDS: Final = 2.0
_AT_ONCE: Final = 8
_OF_WORKLOADS: Final = "PRIORITY and POSITION"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListScope:
    """`namespace`: None for all. The selector selects AppWrappers."""

    namespace: str | None
    selector: str = ""


@dataclass(slots=True)
class ListReader:
    """Reads under the user's rights. `unread`: columns that are unknown, with the reasons."""

    cluster: Cluster
    scope: ListScope
    unread: dict[str, str] = field(default_factory=dict)

    async def appwrappers(self) -> tuple[AppWrapperOutline, ...]:
        """Read all AppWrappers of the scope. Raises CommandError."""
        found = await self._reader().projected(
            APPWRAPPERS,
            appwrapper_outlines,
            self.scope.namespace,
            label_selector=self.scope.selector,
        )
        if found is None:
            raise CommandError(NO_APPWRAPPERS)
        if isinstance(found, Unread) and found.forbidden:
            namespace = self.scope.namespace
            where = f"in namespace {namespace}" if namespace else "in all namespaces"
            raise CommandError(f"you may not list AppWrappers {where}: name your team's with -n")
        return needed(found, "list")

    async def workloads(self) -> Mapping[str, WorkloadOutline]:
        """Read Kueue's Workloads by the UID of their owner; none without Kueue."""
        found = await self._reader().projected(WORKLOADS, workload_outlines, self.scope.namespace)
        if isinstance(found, Unread):
            self.unread[_OF_WORKLOADS] = str(found)
            return {}
        return by_owner(found or ())

    @property
    def unread_workloads(self) -> bool:
        """True if the user may not list Workloads."""
        return _OF_WORKLOADS in self.unread

    async def gpu_resources(self) -> frozenset[str]:
        """Read the names of the resources of GPUs from the operator's configuration."""
        settings = await self._reader().operator_configuration()
        resources = gpu_resources(settings.behaviour)
        if settings.unread is not None:
            self.unread["GPUS"] = f"only {', '.join(sorted(resources))}: {settings.problem}"
        return resources

    async def positions(
        self, outlines: Iterable[AppWrapperOutline], workloads: Collection[str]
    ) -> dict[tuple[str, str], int]:
        """Read the positions of waiting AppWrappers, by namespace and name of the Workload."""
        waiting = (each.appwrapper for each in outlines)
        queues = {
            (each.namespace, each.queue_name)
            for each in waiting
            if may_wait(each) and each.uid in workloads
        }
        slots = asyncio.Semaphore(_AT_ONCE)
        places = await asyncio.gather(*(self._of_queue(*each, slots) for each in sorted(queues)))
        return {key: place for each in places for key, place in each.items()}

    async def _of_queue(
        self, namespace: str, queue: str, slots: asyncio.Semaphore
    ) -> dict[tuple[str, str], int]:
        reader = self._reader()
        try:
            async with slots, self.cluster.clock.timeout(VISIBILITY_SECONDS):
                found = await pending_workloads(reader, namespace, queue)
        except (TimeoutError, KubeError):
            self.unread["POSITION"] = "Kueue's visibility server does not answer"
            return {}
        if isinstance(found, Unread):
            self.unread["POSITION"] = str(found)
        return {(namespace, name): place for name, place in queue_positions(found or ()).items()}

    def _reader(self) -> Reader:
        return Reader(self.cluster.client)
