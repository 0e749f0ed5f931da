"""What every client has once it can send, list and watch."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from shared.api.objects import PODS, JsonObject
from shared.kube import requests
from shared.kube.client import KubeClient, ListPage, PatchType, Propagation, WatchEvent
from shared.kube.requests import Request

ANSWER = {"kind": "Status"}


class Sender(KubeClient):
    """Implements what is abstract, and no more; notes what it is to send."""

    def __init__(self) -> None:
        self.sent: list[tuple[Request, bool]] = []

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        self.sent.append((request, retry))
        return ANSWER

    def pages(self, *_: Any, **__: Any) -> AsyncGenerator[ListPage, None]:
        raise NotImplementedError

    def watch(self, *_: Any, **__: Any) -> AsyncGenerator[WatchEvent, None]:
        raise NotImplementedError

    def chunks(self, *_: Any, **__: Any) -> AsyncGenerator[bytes, None]:
        raise NotImplementedError

    def server_ahead(self) -> timedelta | None:
        return None

    async def close(self) -> None:
        raise NotImplementedError


Ask = Callable[[KubeClient], Awaitable[Any]]
UPDATE: dict[str, Any] = {"subresource": "status"}
FORCED: dict[str, Any] = {"subresource": "status", "field_manager": "me", "force": True}
NOW: dict[str, Any] = {
    "uid": "u",
    "propagation": Propagation.FOREGROUND,
    "grace_period_seconds": 0,
}


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (
            lambda client: client.get(PODS, "ns", "p", metadata_only=True),
            requests.get(PODS, "ns", "p", metadata_only=True),
        ),
        (
            lambda client: client.create(PODS, "ns", {"a": 1}, dry_run=True),
            requests.create(PODS, "ns", {"a": 1}, dry_run=True),
        ),
        (
            lambda client: client.update(PODS, "ns", "p", {"a": 1}, **UPDATE),
            requests.update(PODS, "ns", "p", {"a": 1}, **UPDATE),
        ),
        (
            lambda client: client.patch(PODS, "ns", "p", {"a": 1}, PatchType.APPLY, **FORCED),
            requests.patch(PODS, "ns", "p", {"a": 1}, PatchType.APPLY, **FORCED),
        ),
        (
            lambda client: client.delete(PODS, "ns", "p", **NOW),
            requests.delete(PODS, "ns", "p", **NOW),
        ),
        (lambda client: client.post("/x", {"a": 1}), requests.post("/x", {"a": 1})),
        (lambda client: client.get_path("/version"), requests.get_path("/version")),
    ],
    ids=["get", "create", "update", "patch", "delete", "post", "get_path"],
)
async def test_each_request_is_built_and_sent(ask: Ask, expected: Request) -> None:
    client = Sender()
    assert await ask(client) is ANSWER
    assert client.sent == [(expected, True)]


async def test_who_has_no_time_is_not_made_to_wait() -> None:
    client = Sender()
    await client.post("/x", {}, retry=False)
    assert client.sent == [(requests.post("/x", {}), False)]
