"""Keep a cache of one resource in step with the API server: list, then watch, repeatedly.

The cache applies a change before its handlers receive it. Handlers run inside the event loop and
must be quick: an informer's handler adds keys to a queue and nothing more.
"""

import asyncio
import logging
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
    NotFound,
    TooManyRequests,
    Unreachable,
    WatchEvent,
    WatchEventType,
)
from shared.kube.object_cache import Change, IndexFunction, ObjectCache, ObjectKey, identity
from shared.process.backoff import ExponentialBackoff
from shared.process.sources import Sources

logger = logging.getLogger(__name__)

T = TypeVar("T")
Handler = Callable[[Change[T]], None]

# Seconds between two tries. The longest is short: the whole controller waits for the cache.
FIRST_DELAY = 0.1
LONGEST_DELAY = 10.0
# Seconds after which a watch counts as successful, even without an event.
GOOD_WATCH = 5.0
# Seconds of one watch, plus or minus a tenth. A silent watch has no changes to report, or its
# connection is dead: only its end shows which. With the client's overtime it lasts at most 44 s.
WATCH_SECONDS = 35.0


# So many failures in a row, within seconds, are a refusal: a starting or busy API server rejects a
# few requests. If the server cannot convert a Kind's objects, it answers 429 permanently (1.37: its
# own cache never becomes ready).
_REFUSALS = 5


class Informer(Generic[T]):
    """Cache the objects of `resource`, as `transform` projects them; `transform` must be total.

    If `namespace` is None, read all namespaces. A role that names one object allows only the
    `field_selector` `metadata.name=NAME`. `metadata_only` requests PartialObjectMetadata. `indexes`
    are functions from a projection to the values to find it by. `page_size` is how many whole
    objects of a list are in memory at once. `watch_seconds` is the length of each watch: a dead
    connection is detected at its end. `failed` receives the error of each failed request.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        *,
        transform: Callable[[JsonObject], T],
        sources: Sources,
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
        self._clock = sources.clock
        self._random = sources.random
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
        self._progressed = sources.clock.monotonic()

    def add_handler(self, handler: Handler[T]) -> None:
        """Add a handler before `run` or `follow`: a later one misses the objects in the cache."""
        self._handlers.append(handler)

    async def follow(self) -> None:
        """Report all cached objects to the handlers, in one step, and every change until cancelled.

        For a user that begins while `run` keeps the cache in another task, after `wait_synced`.
        """
        self._call_handlers([Change(key, None, value) for key, value in self._cache])
        await asyncio.Event().wait()

    def drop_handlers(self) -> None:
        """Forget all handlers: their user has ended."""
        self._handlers.clear()

    @property
    def synced(self) -> bool:
        """True if the cache has read a whole list once, also while the server is away later."""
        return self._synced.is_set()

    @property
    def failing(self) -> bool:
        """True if the last request failed: the Kind may be forbidden, or not served any more."""
        return self._backoff.failures(None) > 0

    @property
    def refused(self) -> bool:
        """True if the server rejects requests repeatedly: the cache is of the last good watch."""
        answered = isinstance(self._last_error, ApiError)
        often = self._backoff.failures(None) >= _REFUSALS
        return often and answered and not isinstance(self._last_error, Gone)

    @property
    def unserved(self) -> bool:
        """True if the server answered last that it does not serve the resource."""
        return isinstance(self._last_error, NotFound)

    @property
    def progressed(self) -> float:
        """The monotonic time of the last event, bookmark, whole list or end of a good watch.

        Before the first: of the creation of this informer.
        """
        return self._progressed

    def problem(self) -> str | None:
        """Return why there is no whole list yet, for readiness; None after the first."""
        if self.synced:
            return None
        why = "" if self._last_error is None else f": {self._last_error}"
        return f"the {self.resource.plural} are not known yet{why}"

    async def wait_synced(self) -> None:
        """Wait for the first whole list."""
        await self._synced.wait()

    def get(self, namespace: str, name: str) -> T | None:
        """Return an object from the cache (`namespace` is "" for cluster-wide Kinds).

        None does not prove that the object does not exist.
        """
        return self._cache.get((namespace, name))

    def items(self) -> list[tuple[ObjectKey, T]]:
        return list(self._cache)

    def indexed(self, index: str, value: Hashable) -> list[tuple[ObjectKey, T]]:
        """Return the objects that the index of that name files under `value`."""
        return self._cache.indexed(index, value)

    def __len__(self) -> int:
        return len(self._cache)

    def assume(self, written: JsonObject, *, silent: bool = False) -> None:
        """Put into the cache an object that the API server returned for this process's write.

        The watch delivers the same version later, and the cache ignores it. Handlers receive the
        change, because the answer to a PATCH may hold other clients' changes too. `silent` skips
        them: for an update with the resourceVersion on which its decision was based.
        """
        changes = self._cache.lay_over(written)
        if not silent:
            self._call_handlers(changes)

    async def run(self) -> None:
        """Keep the cache in step until cancelled. Raise only errors of `transform` or of a handler.

        Every repetition without progress waits first, with growing, jittered delays.
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
        # A random part of the delay, so that replicas and informers do not all retry at once.
        return self._backoff.next_delay(None) * self._random.uniform(0.5, 1.0)

    def _delay_after(self, error: KubeError) -> float:
        self._last_error = error
        delay = self._next_delay()
        if isinstance(error, ApiError):
            delay = max(delay, error.retry_after or 0.0)
        if isinstance(error, TooManyRequests):
            pass  # the request was right
        elif isinstance(error, ApiError):
            # After a 410, or any other error from the server, its state is unclear: list again.
            self._must_list = True
        else:
            # No answer: the version is still valid, unless the server was restored from a backup.
            self._in_doubt = True
        if isinstance(error, Gone) and self._backoff.failures(None) == 1:
            logger.info("%s: the watch is too old, listing again", self.resource.plural)
        else:
            logger.warning("%s: %s; again in %.1f s", self.resource.plural, error, delay)
        self._failed(error)
        return delay

    async def _compare_history(self) -> None:
        """List again if the server's version is older than the version that this cache has seen.

        A watch from a future version gets no error and no event (seen with Kubernetes 1.36).
        Listing the metadata of one object shows the server's version.
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
                del page  # before the next page arrives
        self._call_handlers(self._cache.end_of_list(listed, version))
        self._must_list = self._in_doubt = False
        self._last_error = None
        self._progressed = self._clock.monotonic()
        self._synced.set()

    def _take_in_page(self, page: ListPage, listed: set[ObjectKey]) -> None:
        for raw in page.items:
            self._name_kind(raw)
            listed.add(identity(raw)[0])
            self._call_handlers(self._cache.put(raw))

    def _name_kind(self, raw: JsonObject) -> None:
        """Add apiVersion and kind, which only the list itself holds, for `transform`."""
        if not self._metadata_only:
            raw.setdefault("apiVersion", self.resource.gvk.api_version)
            raw.setdefault("kind", self.resource.kind)

    async def _watch(self) -> bool:
        """Watch once, to the end. Return True if the watch made progress."""
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
                del event  # it may be large, and the next may take long
                # An event with a known version is no progress, however often it arrives.
                if not progress and self._cache.seen_version > began_at:
                    progress = True
                    self._backoff.forget(None)
        if self._clock.monotonic() - started >= GOOD_WATCH:
            progress = True
            self._progressed = self._clock.monotonic()
            self._backoff.forget(None)
        return progress

    def _take_in(self, event: WatchEvent) -> None:
        version = _version_of(event)
        match event.type:
            case WatchEventType.ADDED | WatchEventType.MODIFIED:
                self._call_handlers(self._cache.put(event.object))
            case WatchEventType.DELETED:
                self._call_handlers(self._cache.remove(event.object))
            case WatchEventType.BOOKMARK:
                pass
        self._cache.advance(version)
        self._progressed = self._clock.monotonic()

    def _call_handlers(self, changes: list[Change[T]]) -> None:
        for change in changes:
            for handler in self._handlers:
                handler(change)


def _version_of(event: WatchEvent) -> int:
    """Return an event's version. Raise Unreachable if it has none: then the stream is broken."""
    metadata = event.object.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not (isinstance(version, str) and version.isdecimal()):
        raise Unreachable(f"a watch event {event.type.value} is about nothing that has a version")
    return int(version)
