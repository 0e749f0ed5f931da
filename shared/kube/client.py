"""What the product asks of the API server. `http_client.HttpKubeClient` is the real one.

Its whole face are `send`, `pages` and `watch`. What it is usually asked for, `get` to `delete`, is
written once, on top of `send`. Every method raises `KubeError` and nothing else for a failed
request.
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

# What callers need beside the client itself, so that they import from one place.
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
    """Requests to one API server under one identity.

    Whoever derives from it implements what is abstract.
    """

    @abstractmethod
    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        """The answer to one request, which `requests` builds.

        Without `retry` a 429 is raised at once, for a caller who has less time than it may ask for.
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
        """All objects, page by page, consistent (never resourceVersion 0). Raises Gone midway."""
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
        """Changes after `resource_version`, with bookmarks, until the server ends the stream.

        It is asked to after `seconds`, give or take a tenth; if it does not, because the connection
        leads nowhere any more, Unreachable is raised soon after. Raises Gone: list again.
        Leave it early with `contextlib.aclosing`, else its connection stays open for a while.
        """
        ...

    @abstractmethod
    def server_ahead(self) -> timedelta | None:
        """How far the API server's clock was ahead of ours at its last answer, to the second.

        None before there was one that says its time.
        """
        ...

    @abstractmethod
    async def close(self) -> None:
        """Ends open connections."""
        ...

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> JsonObject:
        """One object, live from etcd (never from a cache). Raises NotFound."""
        request = requests.get(resource, namespace, name, metadata_only=metadata_only)
        return await self.send(request)

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        """The object as created. Raises AlreadyExists, Invalid, Forbidden."""
        request = requests.create(resource, namespace, body, dry_run=dry_run)
        del body  # decoded it takes many times the memory, and the answer may be long in coming
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
        """PUT: replaces the object, or its `subresource` ("status"). `body` carries its version."""
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
        """PATCH. PatchType.APPLY requires `field_manager`; `force` takes over conflicts."""
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
        """Asks for deletion. `uid` is a precondition (Conflict if another object has the name).

        `grace_period_seconds` None leaves it to the object; 0 is sent as 0.
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
        """GET of a path that is no object: discovery, /version."""
        return await self.send(requests.get_path(path))
