"""The garbage collector deletes objects whose owners are gone, and waits for dependents.

It works on one object at a time, from what its watches have reported, as the real one does: an
object whose owner is being deleted in the foreground is deleted before its owner.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final, Literal

from shared.api.objects import JsonObject, Resource, is_being_deleted
from tests.simulation import lags
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.objects import Key, title, without_finalizer
from tests.simulation.api.deletion import FOREGROUND, ORPHAN
from tests.simulation.api.kinds import BY_OBJECT, SERVED
from tests.simulation.api.store import Write

Owner = Literal["solid", "dangling", "waiting"]
_NOT_COLLECTED: Final = frozenset({"events", "nodes", "namespaces"})


class GarbageCollector(Actor):
    """Collects in all namespaces. It deletes by UID."""

    DELAYS = lags.GARBAGE
    ODDS = lags.ODDS

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource.plural in _NOT_COLLECTED:
            return
        key = Key.of(write.resource, write.item)
        if write.type == "DELETED":
            yield from (dependent for dependent, _ in self._dependents(key.uid))
            yield from self._owners(write.item)
            return
        waits = is_being_deleted(write.item) and _finalizers(write.item) & {FOREGROUND, ORPHAN}
        if waits and (write.old is None or write.old["metadata"] != write.item["metadata"]):
            yield key
        if waits and _deletes_dependents(write.item):
            yield from (dependent for dependent, _ in self._dependents(key.uid))
        if write.type == "ADDED" and not is_being_deleted(write.item):
            references = write.item["metadata"].get("ownerReferences") or ()
            if any(self._state(key, each) != "solid" for each in references):
                yield key

    def place(self, key: Hashable) -> str:
        assert isinstance(key, Key)
        item = key.read(self.store)
        return f"{self.name} sees {key.name if item is None else title(item)}"

    def react(self, key: Hashable) -> None:
        assert isinstance(key, Key)
        item = key.read(self.store)
        if item is None:
            return
        if is_being_deleted(item) and ORPHAN in _finalizers(item):
            self._orphan(key)
        elif _deletes_dependents(item):
            self._wait_for_dependents(key)
        elif not is_being_deleted(item):
            self._collect(key, item)

    def _collect(self, key: Key, item: JsonObject) -> None:
        """Delete the object if no owner is left, or if an owner waits for it."""
        references = item["metadata"].get("ownerReferences") or ()
        states = {each["uid"]: self._state(key, each) for each in references}
        if not states:
            return
        if "solid" in states.values():
            gone = {uid for uid, state in states.items() if state != "solid"}
            key.change(self.store, lambda held: _drop_owners(held, gone))
        elif "waiting" in states.values() and any(self._dependents(key.uid)):
            key.delete(self.store, propagation="Foreground")
        else:
            finalizers = _finalizers(item)
            kept = "Orphan" if ORPHAN in finalizers else "Foreground"
            honours = finalizers & {ORPHAN, FOREGROUND}
            key.delete(self.store, propagation=kept if honours else "Background")

    def _wait_for_dependents(self, key: Key) -> None:
        blocking = [
            dependent
            for dependent, reference in self._dependents(key.uid)
            if reference.get("blockOwnerDeletion")
        ]
        if not blocking:
            key.change(self.store, without_finalizer(FOREGROUND))
        for dependent in blocking:
            self.later(dependent)

    def _orphan(self, key: Key) -> None:
        for dependent, _ in list(self._dependents(key.uid)):
            dependent.change(self.store, lambda held: _drop_owners(held, {key.uid}))
        key.change(self.store, without_finalizer(ORPHAN))

    def _state(self, key: Key, reference: JsonObject) -> Owner:
        """Return whether an owner exists, is gone, or waits for its dependents' deletion."""
        resource = BY_OBJECT.get((reference["apiVersion"], reference["kind"]))
        if resource is None:
            return "solid"  # the real collector cannot read an unknown Kind, and does nothing
        namespace = key.namespace if resource.namespaced else None
        owner = Key(resource, namespace, reference["name"], reference["uid"]).read(self.store)
        if owner is None:
            return "dangling"
        return "waiting" if _deletes_dependents(owner) else "solid"

    def _dependents(self, uid: str) -> Iterator[tuple[Key, JsonObject]]:
        for resource in SERVED:
            if resource.plural not in _NOT_COLLECTED:
                yield from self._owned_by(uid, resource)

    def _owned_by(self, uid: str, resource: Resource) -> Iterator[tuple[Key, JsonObject]]:
        for item in self.store.items(resource):
            for reference in item["metadata"].get("ownerReferences") or ():
                if reference["uid"] == uid:
                    yield Key.of(resource, item), reference

    def _owners(self, item: JsonObject) -> Iterator[Key]:
        """Yield the owners of a deleted object: its deletion may complete the owners' deletion."""
        for reference in item["metadata"].get("ownerReferences") or ():
            resource = BY_OBJECT.get((reference["apiVersion"], reference["kind"]))
            if resource is not None:
                namespace = item["metadata"].get("namespace") if resource.namespaced else None
                yield Key(resource, namespace, reference["name"], reference["uid"])


def _finalizers(item: JsonObject) -> frozenset[str]:
    return frozenset(item["metadata"].get("finalizers") or ())


def _deletes_dependents(item: JsonObject) -> bool:
    return is_being_deleted(item) and FOREGROUND in _finalizers(item)


def _drop_owners(item: JsonObject, uids: set[str]) -> None:
    metadata = item["metadata"]
    kept = [each for each in metadata.get("ownerReferences") or () if each["uid"] not in uids]
    metadata["ownerReferences"] = kept
