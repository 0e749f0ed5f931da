"""A KubeClient over fixed objects: lists, gets, and forbidden reads."""

from collections.abc import AsyncGenerator, Iterable
from typing import Any

from shared.api.objects import JsonObject, Resource
from shared.kube.client import Forbidden, KubeClient, ListPage, NotFound

KUEUE = "v1beta2"


class ReadOnlyCluster(KubeClient):
    """`forbidden` and `missing` are plurals; `dry_run` is the answer to a create, or its error."""

    def __init__(
        self,
        objects: Iterable[JsonObject] = (),
        *,
        forbidden: Iterable[str] = (),
        missing: Iterable[str] = (),
        paths: dict[str, JsonObject] | None = None,
        dry_run: JsonObject | Exception | None = None,
    ) -> None:
        self._objects = list(objects)
        self._forbidden, self._missing = {*forbidden}, {*missing}
        self._paths = paths or {}
        self._dry_run = dry_run
        self.namespace = "default"
        self.listed: list[tuple[str, str | None, str]] = []
        """Plural, namespace and field selector of each list."""

    def _check(self, resource: Resource) -> None:
        if resource.plural in self._forbidden:
            raise Forbidden(403, "Forbidden", f"{resource.plural} is forbidden")
        if resource.plural in self._missing:
            raise NotFound(404, "NotFound", "404 page not found")

    def _of(self, resource: Resource, namespace: str | None) -> list[JsonObject]:
        return [
            each
            for each in self._objects
            if each["kind"] == resource.kind
            and (namespace is None or each["metadata"].get("namespace") == namespace)
        ]

    async def pages(
        self, resource: Resource, namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[ListPage, None]:
        self.listed.append((resource.plural, namespace, options.get("field_selector", "")))
        self._check(resource)
        for each in self._of(resource, namespace):  # one object a page
            yield ListPage([each], "7")

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> JsonObject:
        self._check(resource)
        for each in self._of(resource, namespace):
            if each["metadata"]["name"] == name:
                return each
        raise NotFound(404, "NotFound", f'{resource.plural} "{name}" not found')

    async def get_path(self, path: str) -> JsonObject:
        if path not in self._paths:
            raise NotFound(404, "NotFound", "404 page not found")
        return self._paths[path]

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, **options: Any
    ) -> JsonObject:
        assert options.get("dry_run"), "a check changes nothing"
        if isinstance(self._dry_run, Exception):
            raise self._dry_run
        assert self._dry_run is not None
        return self._dry_run

    async def send(self, request: Any, *, retry: bool = True) -> JsonObject:
        raise AssertionError(f"a check sends nothing else: {request}")

    def watch(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("a check watches nothing")

    def chunks(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a check reads no logs")

    def server_ahead(self) -> None:
        return None

    async def close(self) -> None:
        return None
