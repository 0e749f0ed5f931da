"""What the product asks of the API server. `http_client.HttpKubeClient` is the real one.

Every method raises `errors.KubeError` and nothing else for a failed request.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from shared.api.objects import JsonObject, JsonValue, Resource

# What can go wrong when talking to the API server, one class per answer that somebody handles.
#
# Policy: a failed read raises, it is never "nothing there". A network failure is `Unreachable`,
# an answer is an `ApiError`; the cause is always chained. Message texts come from the server's
# `Status` only, cut to 512 characters; other bodies may hold secrets and are dropped.

_NO_RESOURCE = "the server could not find the requested resource"


class KubeError(Exception):
    """Any failure of a request to the API server."""


class Unreachable(KubeError):
    """No answer: refused, reset, timed out, TLS failure. Whether a write took effect is unknown."""


class CannotConnect(KubeError):
    """There is nothing to talk to: no kubeconfig, or an unusable one. Says which and why."""


@dataclass
class ApiError(KubeError):
    """The server answered with an error. `status` is the HTTP code, `reason` is `Status.reason`."""

    status: int
    reason: str
    message: str
    retry_after: float | None = None  # seconds, from the Retry-After header

    def __str__(self) -> str:
        return f"{self.status} {self.reason}: {self.message}"


class Unauthorized(ApiError):
    """401: the credentials were not accepted; they are read again once before this is raised."""


class Forbidden(ApiError):
    """403. Never retried: a denial does not change by asking again."""


class NotFound(ApiError):
    """404: the object is not there, or its resource is not."""

    @property
    def of_resource(self) -> bool:
        """It is the resource that is not served, which says nothing of objects (a test: 1.36).

        For groups of CRDs the answer is then no Status at all, for built-in ones a Status without
        an object.
        """
        return self.reason != "NotFound" or self.message == _NO_RESOURCE


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists: a create met an object of that name."""


class Conflict(ApiError):
    """409: the object changed since it was read, or a precondition (UID) does not hold."""


class Gone(ApiError):
    """410: the resourceVersion is too old. List again."""


class Invalid(ApiError):
    """422: the object is not valid; trying again as it is cannot help."""


class TooManyRequests(ApiError):
    """429: wait for `retry_after` seconds."""


class Propagation(StrEnum):
    """What a delete does to what the object owns."""

    FOREGROUND = "Foreground"
    BACKGROUND = "Background"
    ORPHAN = "Orphan"


class PatchType(StrEnum):
    """The content types of PATCH."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class WatchEventType(StrEnum):
    """The types of watch events that reach a caller; ERROR becomes an exception."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watch. `object` of a DELETED event is the last state of the object."""

    type: WatchEventType
    object: JsonObject


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list. Items lack apiVersion and kind where the server leaves them out."""

    items: list[JsonObject]
    resource_version: str


class KubeClient(Protocol):
    """Requests to one API server under one identity."""

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> JsonObject:
        """One object, live from etcd (never from a cache). Raises NotFound."""
        ...

    def list_pages(
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

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        """The object as created. Raises AlreadyExists, Invalid, Forbidden."""
        ...

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
        ...

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
        ...

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
        ...

    async def post(self, path: str, body: JsonObject, *, retry: bool = True) -> JsonObject:
        """POST to a path that is no collection of objects: reviews, token requests.

        Without `retry` a 429 is raised at once, for a caller who has less time than it may ask for.
        """
        ...

    async def get_path(self, path: str) -> JsonObject:
        """GET of a path that is no object: discovery, /version."""
        ...

    def server_ahead(self) -> timedelta | None:
        """How far the API server's clock was ahead of ours at its last answer, to the second.

        None before there was one that says its time.
        """
        ...

    async def close(self) -> None:
        """Ends open connections."""
        ...
