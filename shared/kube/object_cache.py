"""What an informer knows: projections of objects, in the order the API server made them. Pure.

Kubernetes 1.35 and later document that the resourceVersions of one resource may be compared as
numbers; so "newer" here means a greater number, and a late event never undoes what is known.
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
    """One object appeared (`old` None), changed, or is gone (`new` None).

    An object that took the name of another is two changes: the other gone, then this one there.
    `last` is the last state of an object that a DELETED event told of, as decoded JSON; None when
    its absence was found by listing again. Under a label selector "gone" may also mean that the
    label is; `last` then lacks it.
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
    """Every method that changes it returns what changed, for the handlers to hear.

    `transform` must be total: what it raises ends the informer, because an object that is there but
    not seen is the one thing that must not happen.
    """

    def __init__(
        self,
        transform: Callable[[JsonObject], T],
        indexes: Mapping[str, IndexFunction[T]] | None = None,
    ) -> None:
        self._transform = transform
        self._index_functions = dict(indexes or {})
        self._entries: dict[ObjectKey, _Entry[T]] = {}
        # Index name -> value -> keys. A dict for the keys keeps their order stable.
        self._indexes: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {
            name: {} for name in self._index_functions
        }
        # Every change of the resource up to this version has been seen.
        self.seen_version = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[ObjectKey, T]]:
        """All objects, safe against changes meanwhile."""
        return iter([(key, entry.value) for key, entry in self._entries.items()])

    def get(self, key: ObjectKey) -> T | None:
        """None: not known. That is no proof that it does not exist."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def indexed(self, index: str, value: Hashable) -> list[tuple[ObjectKey, T]]:
        """The objects for which the index function of that name yields `value`."""
        return [(key, self._entries[key].value) for key in self._indexes[index].get(value, ())]

    def put(self, raw: JsonObject) -> list[Change[T]]:
        """An object as a list or a watch event told of it; older than what is known: ignored.

        A change that leaves its projection equal (a heartbeat, say) is none.
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
            # The indexes hold already.
            self._entries[key] = new
            return []
        self._set(key, new)
        return [Change(key, entry.value, value)]

    def remove(self, raw: JsonObject) -> list[Change[T]]:
        """A DELETED event. Of another UID than the one known, it is old news."""
        key, uid, _ = identity(raw)
        entry = self._entries.get(key)
        if entry is None or entry.uid != uid:
            return []
        self._drop(key)
        return [Change(key, entry.value, None, raw)]

    def lay_over(self, raw: JsonObject) -> list[Change[T]]:
        """An object that the API server just returned to a write of ours.

        Ignored when the watch has come as far: it then knows this and more, perhaps that the
        object is gone already, and must not see a ghost.
        """
        if identity(raw)[2] <= self.seen_version:
            return []
        return self.put(raw)

    def advance(self, version: int) -> None:
        """Everything up to `version` has been seen."""
        self.seen_version = max(self.seen_version, version)

    def begin_list(self, version: int) -> None:
        """The first page of a list at `version` has come.

        A list is never older than what was seen, save when etcd was restored from a backup. Then
        the versions known belong to another history: whatever the list says is newer.
        """
        if version < self.seen_version:
            self._entries = {
                key: _Entry(entry.uid, 0, entry.value) for key, entry in self._entries.items()
            }
            self.seen_version = 0

    def end_of_list(self, listed: set[ObjectKey], version: int) -> list[Change[T]]:
        """A list at `version` is complete: what it lacks is gone, unless it is newer than that."""
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
    """Key, UID and version of an object."""
    metadata = raw["metadata"]
    key = (metadata.get("namespace", ""), metadata["name"])
    return key, metadata["uid"], int(metadata["resourceVersion"])
