"""Keeps a cache of one resource in step with the API server: list, then watch, for ever.

Handlers hear of every change after the cache knows it. They run inside the event loop and must be
quick: an informer's handler adds keys to a queue and nothing more.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Hashable, Mapping
from contextlib import aclosing
from typing import Generic, TypeVar

from shared.api.objects import JsonObject, Resource
from shared.kube.client import (
    ApiError,
    Gone,
    KubeClient,
    KubeError,
    ListPage,
    TooManyRequests,
    Unreachable,
    WatchEvent,
    WatchEventType,
)
from shared.kube.object_cache import Change, IndexFunction, ObjectCache, ObjectKey, identity
from shared.process.clock import Clock, ExponentialBackoff

logger = logging.getLogger(__name__)

T = TypeVar("T")
Handler = Callable[[Change[T]], None]

# Seconds. The longest is short, because what waits behind it is everything the controller does.
FIRST_DELAY = 0.1
LONGEST_DELAY = 10.0
# A watch that lasted this long is taken for a good one, even if nothing happened meanwhile.
GOOD_WATCH = 5.0
# For so long a watch may say nothing, give or take a tenth: a silent connection is one that nothing
# happens on, or one whose other end is gone. With what the client grants it beyond, 44 s at most.
WATCH_SECONDS = 35.0


# Failures in a row, within seconds: an API server that starts, or is busy, says no to much. Of a
# Kind whose objects it cannot convert it says 429 for ever (1.37: its own cache never gets ready).
_REFUSALS = 5


class Informer(Generic[T]):
    """A cache of the objects of `resource`, projected by `transform`, which must be total.

    `namespace` None is all namespaces. A role that names one object allows no more than the
    `field_selector` `metadata.name=NAME`. `metadata_only` asks for PartialObjectMetadata. `indexes`
    are functions from a projection to the values it is to be found by. `page_size` is how many
    objects of a list are in memory at once, whole. `watch_seconds` is how long each watch lasts:
    one that leads nowhere is noticed at its end. `failed` hears of each request that failed.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        *,
        transform: Callable[[JsonObject], T],
        clock: Clock,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        indexes: Mapping[str, IndexFunction[T]] | None = None,
        page_size: int = 500,
        watch_seconds: float = WATCH_SECONDS,
        failed: Callable[[KubeError], None] = lambda _: None,
    ) -> None:
        self.resource = resource
        self._failed = failed
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._metadata_only = metadata_only
        self._page_size = page_size
        self._watch_seconds = watch_seconds
        self._cache: ObjectCache[T] = ObjectCache(transform, indexes)
        self._handlers: list[Handler[T]] = []
        self._synced = asyncio.Event()
        self._must_list = True
        self._in_doubt = False
        self._backoff: ExponentialBackoff[None] = ExponentialBackoff(FIRST_DELAY, LONGEST_DELAY)
        self._last_error: KubeError | None = None

    def add_handler(self, handler: Handler[T]) -> None:
        """To be called before `run`: a handler added later misses what is known already."""
        self._handlers.append(handler)

    @property
    def synced(self) -> bool:
        """Whether a whole list has been seen; it stays true, even while the server is away."""
        return self._synced.is_set()

    @property
    def failing(self) -> bool:
        """Its last request led nowhere; the Kind may be served no longer, or be forbidden."""
        return self._backoff.failures(None) > 0

    @property
    def refused(self) -> bool:
        """The server says no, again and again: what is known is as old as the last good watch."""
        answered = isinstance(self._last_error, ApiError)
        often = self._backoff.failures(None) >= _REFUSALS
        return often and answered and not isinstance(self._last_error, Gone)

    def problem(self) -> str | None:
        """Why there is no whole list yet, for readiness; None once one has been seen."""
        if self.synced:
            return None
        why = "" if self._last_error is None else f": {self._last_error}"
        return f"the {self.resource.plural} are not known yet{why}"

    async def wait_synced(self) -> None:
        """Returns once a whole list has been seen."""
        await self._synced.wait()

    def get(self, namespace: str, name: str) -> T | None:
        """What is known of an object ("" as namespace for cluster-wide kinds). None: nothing.

        That is no proof that it does not exist.
        """
        return self._cache.get((namespace, name))

    def items(self) -> list[tuple[ObjectKey, T]]:
        """All objects known."""
        return list(self._cache)

    def indexed(self, index: str, value: Hashable) -> list[tuple[ObjectKey, T]]:
        """The objects that the index of that name files under `value`."""
        return self._cache.indexed(index, value)

    def __len__(self) -> int:
        return len(self._cache)

    def assume(self, written: JsonObject, *, silent: bool = False) -> None:
        """Lays an object that a write of ours just returned over the cache.

        The watch brings it again, and is then ignored. Handlers hear of it, because the answer to
        a PATCH may hold changes of others too; `silent` leaves them out, for the answer to an
        update that carried the resourceVersion its decision was made on.
        """
        changes = self._cache.lay_over(written)
        if not silent:
            self._tell(changes)

    async def run(self) -> None:
        """Keeps the cache in step until cancelled. Raises only what `transform` or a handler does.

        Never hot: every repetition without progress waits, with growing, jittered delays.
        """
        while True:
            try:
                if self._in_doubt and not self._must_list:
                    await self._compare_history()
                if self._must_list:
                    await self._list()
                if await self._watch():
                    continue
                delay = self._next_delay()
            except KubeError as error:
                delay = self._delay_after(error)
            await self._clock.sleep(delay)

    def _next_delay(self) -> float:
        # From half of it to the whole: replicas and informers do not come back all at once.
        return self._backoff.next_delay(None) * random.uniform(0.5, 1.0)

    def _delay_after(self, error: KubeError) -> float:
        self._last_error = error
        delay = self._next_delay()
        if isinstance(error, ApiError):
            delay = max(delay, error.retry_after or 0.0)
        if isinstance(error, TooManyRequests):
            pass  # nothing was wrong with what was asked for
        elif isinstance(error, ApiError):
            # 410 above all, but also any other answer: what was asked for makes no sense to the
            # server, so begin anew.
            self._must_list = True
        else:
            # No answer: the version is still good, unless the server that comes back was restored
            # from a backup.
            self._in_doubt = True
        if isinstance(error, Gone) and self._backoff.failures(None) == 1:
            logger.info("%s: the watch is too old, listing again", self.resource.plural)
        else:
            logger.warning("%s: %s; again in %.1f s", self.resource.plural, error, delay)
        self._failed(error)
        return delay

    async def _compare_history(self) -> None:
        """Whether the server still stands at or after the version we have seen.

        A watch from a version that is yet to come gets no error but silence (seen with Kubernetes
        1.36), so this must be asked for: one object's metadata tells.
        """
        pages = self._client.pages(
            self.resource,
            self._namespace,
            field_selector=self._field_selector,
            metadata_only=True,
            page_size=1,
        )
        async with aclosing(pages):
            page = await anext(pages)
        if int(page.resource_version) < self._cache.seen_version:
            logger.warning("%s: the server is back at an older version", self.resource.plural)
            self._must_list = True
        self._in_doubt = False

    async def _list(self) -> None:
        listed: set[ObjectKey] = set()
        version = 0
        pages = self._client.pages(
            self.resource,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            metadata_only=self._metadata_only,
            page_size=self._page_size,
        )
        async with aclosing(pages):
            async for page in pages:
                if not version:
                    version = int(page.resource_version)
                    self._cache.begin_list(version)
                self._take_in_page(page, listed)
                del page  # before the next one comes
        self._tell(self._cache.end_of_list(listed, version))
        self._must_list = self._in_doubt = False
        self._last_error = None
        self._synced.set()

    def _take_in_page(self, page: ListPage, listed: set[ObjectKey]) -> None:
        for raw in page.items:
            self._name_kind(raw)
            listed.add(identity(raw)[0])
            self._tell(self._cache.put(raw))

    def _name_kind(self, raw: JsonObject) -> None:
        """Items of a list lack what the list says once; a projection should not need to know."""
        if not self._metadata_only:
            raw.setdefault("apiVersion", self.resource.gvk.api_version)
            raw.setdefault("kind", self.resource.kind)

    async def _watch(self) -> bool:
        """One watch to its end. Whether it was good for anything."""
        started, began_at = self._clock.monotonic(), self._cache.seen_version
        progress = False
        events = self._client.watch(
            self.resource,
            self._namespace,
            resource_version=str(self._cache.seen_version),
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            metadata_only=self._metadata_only,
            seconds=self._watch_seconds,
        )
        async with aclosing(events):
            async for event in events:
                self._take_in(event)
                del event  # it may be large, and the next may be long in coming
                # What was known before is none, however often it is sent.
                if not progress and self._cache.seen_version > began_at:
                    progress = True
                    self._backoff.forget(None)
        if self._clock.monotonic() - started >= GOOD_WATCH:
            progress = True
            self._backoff.forget(None)
        return progress

    def _take_in(self, event: WatchEvent) -> None:
        version = _version_of(event)
        match event.type:
            case WatchEventType.ADDED | WatchEventType.MODIFIED:
                self._tell(self._cache.put(event.object))
            case WatchEventType.DELETED:
                self._tell(self._cache.remove(event.object))
            case WatchEventType.BOOKMARK:
                pass
        self._cache.advance(version)

    def _tell(self, changes: list[Change[T]]) -> None:
        for change in changes:
            for handler in self._handlers:
                handler(change)


def _version_of(event: WatchEvent) -> int:
    """Raises Unreachable: what has none is no object, so the stream is broken, not the informer."""
    metadata = event.object.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not (isinstance(version, str) and version.isdecimal()):
        raise Unreachable(f"a watch event {event.type.value} is about nothing that has a version")
    return int(version)
