"""Declare the requests to the API server; `http_client.HttpKubeClient` implements them.

An implementation provides `send`, `pages`, `watch`, `chunks`, `server_ahead` and `close`, and
`channels` if it reaches into pods. The usual requests, `get` to `get_path`, send what the function
of that name in `requests` builds. If a request fails, every method raises `KubeError` and nothing
else.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from shared.api.objects import JsonObject, Resource
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

if TYPE_CHECKING:
    from shared.kube.pod_channels import PodChannels

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


_Arguments = ParamSpec("_Arguments")


def _sent(
    build: Callable[_Arguments, Request],
) -> Callable[Concatenate["KubeClient", _Arguments], Coroutine[Any, Any, JsonObject]]:
    """Return a method that sends the request which `build` makes, and returns the answer."""

    async def answer(
        self: "KubeClient", /, *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> JsonObject:
        request = build(*args, **kwargs)
        del args, kwargs  # a decoded body is many times larger, and the answer may take long
        return await self.send(request)

    return answer


class KubeClient(ABC):
    """Send requests to one API server under one identity.

    `on_answer` is called with each answer's latency in seconds, and with True if it is a 429. Pages
    of lists are reported only as a 429: how long a list takes depends on its length.
    """

    on_answer: Callable[[float, bool], None] | None = None

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
    def chunks(
        self, request: Request, *, seconds: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a log as they arrive, until the server ends the stream.

        `seconds`: how long the server may take to begin its answer. A log that is followed begins
        with its next line, however late that is. Leave the stream early with `aclosing`.
        """
        ...

    def channels(
        self, request: Request, protocols: Sequence[str]
    ) -> "AbstractAsyncContextManager[PodChannels]":
        """Open a WebSocket to a pod, with the first of the protocols that the server knows.

        Closed with the context. Raise Forbidden if the user may not reach into pods.
        """
        raise NotImplementedError

    @abstractmethod
    def server_ahead(self) -> timedelta | None:
        """Return how far the API server's clock was ahead of this machine's, to whole seconds.

        Return None before the first answer with a Date header.
        """
        ...

    @abstractmethod
    async def close(self) -> None: ...

    get = _sent(requests.get)
    create = _sent(requests.create)
    update = _sent(requests.update)
    patch = _sent(requests.patch)
    delete = _sent(requests.delete)
    get_path = _sent(requests.get_path)

    async def post(self, path: str, body: JsonObject, *, retry: bool = True) -> JsonObject:
        """POST to a path that is no collection of objects: reviews, token requests."""
        return await self.send(requests.post(path, body), retry=retry)
