"""Report why AppWrappers wait in their queues, from the caches of Kueue's objects.

An AppWrapper is woken only if a change affects the message of its condition.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from controller.facts.appwrapper_outline import Outline
from controller.gather.kueue_caches import CLUSTER_QUEUE, KueueCaches, KueueObjects
from controller.memory.memory import Remembered
from controller.phases.snapshot import Queueing
from controller.phases.waiting import REASON_INTERVAL
from shared.api.appwrapper import AppWrapper
from shared.api.objects import CONFIGMAPS, NAMESPACES, JsonObject, Resource
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.clock import Clock
from shared.waits import kueue_settings
from shared.waits.queueing import Queue, QueueTrouble, WaitingWorkload, with_names

logger = logging.getLogger(__name__)

# Seconds for which Kueue's configuration, a namespace and a missing queue are remembered.
READ_AGE: Final = 10.0
# Seconds until the next look while the API server refuses a watch of Kueue's objects.
REFUSED_AGE: Final = 30.0
_MOST_REMEMBERED: Final = 1000
_NOT_INSTALLED: Final = "Kueue is not installed in this cluster"

Key = tuple[str, str]
_Place = tuple[Resource, str | None, str]  # of an object
# The index of the waiting AppWrappers, by namespace and name of their LocalQueue.
WAITING: Final = "waiting"
ANY_QUEUE: Final = ("", "")


def by_queue(outline: Outline) -> tuple[Key, ...]:
    """Index waiting AppWrappers for WAITING, each under its LocalQueue and under ANY_QUEUE."""
    return () if outline.waits_in is None else (ANY_QUEUE, outline.waits_in)


class QueueWatch:
    """Reports why queued AppWrappers wait. `appwrappers` must have the index WAITING.

    `wake` puts an AppWrapper into the work queue, `wake_later` does so after so many seconds.
    """

    def __init__(
        self,
        kueue: KueueCaches,
        client: KubeClient,
        clock: Clock,
        appwrappers: Informer[Outline],
        wake: Callable[[Key], None],
        wake_later: Callable[[Key, float], None],
        kueue_namespaces: Sequence[str],
    ) -> None:
        self._kueue = kueue
        self._client = client
        self._kueue_namespaces = kueue_namespaces
        self._clock = clock
        self._appwrappers = appwrappers
        self._wake = wake
        self._wake_later = wake_later
        self._woken: dict[Key, float] = {}  # when, for other words of Kueue
        self._reads: dict[_Place, tuple[float, JsonObject | KubeError]] = {}
        kueue.follow(self)

    async def read(self, appwrapper: AppWrapper, remembered: Remembered) -> Queueing | None:
        """Return what Kueue's objects report about the AppWrapper; None if unknown now.

        A live read proves that a queue is missing. Raises KubeError if that read fails: an earlier
        report stays. `remembered` keeps the names of preemptors that are gone since.
        """
        if self._kueue.absent:
            return Queueing(workload=False, unmanaged=_NOT_INSTALLED)
        caches = self._kueue.objects
        if caches is None or not caches.whole:
            return None
        if not caches.current:
            # Its watch reports no change that it missed meanwhile, if this cache knows it already.
            self._wake_later((appwrapper.namespace, appwrapper.name), REFUSED_AGE)
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
            deactivated=found is not None and found.held,
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
        self,
        caches: KueueObjects,
        appwrapper: AppWrapper,
        trouble: QueueTrouble,
        kind: str,
        name: str,
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

    def all_changed(self) -> None:
        """Wake all waiting AppWrappers: everything is listed, or there is no Kueue."""
        self._wake_waiting([ANY_QUEUE])

    def _is_news(self, change: Change[WaitingWorkload] | Change[Queue]) -> bool:
        """True if a message may change; False before all lists, which wake all AppWrappers."""
        objects = self._kueue.objects
        return change.old != change.new and objects is not None and objects.whole

    def _wake_waiting(self, queues: Iterable[Key]) -> None:
        for queue in queues:
            for key, _ in self._appwrappers.indexed(WAITING, queue):
                self._wake(key)

    def workload_changed(self, change: Change[WaitingWorkload]) -> None:
        """Wake its AppWrapper if it waits."""
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

    def local_queue_changed(self, change: Change[Queue]) -> None:
        """Wake the AppWrappers that wait in it."""
        if self._is_news(change):
            self._wake_waiting([change.key])

    def cluster_queue_changed(self, change: Change[Queue]) -> None:
        """Wake the AppWrappers that wait in its LocalQueues."""
        objects = self._kueue.objects
        if objects is None or not self._is_news(change):
            return
        found = objects.local_queues.indexed(CLUSTER_QUEUE, change.key[1])
        self._wake_waiting(key for key, _ in found)
