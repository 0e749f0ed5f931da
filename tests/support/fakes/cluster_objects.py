"""A KubeClient over objects in memory, for commands that read many kinds and write some.

It merges server-side applies as far as the commands use them. Integration tests check that the real
API server answers in the same way.
"""

import copy
import json
from collections.abc import AsyncGenerator, Callable, Iterable
from datetime import timedelta
from typing import Any

from shared.api.objects import JsonObject, Resource
from shared.kube.client import (
    ApiError,
    Conflict,
    Forbidden,
    KubeClient,
    ListPage,
    NotFound,
    WatchEvent,
)
from shared.kube.requests import Request

Place = tuple[str, str, str]  # Kind, namespace or "", name


class ClusterObjects(KubeClient):
    """`forbidden`: (verb, plural) that the user may not use; `writes`: all writes, in order.

    `failing`: (verb, plural) that the API server answers with an error.

    `on_delete` is called with each deleted object, in place of finalizers and garbage collection;
    `before_apply` when a write has arrived but is not yet done.
    """

    def __init__(
        self,
        objects: Iterable[JsonObject],
        *,
        forbidden: Iterable[tuple[str, str]] = (),
        failing: Iterable[tuple[str, str]] = (),
        has_kueue: bool = True,
    ) -> None:
        self.objects: dict[Place, JsonObject] = {}
        self.forbidden = {*forbidden}
        self.failing = {*failing}
        self._has_kueue = has_kueue
        self.writes: list[str] = []
        self.on_delete: Callable[[JsonObject], None] = lambda item: None
        self.before_apply: Callable[[], None] = lambda: None
        for each in objects:
            self.put(each)

    def put(self, item: JsonObject) -> None:
        stored = copy.deepcopy(item)
        meta = stored["metadata"]
        meta.setdefault("uid", f"uid-of-{meta['name']}")
        version = int(meta.get("resourceVersion", 0)) + 1
        meta["resourceVersion"] = str(version)
        self.objects[item["kind"], meta.get("namespace", ""), meta["name"]] = stored

    def one(self, kind: str, name: str, namespace: str = "") -> JsonObject:
        return self.objects[kind, namespace, name]

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        path, _, _ = request.target.partition("?")
        body = json.loads(request.body) if request.body else {}
        if path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            allowed = (asked["verb"], asked["resource"]) not in self.forbidden
            return {"status": {"allowed": allowed}}
        place = self._place(path)
        match request.method:
            case "GET":
                self._permit("get", path)
                return copy.deepcopy(self._stored(place))
            case "DELETE":
                self._permit("delete", path)
                self._delete(place, body)
                return {}
            case "PATCH":
                self._permit("patch", path)
                return self._apply(place, body)
        raise AssertionError(f"{request.method} {request.target} is not played here")

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[ListPage, None]:
        if resource.group == "kueue.x-k8s.io" and not self._has_kueue:
            raise NotFound(404, "NotFound", "404 page not found")
        self._permit("list", resource.path(namespace))
        found = [
            copy.deepcopy(item)
            for (kind, where, _), item in self.objects.items()
            if kind == resource.kind and namespace in (None, where)
        ]
        # An endless page is two of one object each.
        for item in found:
            yield ListPage([item], "7")
        if not found:
            yield ListPage([], "7")

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        seconds: float = 450.0,
    ) -> AsyncGenerator[WatchEvent, None]:
        raise AssertionError("nothing is watched here")

    def chunks(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("no log is read here")

    def server_ahead(self) -> timedelta | None:
        return None

    async def close(self) -> None:
        pass

    def _place(self, path: str) -> Place:
        parts = path.strip("/").split("/")
        rest = parts[3:] if parts[0] == "apis" else parts[2:]
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        return _KINDS[rest[0]], namespace, rest[1]

    def _permit(self, verb: str, path: str) -> None:
        parts = path.strip("/").split("/")
        if (verb, _plural(parts)) in self.failing:
            raise ApiError(503, "ServiceUnavailable", "etcd has no leader")
        for plural in parts:
            if plural in _KINDS and (verb, plural) in self.forbidden and plural == _plural(parts):
                where = "at the cluster scope"
                message = f'{plural} is forbidden: User "alice" cannot {verb} {plural} {where}'
                raise Forbidden(403, "Forbidden", message)

    def _stored(self, place: Place) -> JsonObject:
        if place not in self.objects:
            raise NotFound(404, "NotFound", f'{place[0]} "{place[2]}" not found')
        return self.objects[place]

    def _delete(self, place: Place, body: JsonObject) -> None:
        stored = self._stored(place)
        if body["preconditions"]["uid"] != stored["metadata"]["uid"]:
            raise Conflict(409, "Conflict", "the UID in the precondition does not match")
        self.writes.append(f"delete {place[0]} {place[2]}")
        del self.objects[place]
        self.on_delete(stored)

    def _apply(self, place: Place, body: JsonObject) -> JsonObject:
        self.before_apply()
        known = self.objects.get(place)
        asked = body["metadata"].get("resourceVersion")
        if asked is not None and (known is None or asked != known["metadata"]["resourceVersion"]):
            raise Conflict(409, "Conflict", "the object has been modified")
        self.writes.append(f"apply {place[0]} {place[2]}")
        self.put(_merged(known, body) if known else body)
        return self.objects[place]


_KINDS = {
    "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
    "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
    "namespaces": "Namespace",
    "nodes": "Node",
    "pods": "Pod",
    "configmaps": "ConfigMap",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "resourcequotas": "ResourceQuota",
    "clusterqueues": "ClusterQueue",
    "localqueues": "LocalQueue",
    "resourceflavors": "ResourceFlavor",
    "workloads": "Workload",
    "appwrappers": "AppWrapper",
    "rolebindings": "RoleBinding",
    "clusterroles": "ClusterRole",
    "clusterrolebindings": "ClusterRoleBinding",
}


def _plural(parts: list[str]) -> str:
    """Returns the resource of a path, of a collection or of one object."""
    rest = parts[3:] if parts[0] == "apis" else parts[2:]
    return rest[2] if rest[0] == "namespaces" and len(rest) > 2 else rest[0]


def _merged(known: JsonObject, body: JsonObject) -> JsonObject:
    """Merges maps key by key, replaces lists as a whole."""
    merged = dict(known)
    for key, value in body.items():
        both = isinstance(value, dict) and isinstance(known.get(key), dict)
        merged[key] = _merged(known[key], value) if both else value
    return merged
