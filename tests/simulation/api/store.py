"""The state of the simulated API server, with etcd's rules: every operation is atomic.

Stored objects are never changed in place, so a reader may keep one, but must not change it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from shared.api.objects import NAMESPACES, JsonObject, Resource
from tests.simulation.api import deletion, rules
from tests.simulation.api.kinds import SERVED
from tests.simulation.api.rules import copied as copied
from tests.simulation.loop import stamp

WriteType = Literal["ADDED", "MODIFIED", "DELETED"]
ObjectKey = tuple[str, str]
"""Namespace ("" for cluster-wide Kinds) and name."""

_LONGEST_PREFIX: Final = 58
# More objects than a recorded run made: the UIDs and names of its own objects are others.
_BEFORE: Final = 1000


def key_of(item: JsonObject) -> ObjectKey:
    """Return the namespace and name of an object."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


@dataclass(frozen=True, slots=True)
class Write:
    """One change of one object. `item` of DELETED is the last state, with a new revision."""

    resource: Resource
    type: WriteType
    item: JsonObject
    old: JsonObject | None
    revision: int
    at: float


class Store:
    """Objects by resource, and the history of their changes. `now` returns the seconds since EPOCH.

    Listeners are called after each write, in the order in which they were added.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.revision = 1
        self.history: dict[Resource, list[Write]] = {each: [] for each in SERVED}
        self.compacted: dict[Resource, int] = dict.fromkeys(SERVED, 0)
        self.listeners: list[Callable[[Write], None]] = []
        self._now = now
        self._tables: dict[Resource, dict[ObjectKey, JsonObject]] = {each: {} for each in SERVED}
        self._names: dict[tuple[Resource, str], int] = {}
        self._uids: dict[Resource, int] = dict.fromkeys(SERVED, 0)

    def get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject | None:
        return self._tables[resource].get((namespace or "", name))

    def items(self, resource: Resource, namespace: str | None = None) -> list[JsonObject]:
        """Return the objects of one namespace or of all, oldest first."""
        found = self._tables[resource]
        if namespace is None:
            return list(found.values())
        return [item for (there, _), item in found.items() if there == namespace]

    def load(self, resource: Resource, item: JsonObject) -> None:
        """Put a recorded object in as it is. That is no write."""
        self._tables[resource][key_of(item)] = item
        self.revision = max(self.revision, int(item["metadata"]["resourceVersion"]))

    def restore(self, resource: Resource, item: JsonObject) -> None:
        """Put a recorded object in, as `load` does, and let the listeners see it as a new one."""
        self.load(resource, item)
        self._uids[resource] += _BEFORE
        if prefix := item["metadata"].get("generateName"):
            self._names[resource, prefix] = _BEFORE
        write = Write(resource, "ADDED", item, None, self.revision, self._now())
        for listener in self.listeners:
            listener(write)

    def compact(self, resource: Resource) -> None:
        """Forget the history: a watch from an older revision gets 410."""
        self.compacted[resource] = self.revision
        self.history[resource].clear()

    def create(self, resource: Resource, namespace: str | None, body: JsonObject) -> JsonObject:
        """Store a new object. Raise AlreadyExists, Forbidden (ending namespace), NotFound."""
        item, served = copied(body), SERVED[resource]
        meta = item.setdefault("metadata", {})
        meta.pop("resourceVersion", None)
        if resource.namespaced:
            meta["namespace"] = namespace
            self._check_namespace(namespace or "")
        else:
            meta.pop("namespace", None)
        if not meta.get("name"):
            meta["name"] = self._generated_name(resource, meta.get("generateName") or "")
        if key_of(item) in self._tables[resource]:
            raise rules.error(409, "AlreadyExists", resource, meta["name"], "already exists")
        item["apiVersion"], item["kind"] = resource.gvk.api_version, resource.kind
        self._uids[resource] += 1
        meta["uid"] = f"{resource.kind.lower()}-{self._uids[resource]:04d}"
        meta["creationTimestamp"] = stamp(self._now())
        for part in ("deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
            meta.pop(part, None)
        if served.generation:
            meta["generation"] = 1
        rules.drop_empty(meta)
        if served.status and resource not in rules.KEEP_STATUS:
            item.pop("status", None)
        rules.set_defaults(resource, item)
        return self._commit(resource, "ADDED", item, None)

    def update(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> JsonObject:
        """Replace the object, or its `subresource` ("status"), as a PUT does.

        Raise NotFound, Conflict, Invalid.
        """
        asked = body.get("metadata") or {}
        old = self.get(resource, namespace, name)
        if old is None:
            raise rules.error(404, "NotFound", resource, name, "not found")
        rules.check_preconditions(resource, asked, old)
        if subresource == "status":
            new = copied(old)
            new.pop("status", None)
            if body.get("status") is not None:
                new["status"] = copied(body["status"])
        else:
            new = rules.replaced(resource, old, body)
        return self._write(resource, new, old)

    def change(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        function: Callable[[JsonObject], None],
        *,
        uid: str | None = None,
    ) -> JsonObject | None:
        """Read, change and write atomically, as an actor. Return None if the object is gone."""
        old = self.get(resource, namespace, name)
        if old is None or (uid is not None and old["metadata"]["uid"] != uid):
            return None
        new = copied(old)
        function(new)
        rules.drop_empty(new["metadata"])
        return self._write(resource, new, old)

    def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        version: str | None = None,
        propagation: str | None = None,
        grace: int | None = None,
    ) -> JsonObject:
        """Begin or continue the deletion of an object. Raise NotFound, Conflict."""
        old = self.get(resource, namespace, name)
        if old is None:
            raise rules.error(404, "NotFound", resource, name, "not found")
        asked = {"uid": uid, "resourceVersion": version}
        rules.check_preconditions(resource, asked, old)
        item = copied(old)
        remove = deletion.begin(resource, item, self._now(), propagation, grace)
        if item != old:
            item = self._commit(resource, "MODIFIED", item, old)
        return self._remove(resource, item) if remove else item

    def _check_namespace(self, name: str) -> None:
        namespace = self.get(NAMESPACES, None, name)
        if namespace is None:
            raise rules.error(404, "NotFound", NAMESPACES, name, "not found")
        if "deletionTimestamp" in namespace["metadata"]:
            why = f"unable to create new content in namespace {name} because it is being terminated"
            raise rules.error(403, "Forbidden", NAMESPACES, name, why)

    def _generated_name(self, resource: Resource, prefix: str) -> str:
        """Return a name that no object ever had: random ones differ from run to run."""
        prefix = prefix[:_LONGEST_PREFIX]
        number = self._names.get((resource, prefix), 0) + 1
        self._names[resource, prefix] = number
        return f"{prefix}{number:05d}"

    def _write(self, resource: Resource, new: JsonObject, old: JsonObject) -> JsonObject:
        """Store a change; do nothing if there is none; complete a deletion if it is over."""
        if new == old:
            return old
        rules.check_finalizers(resource, new, old)
        if "generation" in old["metadata"] and rules.spec_of(new) != rules.spec_of(old):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        if deletion.is_over(resource, old, new):
            self._remove(resource, old)
            return new
        return self._commit(resource, "MODIFIED", new, old)

    def _remove(self, resource: Resource, item: JsonObject) -> JsonObject:
        last = {**item, "metadata": dict(item["metadata"])}
        return self._commit(resource, "DELETED", last, item)

    def _commit(
        self, resource: Resource, kind: WriteType, item: JsonObject, old: JsonObject | None
    ) -> JsonObject:
        self.revision += 1
        item["metadata"]["resourceVersion"] = str(self.revision)
        if kind == "DELETED":
            del self._tables[resource][key_of(item)]
        else:
            self._tables[resource][key_of(item)] = item
        write = Write(resource, kind, item, old, self.revision, self._now())
        self.history[resource].append(write)
        for listener in self.listeners:
            listener(write)
        return item
