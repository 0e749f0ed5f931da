"""Watch Kueue's queues and Workloads, for AppWrappers that wait in a queue.

An AppWrapper is woken only if a change affects the message of its condition. If Kueue is not
installed, one small request every half minute checks for it.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from controller.facts.remembered_appwrapper import Outline
from controller.memory.memory import Remembered
from controller.phases.snapshot import Queueing
from controller.phases.waiting import REASON_INTERVAL
from shared.api.appwrapper import AppWrapper
from shared.api.objects import CONFIGMAPS, NAMESPACES, JsonObject, Resource
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.informer import Informer
from shared.kube.object_cache import Change, IndexFunction
from shared.process.clock import ExponentialBackoff
from shared.process.sources import Sources
from shared.waits import kueue_settings
from shared.waits.queueing import (
    Queue,
    QueueTrouble,
    WaitingWorkload,
    cluster_queue,
    local_queue,
    queue_trouble,
    waiting_workload,
    with_names,
)
from shared.waits.quota import CLUSTER_QUEUES, LOCAL_QUEUES
from shared.waits.workload import WORKLOADS

logger = logging.getLogger(__name__)

# Seconds between two checks for Kueue.
FIRST_LOOK: Final = 1.0
LONGEST_LOOK: Final = 30.0
# Seconds for which Kueue's configuration, a namespace and a missing queue are remembered.
READ_AGE: Final = 10.0
_MOST_REMEMBERED: Final = 1000
_PAGE_SIZE: Final = 20  # a Workload holds whole pod templates, up to 1 MiB of them
_NOT_INSTALLED: Final = "Kueue is not installed in this cluster"

T = TypeVar("T")
Key = tuple[str, str]
_Place = tuple[Resource, str | None, str]  # of an object
# The index of the waiting AppWrappers, by namespace and name of their LocalQueue.
WAITING: Final = "waiting"
ANY_QUEUE: Final = ("", "")
_UIDS: Final = "uids"
_CLUSTER_QUEUE: Final = "cluster queue"


class Wake(Protocol):
    """Puts an AppWrapper into the work queue."""

    def __call__(self, key: Key, /) -> None: ...


class WakeLater(Protocol):
    """Puts an AppWrapper into the work queue after so many seconds."""

    def __call__(self, key: Key, seconds: float, /) -> None: ...


def by_queue(outline: Outline) -> tuple[Key, ...]:
    """Index waiting AppWrappers for WAITING, each under its LocalQueue and under ANY_QUEUE."""
    return () if outline.waits_in is None else (ANY_QUEUE, outline.waits_in)


def _by_uid(workload: WaitingWorkload) -> tuple[Hashable, ...]:
    return (workload.uid, workload.owner_uid)


def _by_cluster_queue(queue: Queue) -> tuple[Hashable, ...]:
    return (queue.cluster_queue,)


@dataclass(frozen=True, slots=True)
class _Caches:
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


class QueueWatch:
    """Reports why queued AppWrappers wait. `appwrappers` must have the index WAITING."""

    def __init__(
        self,
        client: KubeClient,
        sources: Sources,
        appwrappers: Informer[Outline],
        wake: Wake,
        wake_later: WakeLater,
        kueue_namespaces: Sequence[str],
    ) -> None:
        self._client = client
        self._kueue_namespaces = kueue_namespaces
        self._sources = sources
        self._clock = sources.clock
        self._appwrappers = appwrappers
        self._wake = wake
        self._wake_later = wake_later
        self._woken: dict[Key, float] = {}  # when, for other words of Kueue
        self._caches: _Caches | None = None
        self._absent = False  # it is proved that no Kueue is installed
        self._unserved = asyncio.Event()
        self._again: ExponentialBackoff[None] = ExponentialBackoff(FIRST_LOOK, LONGEST_LOOK)
        self._reads: dict[_Place, tuple[float, JsonObject | KubeError]] = {}

    async def run(self) -> None:
        """Run until cancelled. Begin again when Kueue's API was away."""
        while True:
            await self._until_served()
            self._unserved.clear()
            self._caches = caches = self._make_caches()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(each.run()) for each in caches.all]
                tasks.append(group.create_task(self._wake_all_once(caches)))
                await self._unserved.wait()
                self._caches = None
                for each in tasks:
                    each.cancel()
            # Kueue's API group may be served before, or without, one of these Kinds.
            await self._clock.sleep(self._again.next_delay(None))

    @property
    def informers(self) -> tuple[Informer[WaitingWorkload] | Informer[Queue], ...]:
        """The informers of Kueue's objects; none while Kueue is not installed."""
        return () if self._caches is None else self._caches.all

    async def look(self, appwrapper: AppWrapper, remembered: Remembered) -> Queueing | None:
        """Return what Kueue's objects report about the AppWrapper; None if unknown now.

        A live read proves that a queue is missing. Raises KubeError if that read fails: an earlier
        report stays. `remembered` keeps the names of preemptors that are gone since.
        """
        if self._absent:
            return Queueing(workload=False, unmanaged=_NOT_INSTALLED)
        caches = self._caches
        if caches is None or not caches.current:
            return None
        trouble = caches.trouble(appwrapper.namespace, appwrapper.queue_name)
        if trouble and trouble.missing:
            trouble = await self._proved(caches, appwrapper, trouble, *trouble.missing)
        found = caches.workload_of(appwrapper.uid)
        named: dict[tuple[str, ...], str] = {}

        def name_of(*uids: str) -> str:
            named[uids] = caches.name_of(*uids) or remembered.preemptors.get(uids, "")
            return named[uids]

        pending = with_names(found.pending, name_of) if found else ""
        evicted = with_names(found.evicted, name_of) if found else ""
        remembered.preemptors = named
        return Queueing(
            workload=found is not None,
            trouble=trouble.text if trouble else "",
            certain=trouble is not None and trouble.by_admin,
            pending=pending,
            evicted=evicted,
            considered=found is not None and found.considered,
        )

    async def unmanaged(self, namespace: str) -> str | None:
        """Return why Kueue creates no Workloads in the namespace.

        Empty if nothing proves that, None if the settings cannot be read.
        """
        for place in self._kueue_namespaces:
            settings = await self._recent((CONFIGMAPS, place, kueue_settings.NAME))
            if not isinstance(settings, KubeError):
                break
        else:
            return None
        found = await self._recent((NAMESPACES, None, namespace))
        known = None if isinstance(found, KubeError) else found
        why = kueue_settings.unmanaged_because(settings, known)
        return why if why or known is not None else None

    async def _recent(self, place: _Place) -> JsonObject | KubeError:
        """Read an object, at most once in READ_AGE. Return the error of a failed read."""
        now = self._clock.monotonic()
        if (known := self._reads.get(place)) and now - known[0] < READ_AGE:
            return known[1]
        found: JsonObject | KubeError
        source, namespace, name = place
        try:
            found = await self._client.get(source, namespace, name)
        except KubeError as error:
            logger.debug("%s %s cannot be read: %s", source.kind, name, error)
            found = error.with_traceback(None)  # which would keep the pass in memory
        recent = {each: read for each, read in self._reads.items() if now - read[0] < READ_AGE}
        self._reads = {**recent, place: (now, found)}
        return found

    async def _proved(
        self, caches: _Caches, appwrapper: AppWrapper, trouble: QueueTrouble, kind: str, name: str
    ) -> QueueTrouble | None:
        """Read the missing queue, because the watch may lag behind; None if it exists.

        One answer serves all AppWrappers of the queue. Raises KubeError if it proves neither.
        """
        local = kind == "LocalQueue"
        cache = caches.local_queues if local else caches.cluster_queues
        place = cache.resource, appwrapper.namespace if local else None, name
        found = await self._recent(place)
        if isinstance(found, NotFound):
            return trouble
        del self._reads[place]
        if isinstance(found, KubeError):
            raise found
        cache.assume(found)  # this wakes the AppWrapper again
        return None

    async def _until_served(self) -> None:
        backoff: ExponentialBackoff[None] = ExponentialBackoff(FIRST_LOOK, LONGEST_LOOK)
        while True:
            try:
                group = await self._client.get_path(f"/apis/{WORKLOADS.group}")
                if any(each["version"] == WORKLOADS.version for each in group["versions"]):
                    self._absent = False
                    return
                logger.warning("the installed Kueue does not serve %s", WORKLOADS.version)
            except NotFound:
                if not self._absent:
                    logger.info(
                        "Kueue is not installed, so nothing starts an AppWrapper of a queue"
                    )
                    self._absent = True
                    self._wake_all()
            except KubeError as error:
                logger.warning("the API of Kueue cannot be read: %s", error)
            await self._clock.sleep(backoff.next_delay(None))

    def _make_caches(self) -> _Caches:
        caches = _Caches(
            self._informer(WORKLOADS, waiting_workload, {_UIDS: _by_uid}),
            self._informer(LOCAL_QUEUES, local_queue, {_CLUSTER_QUEUE: _by_cluster_queue}),
            self._informer(CLUSTER_QUEUES, cluster_queue, {}),
        )
        caches.workloads.add_handler(self._workload_changed)
        caches.local_queues.add_handler(self._local_queue_changed)
        caches.cluster_queues.add_handler(self._cluster_queue_changed)
        return caches

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

    async def _wake_all_once(self, caches: _Caches) -> None:
        """Wake all waiting AppWrappers after the first lists: a missing queue causes no event."""
        for each in caches.all:
            await each.wait_synced()
        self._again.forget(None)
        self._wake_all()

    def _wake_all(self) -> None:
        self._wake_waiting([ANY_QUEUE])

    def _is_news(self, change: Change[WaitingWorkload] | Change[Queue]) -> bool:
        """True if a message may change; False before all lists, which wake all AppWrappers."""
        return change.old != change.new and self._caches is not None and self._caches.whole

    def _wake_waiting(self, queues: Iterable[Key]) -> None:
        for queue in queues:
            for key, _ in self._appwrappers.indexed(WAITING, queue):
                self._wake(key)

    def _workload_changed(self, change: Change[WaitingWorkload]) -> None:
        if not self._is_news(change):
            return
        owners = {
            (each.namespace, each.owner_name)
            for each in (change.old, change.new)
            if each is not None and each.owner_kind == "AppWrapper"
        }
        for key in owners:
            known = self._appwrappers.get(*key)
            if known is None or known.waits_in is None:
                continue
            if change.old is None or change.new is None:
                self._wake(key)
            else:
                self._wake_for_words(key)

    def _wake_for_words(self, key: Key) -> None:
        """Wake it, but not before other words may be written: Kueue may change them at any rate."""
        now, interval = self._clock.monotonic(), REASON_INTERVAL.total_seconds()
        last = self._woken.get(key)
        if last is not None and now - last < interval:
            self._wake_later(key, last + interval - now)
            return
        if len(self._woken) >= _MOST_REMEMBERED:
            self._woken = {each: at for each, at in self._woken.items() if now - at < interval}
        self._woken[key] = now
        self._wake(key)

    def _local_queue_changed(self, change: Change[Queue]) -> None:
        if self._is_news(change):
            self._wake_waiting([change.key])

    def _cluster_queue_changed(self, change: Change[Queue]) -> None:
        caches = self._caches
        if caches is None or not self._is_news(change):
            return
        name = change.key[1]
        self._wake_waiting(key for key, _ in caches.local_queues.indexed(_CLUSTER_QUEUE, name))
