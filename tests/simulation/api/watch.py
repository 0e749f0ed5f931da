"""Streams of changes: one object's events in order, with bookmarks, and 410 after compaction."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from shared.api.objects import JsonObject, Resource
from shared.kube.client import Unreachable, WatchEvent, WatchEventType
from shared.kube.responses import api_error
from tests.simulation.api.http import check_served, metadata_of
from tests.simulation.api.selectors import Predicate, selector
from tests.simulation.api.store import Store, Write, WriteType, copied
from tests.simulation.loop import VirtualLoop

Lag = Callable[[Write], float]
"""Return how long an event of this write needs to its watcher, in seconds."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a watch is about."""

    resource: Resource
    namespace: str | None
    selects: Predicate | None
    metadata_only: bool

    @classmethod
    def of(
        cls,
        resource: Resource,
        namespace: str | None,
        labels: str,
        fields: str,
        *,
        metadata_only: bool,
    ) -> "Selection":
        return cls(resource, namespace, selector(labels, fields), metadata_only)

    def type_of(self, write: Write) -> WriteType | None:
        """Return the event's type: an object that begins to match is ADDED; None for no event."""
        if self.namespace is not None and write.item["metadata"]["namespace"] != self.namespace:
            return None
        if self.selects is None:
            return write.type
        now = write.type != "DELETED" and self.selects(write.item)
        before = write.old is not None and self.selects(write.old)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None


class Stream:
    """One open watch. Events arrive in the order of their writes, whatever their lags."""

    def __init__(self, loop: VirtualLoop, store: Store, selection: Selection, lag: Lag) -> None:
        self._loop = loop
        self._store = store
        self._selection = selection
        self._lag = lag
        self._on_the_way: deque[tuple[WriteType, Write]] = deque()
        self._arrived: deque[tuple[WriteType, Write]] = deque()
        self._last_arrival = 0.0
        self._waiter: asyncio.Future[None] | None = None
        self._is_over = False
        self._error: Exception | None = None
        self._bookmark: int | None = None
        self.is_silent = False

    def see(self, write: Write) -> None:
        """Send the event of a write, if the watch is about its object."""
        kind = self._selection.type_of(write)
        if kind is None or self._is_over:
            return
        self._on_the_way.append((kind, write))
        self._last_arrival = max(self._last_arrival, self._loop.now + self._lag(write))
        self._loop.outside(self._last_arrival - self._loop.now, self._arrive)

    def end(self, error: Exception | None = None) -> None:
        """End the stream, with what has arrived so far; `error`: its connection breaks."""
        if self._is_over:
            return
        self._is_over = True
        self._error = error
        if error is None and not self._on_the_way and not self.is_silent:
            self._bookmark = self._store.revision
        self._notify()

    async def next(self) -> WatchEvent | None:
        """Return the next event, after the last one a bookmark; None at the end.

        Raise Unreachable if the connection breaks.
        """
        while not self._arrived and not self._is_over:
            self._waiter = self._loop.create_future()
            await self._waiter
        if self._arrived:
            kind, write = self._arrived.popleft()
            return WatchEvent(WatchEventType(kind), self._shown(kind, write))
        if self._error is not None:
            raise self._error
        if self._bookmark is None:
            return None
        version = {"resourceVersion": str(self._bookmark)}
        self._bookmark = None
        return WatchEvent(WatchEventType.BOOKMARK, {"metadata": version})

    def _shown(self, kind: WriteType, write: Write) -> JsonObject:
        """Return a copy for this watcher only. An object that left the selection shows its last
        matching state, with the version of the change.
        """
        item = write.item
        if kind == "DELETED" and write.type != "DELETED" and write.old is not None:
            version = {"resourceVersion": item["metadata"]["resourceVersion"]}
            item = {**write.old, "metadata": {**write.old["metadata"], **version}}
        return metadata_of(item) if self._selection.metadata_only else copied(item)

    def _arrive(self) -> None:
        event = self._on_the_way.popleft()
        if not self._is_over and not self.is_silent:
            self._arrived.append(event)
            self._notify()

    def _notify(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Watches:
    """All open watches of one API server."""

    def __init__(self, loop: VirtualLoop, store: Store) -> None:
        self._loop = loop
        self._store = store
        self._open: dict[Resource, dict[Stream, None]] = {}
        store.listeners.append(self._see)

    def open(self, selection: Selection, version: str, lag: Lag) -> Stream:
        """Begin a stream after `version`. Raise Gone if the history before is compacted."""
        resource, after = selection.resource, int(version)
        check_served(resource)
        if after < self._store.compacted[resource]:
            raise api_error(410, "Expired", f"too old resource version: {version}")
        stream = Stream(self._loop, self._store, selection, lag)
        history = self._store.history[resource]
        place = len(history)
        while place and history[place - 1].revision > after:
            place -= 1
        for write in history[place:]:
            stream.see(write)
        self._open.setdefault(resource, {})[stream] = None
        return stream

    def close(self, selection: Selection, stream: Stream) -> None:
        stream.end()
        self._open[selection.resource].pop(stream, None)

    def cut(self) -> None:
        """Break the connections of all watches."""
        for streams in self._open.values():
            for stream in streams:
                stream.end(Unreachable("the watch was cut"))

    def _see(self, write: Write) -> None:
        for stream in self._open.get(write.resource, ()):
            stream.see(write)
