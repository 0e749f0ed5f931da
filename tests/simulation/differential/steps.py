"""The steps of a script that runs against the simulated and against a real API server.

A step names objects, never UIDs or versions: each server has its own. `Session` knows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from shared.api.objects import JsonObject, JsonValue, Resource
from shared.kube import requests
from shared.kube.requests import PatchType, Propagation, Request
from tests.simulation.api.patches import merge

Which = Literal["current", "old", "wrong", "none"]
"""Which UID or version a step sends: the last seen one, the first seen one, an invented one."""

FIELD_MANAGER: Final = "differential"
_WRONG: Final[Mapping[str, str]] = {"uid": "00000000-0000-4000-8000-000000000000"}


@dataclass(slots=True)
class Session:
    """The state of one run of a script: its namespace, and the objects that the server returned."""

    namespace: str
    versions: dict[tuple[Resource, str], list[JsonObject]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """The generated names, by the name that the script gives to them."""

    def note(self, resource: Resource, name: str, item: JsonObject) -> None:
        """Remember an object that the server returned."""
        self.versions.setdefault((resource, name), []).append(item)
        self.names[name] = item["metadata"]["name"]

    def seen(self, resource: Resource, name: str, which: Which = "current") -> JsonObject:
        """Return the last object of that name, or the first; a bare one if none was seen."""
        found = self.versions.get((resource, name))
        if not found:
            bare = {"apiVersion": resource.gvk.api_version, "kind": resource.kind}
            return {**bare, "metadata": {"name": name}}
        return found[0 if which == "old" else -1]

    def preconditions(
        self, resource: Resource, name: str, uid: Which, version: Which
    ) -> dict[str, str]:
        """Return the metadata that a request must hold to be about the named UID and version."""
        found: dict[str, str] = {}
        for part, which in (("uid", uid), ("resourceVersion", version)):
            known = self.seen(resource, name, which)["metadata"].get(part)
            value = _WRONG.get(part) if which == "wrong" else known
            if which != "none" and value is not None:
                found[part] = value
        return found


@dataclass(frozen=True, slots=True)
class Step:
    """A request about the object `name`."""

    resource: Resource
    name: str

    def request(self, session: Session) -> Request:
        raise NotImplementedError

    def actual_name(self, session: Session) -> str:
        return session.names.get(self.name, self.name)


@dataclass(frozen=True, slots=True)
class Create(Step):
    """`generated`: the server makes the name; `owner`: a ConfigMap of the script."""

    body: JsonObject
    generated: bool = False
    namespace: str = ""
    owner: tuple[Resource, str] | None = None

    def request(self, session: Session) -> Request:
        named = (
            {"generateName": f"{self.resource.plural}-"} if self.generated else {"name": self.name}
        )
        metadata: JsonObject = {**named, **self.body.get("metadata", {})}
        if self.owner is not None:
            metadata["ownerReferences"] = [_reference(session.seen(*self.owner))]
        gvk = self.resource.gvk
        body = {"apiVersion": gvk.api_version, "kind": gvk.kind, **self.body, "metadata": metadata}
        return requests.create(self.resource, self.namespace or session.namespace, body)


@dataclass(frozen=True, slots=True)
class Read(Step):
    metadata_only: bool = False

    def request(self, session: Session) -> Request:
        name = self.actual_name(session)
        return requests.get(
            self.resource, session.namespace, name, metadata_only=self.metadata_only
        )


@dataclass(frozen=True, slots=True)
class Put(Step):
    """PUT the last seen object after a change, which is a merge patch."""

    change: JsonObject
    uid: Which = "current"
    version: Which = "current"
    sub: str = ""

    def request(self, session: Session) -> Request:
        body = merge(session.seen(self.resource, self.name), self.change)
        metadata = {
            key: value
            for key, value in body["metadata"].items()
            if key not in ("uid", "resourceVersion", "managedFields")
        }
        found = session.preconditions(self.resource, self.name, self.uid, self.version)
        body["metadata"] = {**metadata, **found}
        name = self.actual_name(session)
        return requests.update(self.resource, session.namespace, name, body, subresource=self.sub)


@dataclass(frozen=True, slots=True)
class Patch(Step):
    """PATCH. A merge patch and an apply may hold preconditions."""

    type: PatchType
    body: JsonValue
    uid: Which = "none"
    version: Which = "none"
    sub: str = ""

    def request(self, session: Session) -> Request:
        body, applies = self.body, self.type is PatchType.APPLY
        if self.type is not PatchType.JSON:
            found = session.preconditions(self.resource, self.name, self.uid, self.version)
            named = {"name": self.actual_name(session)} if applies else {}
            gvk = self.resource.gvk
            kind = {"apiVersion": gvk.api_version, "kind": gvk.kind} if applies else {}
            metadata = {**named, **found, **body.get("metadata", {})}
            body = {**kind, **body, **({"metadata": metadata} if metadata else {})}
        return requests.patch(
            self.resource,
            session.namespace,
            self.actual_name(session),
            body,
            self.type,
            subresource=self.sub,
            field_manager=FIELD_MANAGER,
            force=applies,
        )


@dataclass(frozen=True, slots=True)
class Delete(Step):
    propagation: Propagation = Propagation.BACKGROUND
    uid: Which = "none"
    grace: int | None = None

    def request(self, session: Session) -> Request:
        found = session.preconditions(self.resource, self.name, self.uid, "none")
        return requests.delete(
            self.resource,
            session.namespace,
            self.actual_name(session),
            uid=found.get("uid"),
            propagation=self.propagation,
            grace_period_seconds=self.grace,
        )


@dataclass(frozen=True, slots=True)
class Search:
    """List by selectors."""

    resource: Resource
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False


@dataclass(frozen=True, slots=True)
class Gone:
    """Wait until the garbage collector has removed an object, and the finalizers of another."""

    resource: Resource
    name: str


@dataclass(frozen=True, slots=True)
class Watch:
    """Watch until the script's end, from the version before its first step or from now."""

    resource: Resource
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    from_start: bool = False


AnyStep = Step | Search | Gone | Watch


def _reference(owner: JsonObject) -> JsonObject:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
