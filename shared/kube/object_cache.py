"""Hold an informer's projections of objects, in the order in which the API server made them. Pure.

Kubernetes 1.35 and later document that the resourceVersions of one resource can be compared as
numbers. "Newer" here means a greater number, so a late event never undoes a newer state.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.api.objects import JsonObject

T = TypeVar("T")

# Namespace ("" for cluster-wide kinds) and name.
ObjectKey = tuple[str, str]
IndexFunction = Callable[[T], Iterable[Hashable]]


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object appeared (`old` is None), changed, or is gone (`new` is None).

    If a new object took the name of another, there are two changes: the old one gone, the new one
    added. `last` is the object's last state from a DELETED event, as decoded JSON; None if a new
    list showed its absence. With a label selector, "gone" may also mean that the object lost its
    label. `last` does not show which: the API server sends the state before that change, with the
    label. Only a live read proves that the object is gone.
    """

    key: ObjectKey
    old: T | None
    new: T | None
    last: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    uid: str
    version: int
    value: T


class ObjectCache(Generic[T]):
    """Cache objects. Every method that changes the cache returns the changes, for the handlers.

    `transform` must be total: its exception ends the informer, because a cache must never miss an
    existing object.
    """

    def __init__(
        self,
        transform: Callable[[JsonObject], T],
        indexes: Mapping[str, IndexFunction[T]] | None = None,
    ) -> None:
        self._transform = transform
        self._index_functions = dict(indexes or {})
        self._entries: dict[ObjectKey, _Entry[T]] = {}
        # Index name -> value -> keys. A dict of keys keeps their order stable.
        self._indexes: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {
            name: {} for name in self._index_functions
        }
        # The cache has seen every change of the resource up to this version.
        self.seen_version = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[ObjectKey, T]]:
        """Iterate over all objects; the cache may change meanwhile."""
        return iter([(key, entry.value) for key, entry in self._entries.items()])

    def get(self, key: ObjectKey) -> T | None:
        """Return an object; None does not prove that it does not exist."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def indexed(self, index: str, value: Hashable) -> list[tuple[ObjectKey, T]]:
        """Return the objects for which the index function of that name yields `value`."""
        return [(key, self._entries[key].value) for key in self._indexes[index].get(value, ())]

    def put(self, raw: JsonObject) -> list[Change[T]]:
        """Apply an object from a list or a watch event, unless the cached one is as new.

        Return no change if the projection stays equal (a heartbeat).
        """
        key, uid, version = identity(raw)
        entry = self._entries.get(key)
        if entry is not None and version <= entry.version:
            return []
        value = self._transform(raw)
        new = _Entry(uid, version, value)
        if entry is None:
            self._set(key, new)
            return [Change(key, None, value)]
        if entry.uid != uid:
            self._set(key, new)
            return [Change(key, entry.value, None), Change(key, None, value)]
        if entry.value == value:
            # The indexes stay as they are.
            self._entries[key] = new
            return []
        self._set(key, new)
        return [Change(key, entry.value, value)]

    def remove(self, raw: JsonObject) -> list[Change[T]]:
        """Apply a DELETED event; ignore it if the cached object has another UID."""
        key, uid, _ = identity(raw)
        entry = self._entries.get(key)
        if entry is None or entry.uid != uid:
            return []
        self._drop(key)
        return [Change(key, entry.value, None, raw)]

    def lay_over(self, raw: JsonObject) -> list[Change[T]]:
        """Apply an object that the API server returned for this process's write.

        Ignore it if the watch has already seen its version: the object may since have changed or
        gone.
        """
        if identity(raw)[2] <= self.seen_version:
            return []
        return self.put(raw)

    def advance(self, version: int) -> None:
        """Record that the cache has seen every change up to `version`."""
        self.seen_version = max(self.seen_version, version)

    def begin_list(self, version: int) -> None:
        """Prepare for a list at `version`, whose first page has arrived.

        A list is older than `seen_version` only if etcd was restored from a backup. The cached
        versions then belong to another history, and everything in the list is newer.
        """
        if version < self.seen_version:
            self._entries = {
                key: _Entry(entry.uid, 0, entry.value) for key, entry in self._entries.items()
            }
            self.seen_version = 0

    def end_of_list(self, listed: set[ObjectKey], version: int) -> list[Change[T]]:
        """Remove the objects that a complete list at `version` lacks, unless they are newer."""
        gone = [
            (key, entry)
            for key, entry in self._entries.items()
            if key not in listed and entry.version <= version
        ]
        for key, _ in gone:
            self._drop(key)
        self.advance(version)
        return [Change(key, entry.value, None) for key, entry in gone]

    def _set(self, key: ObjectKey, entry: _Entry[T]) -> None:
        if key in self._entries:
            self._drop(key)
        self._entries[key] = entry
        for name, function in self._index_functions.items():
            for value in set(function(entry.value)):
                self._indexes[name].setdefault(value, {})[key] = None

    def _drop(self, key: ObjectKey) -> None:
        entry = self._entries.pop(key)
        for name, function in self._index_functions.items():
            index = self._indexes[name]
            for value in set(function(entry.value)):
                keys = index[value]
                keys.pop(key, None)
                if not keys:
                    del index[value]


def identity(raw: JsonObject) -> tuple[ObjectKey, str, int]:
    """Return an object's key, UID and version."""
    metadata = raw["metadata"]
    key = (metadata.get("namespace", ""), metadata["name"])
    return key, metadata["uid"], int(metadata["resourceVersion"])
