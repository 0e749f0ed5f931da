"""Checks an object and sets its defaults, as the API server does before it stores the object."""

from typing import Final

import orjson

from shared.api.objects import NAMESPACES, PODS, JsonObject, Resource
from shared.kube.responses import ApiError, api_error
from tests.simulation.api.kinds import SERVED

# The metadata that a writer may change; empty values are not stored.
_WRITABLE: Final = ("labels", "annotations", "finalizers", "ownerReferences")
_NO_SPEC: Final = ("metadata", "status")

KEEP_STATUS: Final = (PODS, NAMESPACES)
"""The Kinds whose status `set_defaults` replaces at creation."""


def copied(item: JsonObject) -> JsonObject:
    """Return a deep copy."""
    copy: JsonObject = orjson.loads(orjson.dumps(item))
    return copy


def set_defaults(resource: Resource, item: JsonObject) -> None:
    """Set the fields that the API server sets at creation, as far as an actor reads them."""
    if resource == PODS:
        item["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
        item["spec"].setdefault("terminationGracePeriodSeconds", 30)
    elif resource == NAMESPACES:
        item["status"] = {"phase": "Active"}
        item.setdefault("spec", {})["finalizers"] = ["kubernetes"]


def replaced(resource: Resource, old: JsonObject, body: JsonObject) -> JsonObject:
    """Return what a PUT of `body` stores. Raise Invalid."""
    asked, known = body.get("metadata") or {}, old["metadata"]
    served = SERVED[resource]
    if served.custom and not asked.get("resourceVersion"):
        why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        raise error(422, "Invalid", resource, known["name"], why)
    new = copied(body)
    new["apiVersion"], new["kind"] = old["apiVersion"], old["kind"]
    meta = {key: value for key, value in known.items() if key not in _WRITABLE}
    meta.update((part, new["metadata"][part]) for part in _WRITABLE if asked.get(part))
    new["metadata"] = meta
    if served.status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    return new


def check_finalizers(resource: Resource, new: JsonObject, old: JsonObject) -> None:
    """Raise Invalid if an object that is being deleted gets another finalizer."""
    meta, known = new["metadata"], old["metadata"]
    added = set(meta.get("finalizers") or ()) - set(known.get("finalizers") or ())
    if "deletionTimestamp" in known and added:
        why = "metadata.finalizers: Forbidden: no new finalizers while it is being deleted"
        raise error(422, "Invalid", resource, known["name"], why)


def drop_empty(meta: JsonObject) -> None:
    """Remove empty lists and objects, which the API server does not store."""
    for part in _WRITABLE:
        if part in meta and not meta[part]:
            del meta[part]


def spec_of(item: JsonObject) -> JsonObject:
    """Return the part of an object whose changes `generation` counts."""
    return {key: value for key, value in item.items() if key not in _NO_SPEC}


def error(status: int, reason: str, resource: Resource, name: str, why: str) -> ApiError:
    """Return an error about one object, as the API server words it."""
    group = f".{resource.group}" if resource.group else ""
    return api_error(status, reason, f'{resource.plural}{group} "{name}" {why}')


def check_preconditions(resource: Resource, asked: JsonObject, old: JsonObject) -> None:
    """Raise Conflict if the object is not the one, or not in the version, that was asked for."""
    meta = old["metadata"]
    for field, what in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if asked.get(field) and asked[field] != meta[field]:
            why = f"Precondition failed: {what}: {asked[field]}, not {meta[field]}"
            raise error(409, "Conflict", resource, meta["name"], why)
