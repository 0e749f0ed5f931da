"""The caches of Kueue's queues and Workloads: of the process, so that each term begins with them.

If Kueue is not installed, one small request every half minute checks for it.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.informer import Informer
from shared.kube.object_cache import Change, IndexFunction
from shared.process.backoff import ExponentialBackoff
from shared.process.sources import Sources
from shared.waits.queueing import (
    Queue,
    QueueTrouble,
    WaitingWorkload,
    cluster_queue,
    local_queue,
    queue_trouble,
    waiting_workload,
)
from shared.waits.quota import CLUSTER_QUEUES, LOCAL_QUEUES
from shared.waits.workload import WORKLOADS

logger = logging.getLogger(__name__)

# Seconds between two checks for Kueue.
FIRST_LOOK: Final = 1.0
LONGEST_LOOK: Final = 30.0
_PAGE_SIZE: Final = 20  # a Workload holds whole pod templates, up to 1 MiB of them
_UIDS: Final = "uids"
CLUSTER_QUEUE: Final = "cluster queue"

T = TypeVar("T")


class KueueFollower(Protocol):
    """A term of leadership."""

    def workload_changed(self, change: Change[WaitingWorkload]) -> None: ...

    def local_queue_changed(self, change: Change[Queue]) -> None: ...

    def cluster_queue_changed(self, change: Change[Queue]) -> None: ...

    def all_changed(self) -> None:
        """Everything is listed, or it is proved that there is no Kueue."""


def _by_uid(workload: WaitingWorkload) -> tuple[Hashable, ...]:
    return (workload.uid, workload.owner_uid)


def _by_cluster_queue(queue: Queue) -> tuple[Hashable, ...]:
    return (queue.cluster_queue,)


@dataclass(frozen=True, slots=True)
class KueueObjects:
    """The caches while Kueue is served."""

    workloads: Informer[WaitingWorkload]
    local_queues: Informer[Queue]
    cluster_queues: Informer[Queue]

    @property
    def all(self) -> tuple[Informer[WaitingWorkload] | Informer[Queue], ...]:
        return (self.workloads, self.local_queues, self.cluster_queues)

    @property
    def whole(self) -> bool:
        """True if every cache has been listed."""
        return all(each.synced for each in self.all)

    @property
    def current(self) -> bool:
        """True if every cache is listed and the API server rejects none of the watches."""
        return self.whole and not any(each.refused for each in self.all)

    def workload_of(self, uid: str) -> WaitingWorkload | None:
        """Return the AppWrapper's Workload, the newest if Kueue created several."""
        found = [each for _, each in self.workloads.indexed(_UIDS, uid) if each.owner_uid == uid]
        return max(found, key=lambda each: each.created, default=None)

    def name_of(self, workload_uid: str, owner_uid: str) -> str:
        """Return the owner of a Workload as text; empty if the Workload is gone."""
        for uid in (workload_uid, owner_uid):
            for _, each in self.workloads.indexed(_UIDS, uid):
                return f"{each.owner_kind} {each.owner_name} of namespace {each.namespace}"
        return ""

    def trouble(self, namespace: str, name: str) -> QueueTrouble | None:
        """Return why the LocalQueue admits nothing, according to the caches."""
        local = self.local_queues.get(namespace, name)
        cluster = None if local is None else self.cluster_queues.get("", local.cluster_queue)
        return queue_trouble(namespace, name, local, cluster)


class KueueCaches:
    """`objects`: None while Kueue is not served. `absent`: it is proved that none is installed."""

    def __init__(self, client: KubeClient, sources: Sources) -> None:
        self._client = client
        self._sources = sources
        self._clock = sources.clock
        self._follower: KueueFollower | None = None
        self.objects: KueueObjects | None = None
        self.absent = False
        self._unserved = asyncio.Event()
        self._again: ExponentialBackoff[None] = ExponentialBackoff(FIRST_LOOK, LONGEST_LOOK)

    async def run(self) -> None:
        """Run until cancelled. Begin again when Kueue's API was away."""
        while True:
            await self._until_served()
            self._unserved.clear()
            self.objects = objects = self._make_objects()
            self._attach_follower()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(each.run()) for each in objects.all]
                tasks.append(group.create_task(self._report_all(objects)))
                await self._unserved.wait()
                self.objects = None
                for each in tasks:
                    each.cancel()
            # Kueue's API group may be served before, or without, one of these Kinds.
            await self._clock.sleep(self._again.next_delay(None))

    def follow(self, follower: KueueFollower) -> None:
        """Report each change from now on to `follower`, which wakes all AppWrappers itself."""
        self._follower = follower
        self._attach_follower()

    def drop_handlers(self) -> None:
        """Forget the follower: its term has ended."""
        self._follower = None
        for each in self.all:
            each.drop_handlers()

    @property
    def all(self) -> tuple[Informer[WaitingWorkload] | Informer[Queue], ...]:
        """The informers of Kueue's objects; none while Kueue is not installed."""
        return () if self.objects is None else self.objects.all

    async def _until_served(self) -> None:
        backoff: ExponentialBackoff[None] = ExponentialBackoff(FIRST_LOOK, LONGEST_LOOK)
        while True:
            try:
                group = await self._client.get_path(f"/apis/{WORKLOADS.group}")
                if any(each["version"] == WORKLOADS.version for each in group["versions"]):
                    self.absent = False
                    return
                logger.warning("the installed Kueue does not serve %s", WORKLOADS.version)
            except NotFound:
                if not self.absent:
                    logger.info(
                        "Kueue is not installed, so nothing starts an AppWrapper of a queue"
                    )
                    self.absent = True
                    self._all_changed()
            except KubeError as error:
                logger.warning("the API of Kueue cannot be read: %s", error)
            await self._clock.sleep(backoff.next_delay(None))

    def _make_objects(self) -> KueueObjects:
        return KueueObjects(
            self._informer(WORKLOADS, waiting_workload, {_UIDS: _by_uid}),
            self._informer(LOCAL_QUEUES, local_queue, {CLUSTER_QUEUE: _by_cluster_queue}),
            self._informer(CLUSTER_QUEUES, cluster_queue, {}),
        )

    def _informer(
        self,
        resource: Resource,
        transform: Callable[[JsonObject], T],
        indexes: Mapping[str, IndexFunction[T]],
    ) -> Informer[T]:
        return Informer(
            self._client,
            resource,
            transform=transform,
            sources=self._sources,
            indexes=indexes,
            page_size=_PAGE_SIZE,
            failed=self._failed,
        )

    def _failed(self, error: KubeError) -> None:
        if isinstance(error, NotFound):
            self._unserved.set()

    async def _report_all(self, objects: KueueObjects) -> None:
        """Report everything after the first lists: a missing queue causes no event."""
        for each in objects.all:
            await each.wait_synced()
        self._again.forget(None)
        self._all_changed()

    def _all_changed(self) -> None:
        if self._follower is not None:
            self._follower.all_changed()

    def _attach_follower(self) -> None:
        follower, objects = self._follower, self.objects
        if follower is not None and objects is not None:
            objects.workloads.add_handler(follower.workload_changed)
            objects.local_queues.add_handler(follower.local_queue_changed)
            objects.cluster_queues.add_handler(follower.cluster_queue_changed)
