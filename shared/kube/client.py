"""Declare the requests to the API server; `http_client.HttpKubeClient` implements them.

An implementation provides `send`, `pages`, `watch`, `server_ahead` and `close`. The usual requests,
`get` to `delete`, are written once on top of `send`. If a request fails, every method raises
`KubeError` and nothing else.
"""

from abc import abstractmethod
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Protocol

from shared.api.objects import JsonObject, JsonValue, Resource
from shared.kube import requests
from shared.kube.requests import PatchType, Propagation, Request
from shared.kube.responses import (
    AlreadyExists,
    ApiError,
    CannotConnect,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    ListPage,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    WatchEvent,
    WatchEventType,
)

# Callers import the client, its arguments and its errors from this module.
__all__ = [
    "AlreadyExists",
    "ApiError",
    "CannotConnect",
    "Conflict",
    "Forbidden",
    "Gone",
    "Invalid",
    "KubeClient",
    "KubeError",
    "ListPage",
    "NotFound",
    "PatchType",
    "Propagation",
    "TooManyRequests",
    "Unauthorized",
    "Unreachable",
    "WatchEvent",
    "WatchEventType",
]


class KubeClient(Protocol):
    """Send requests to one API server under one identity."""

    @abstractmethod
    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        """Return the answer to one request, which `requests` builds.

        Without `retry`, raise a 429 at once: the caller has less time than the server may request.
        """
        ...

    @abstractmethod
    def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[ListPage, None]:
        """Yield all objects page by page, consistently (never resourceVersion 0).

        Raise Gone if the list expires between two pages.
        """
        ...

    @abstractmethod
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
        """Yield changes after `resource_version`, with bookmarks, until the server ends the stream.

        The request sets the end to `seconds`, plus or minus a tenth. Raise Unreachable if the
        stream has not ended soon after that: its connection is dead. Raise Gone if the caller must
        list again. Leave the stream early with `contextlib.aclosing`; otherwise its connection
        stays open for a while.
        """
        ...

    @abstractmethod
    def server_ahead(self) -> timedelta | None:
        """Return how far the API server's clock was ahead of this machine's, to whole seconds.

        Return None before the first answer with a Date header.
        """
        ...

    @abstractmethod
    async def close(self) -> None:
        """Close the open connections."""
        ...

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> JsonObject:
        """Read one object from etcd (never from a cache). Raise NotFound."""
        request = requests.get(resource, namespace, name, metadata_only=metadata_only)
        return await self.send(request)

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        """Create the object and return it. Raise AlreadyExists, Invalid, Forbidden."""
        request = requests.create(resource, namespace, body, dry_run=dry_run)
        del body  # decoded it is many times larger, and the answer may take long
        return await self.send(request)

    async def update(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonObject,
        *,
        subresource: str = "",
    ) -> JsonObject:
        """PUT the object, or its `subresource` ("status"). `body` holds its resourceVersion."""
        request = requests.update(resource, namespace, name, body, subresource=subresource)
        return await self.send(request)

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonValue,
        patch_type: PatchType,
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> JsonObject:
        """PATCH the object. PatchType.APPLY requires `field_manager`; `force` resolves
        conflicts.
        """
        request = requests.patch(
            resource,
            namespace,
            name,
            body,
            patch_type,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
        )
        return await self.send(request)

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None,
        propagation: Propagation,
        grace_period_seconds: int | None = None,
    ) -> None:
        """Request deletion. Raise Conflict if another object than `uid` has the name.

        If `grace_period_seconds` is None, the object's own period applies; 0 is sent as 0.
        """
        request = requests.delete(
            resource,
            namespace,
            name,
            uid=uid,
            propagation=propagation,
            grace_period_seconds=grace_period_seconds,
        )
        await self.send(request)

    async def post(self, path: str, body: JsonObject, *, retry: bool = True) -> JsonObject:
        """POST to a path that is no collection of objects: reviews, token requests."""
        return await self.send(requests.post(path, body), retry=retry)

    async def get_path(self, path: str) -> JsonObject:
        """GET a path that is no object: discovery, /version."""
        return await self.send(requests.get_path(path))
