"""A KubeClient that serves a test's objects, and forbids what the test chooses."""

import re
from collections.abc import AsyncGenerator, Collection
from datetime import timedelta
from typing import Any

import orjson

from shared.api.objects import JsonObject, Resource
from shared.kube.client import (
    ApiError,
    Forbidden,
    Gone,
    KubeClient,
    ListPage,
    NotFound,
    WatchEvent,
)
from shared.kube.requests import Request

_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[^/]+)(?:/(?P<name>[^/?]+))?$"
)


class ServedObjects(KubeClient):
    """`objects` by plural. The API server does not serve the Kind of a plural without an entry.

    `paths` are answers to requests for no object. `sent` records the requests. `failing`: plurals
    that the API server answers with an error.
    """

    def __init__(
        self,
        objects: dict[str, list[JsonObject]],
        *,
        forbidden: Collection[str] = (),
        failing: Collection[str] = (),
        paths: dict[str, JsonObject] | None = None,
    ) -> None:
        self.objects = objects
        self.forbidden = set(forbidden)
        self.failing = set(failing)
        self.paths = paths or {}
        self.sent: list[str] = []
        self.events: list[WatchEvent] = []

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        """Returns one object, or a path's answer."""
        target = request.target
        self.sent.append(target)
        if target in self.paths:
            return self.paths[target]
        found = _PATH.fullmatch(target)
        if found is None or found["name"] is None:
            raise NotFound(404, "Unknown", "")
        namespace = found["namespace"]
        plural, name = found["plural"], found["name"]
        if plural == "namespaces" or (namespace and plural == namespace):
            namespace = None
        self._check(plural)
        for each in self.objects.get(plural, ()):
            if _is_in(each, namespace) and each["metadata"]["name"] == name:
                return each
        raise NotFound(404, "NotFound" if plural in self.objects else "Unknown", "")

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
        """Yields the namespace's objects that the selectors choose, each on its own page."""
        self.sent.append(f"list {resource.plural} {namespace} {label_selector}{field_selector}")
        self._check(resource.plural if namespace else f"{resource.plural} everywhere")
        if resource.plural not in self.objects:
            raise NotFound(404, "Unknown", "")
        for each in self.objects[resource.plural]:
            if _is_in(each, namespace) and _is_chosen(each, label_selector, field_selector):
                yield ListPage([each], "7")

    async def watch(
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
        """Expires at once, unless a test gives it events."""
        self.sent.append(f"watch {resource.plural} {field_selector}")
        for each in self.events:
            yield each
        raise Gone(410, "Expired", "too old")

    def chunks(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("no log is read here")

    def server_ahead(self) -> timedelta | None:
        """Returns 0: both clocks agree."""
        return timedelta(0)

    async def close(self) -> None:
        """Does nothing."""

    def _check(self, what: str) -> None:
        if what.partition(" ")[0] in self.failing:
            raise ApiError(503, "ServiceUnavailable", "etcd has no leader")
        if what in self.forbidden or what.partition(" ")[0] in self.forbidden:
            raise Forbidden(403, "Forbidden", f"{what} is forbidden")


def _is_in(item: JsonObject, namespace: str | None) -> bool:
    return namespace is None or item["metadata"].get("namespace", namespace) == namespace


def _is_chosen(item: JsonObject, labels: str, fields: str) -> bool:
    found = item["metadata"].get("labels") or {}
    for each in filter(None, labels.split(",")):
        key, equals, value = each.partition("=")
        if key not in found or (equals and found[key] != value):
            return False
    return all(_field(item, each) for each in filter(None, fields.split(",")))


def _field(item: JsonObject, selector: str) -> bool:
    path, _, wanted = selector.partition("=")
    value: object = orjson.loads(orjson.dumps(item))
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value == wanted
