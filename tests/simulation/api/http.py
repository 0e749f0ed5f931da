"""Answer requests as the API server does: a request in, the decoded answer or an ApiError out."""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qs, unquote

import orjson

from shared.api.objects import EVENTS, JsonObject, JsonValue, Resource
from shared.kube.requests import PatchType, Request
from shared.kube.responses import ApiError, api_error
from tests.simulation.api import patches
from tests.simulation.api.kinds import BY_PATH, SERVED
from tests.simulation.api.selectors import selector
from tests.simulation.api.store import Store, copied, key_of

_PATH: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<sub>status))?"
)
_DISCOVERY: Final = re.compile(r"/api(?P<core>)/v1|/apis/(?P<group>[^/]+)(?:/(?P<version>[^/]+))?")
# The end of a generated name: the store's number, or random characters that the product adds.
_GENERATED: Final = re.compile(r"(?<=-)(?:\d{5}|[b-df-hj-np-tv-xz2456789]{5})(?=-|$)")


def answer(store: Store, request: Request) -> JsonObject:
    """Carry out one request. The answer is the caller's own copy. Raise ApiError."""
    path, _, query = request.target.partition("?")
    path = unquote(path)
    found = _DISCOVERY.fullmatch(path)
    if found is not None:
        return _discovery(
            found["group"] or "", "v1" if found["group"] is None else found["version"]
        )
    resource, namespace, name, sub = _addressed(path)
    body = orjson.loads(request.body) if request.body else {}
    match request.method:
        case "GET":
            item = store.get(resource, namespace, name)
            if item is None:
                raise not_found(resource, name)
            if "PartialObjectMetadata" in request.headers.get("Accept", ""):
                return metadata_of(item)
        case "POST":
            item = store.create(resource, namespace, body)
        case "PUT":
            item = store.update(resource, namespace, name, body, sub)
        case "DELETE":
            preconditions = body.get("preconditions") or {}
            item = store.delete(
                resource,
                namespace,
                name,
                uid=preconditions.get("uid"),
                version=preconditions.get("resourceVersion"),
                propagation=body.get("propagationPolicy"),
                grace=body.get("gracePeriodSeconds"),
            )
        case _:
            kind = PatchType(request.headers["Content-Type"])
            options = parse_qs(query)
            if kind is PatchType.APPLY and options.get("force") != ["true"]:
                raise NotImplementedError("the product forces every server-side apply")
            item = _patched(store, resource, (namespace, name), sub, body, kind)
    return copied(item)


def listed(
    store: Store,
    resource: Resource,
    namespace: str | None,
    *,
    labels: str = "",
    fields: str = "",
    metadata_only: bool = False,
) -> list[JsonObject]:
    """Return copies of the selected objects by namespace and name, as a list's items."""
    check_served(resource)
    selects = selector(labels, fields)
    found = store.items(resource, namespace)
    chosen = sorted((item for item in found if selects is None or selects(item)), key=key_of)
    if metadata_only:
        return [metadata_of(item) for item in chosen]
    items = [copied(item) for item in chosen]
    if not SERVED[resource].custom:
        for item in items:  # only the list itself holds them
            del item["apiVersion"], item["kind"]
    return items


def metadata_of(item: JsonObject) -> JsonObject:
    """Return a copy of the object's metadata as PartialObjectMetadata."""
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": copied(item["metadata"]),
    }


def place_of(request: Request) -> str:
    """Return `METHOD plural/name/sub` for the names of picks: equal in different schedules.

    The numbers of generated names become `#`. It is empty for Events and for discovery.
    """
    path = unquote(request.target.partition("?")[0])
    if _DISCOVERY.fullmatch(path) is not None:
        return ""
    resource, _, name, sub = _addressed(path)
    if resource == EVENTS:
        return ""
    if request.method == "POST" and request.body:
        meta = orjson.loads(request.body).get("metadata") or {}
        name = meta.get("name") or f"{meta.get('generateName') or ''}#####"
    name = _GENERATED.sub("#####", name)
    return f"{request.method} {resource.plural}/{name}" + (f"/{sub}" if sub else "")


def check_served(resource: Resource) -> None:
    """Raise NotFound for a resource that the server does not have."""
    if resource not in SERVED:
        raise _unknown()


def not_found(resource: Resource, name: str) -> ApiError:
    """Return the error of a missing object."""
    return api_error(404, "NotFound", f'{resource.plural} "{name}" not found')


@lru_cache(maxsize=4096)
def _addressed(path: str) -> tuple[Resource, str | None, str, str]:
    """Return the resource, the namespace, the name and the subresource of a path."""
    found = _PATH.fullmatch(path)
    key = (found["group"] or "", found["version"], found["plural"]) if found else ("", "", "")
    resource = BY_PATH.get(key)
    if found is None or resource is None:
        raise _unknown()
    return resource, found["namespace"], found["name"] or "", found["sub"] or ""


def _patched(
    store: Store,
    resource: Resource,
    key: tuple[str | None, str],
    sub: str,
    body: JsonValue,
    kind: PatchType,
) -> JsonObject:
    old = store.get(resource, *key)
    if old is None:
        if kind is not PatchType.APPLY or sub:
            raise not_found(resource, key[1])
        if (body.get("metadata") or {}).get("uid"):
            raise api_error(409, "Conflict", "uid mismatch: no existing object was found")
        return store.create(resource, key[0], body)
    match kind:
        case PatchType.MERGE:
            new = patches.merge(old, body)
        case PatchType.JSON:
            new = patches.json_patch(old, body)
        case PatchType.APPLY:
            new = patches.applied(old, body)
    return store.update(resource, *key, _with_own_uid(resource, old, new, sub), sub)


def _with_own_uid(resource: Resource, old: JsonObject, new: JsonObject, sub: str) -> JsonObject:
    """Return the patched object with the UID that it keeps. Raise Invalid for another.

    In a PATCH the UID is no precondition, as in a PUT: only the resourceVersion is.
    """
    meta, known = new["metadata"], old["metadata"]
    if meta.get("uid") == known["uid"] or meta.get("resourceVersion") != known["resourceVersion"]:
        return new
    if not (sub and SERVED[resource].custom):
        raise api_error(422, "Invalid", "metadata.uid: Invalid value: field is immutable")
    return {**new, "metadata": {**meta, "uid": known["uid"]}}


def _discovery(group: str, version: str | None) -> JsonObject:
    served = [each for each in SERVED if each.group == group]
    versions = list(dict.fromkeys(each.version for each in served))
    if not served or (version is not None and version not in versions):
        raise _unknown()
    if version is None:
        named = [{"groupVersion": f"{group}/{each}", "version": each} for each in versions]
        return {"kind": "APIGroup", "versions": named, "preferredVersion": named[0]}
    entries = [
        {"name": each.plural, "kind": each.kind, "namespaced": each.namespaced}
        for each in served
        if each.version == version
    ]
    return {"kind": "APIResourceList", "resources": entries}


def _unknown() -> ApiError:
    return api_error(404, "NotFound", "the server could not find the requested resource")
