"""A KubeClient without a server: answers are scripted per call, and an unexpected call fails."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from shared.kube.client import KubeClient, ListPage, WatchEvent, WatchEventType


@dataclass
class Call:
    """One call: the method's name, its positional and its keyword arguments."""

    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class WatchFeed:
    """The server's end of one watch."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[WatchEvent | BaseException | None] = asyncio.Queue()

    def send(self, kind: str, obj: dict[str, Any]) -> None:
        self._queue.put_nowait(WatchEvent(WatchEventType(kind), obj))

    def bookmark(self, version: int) -> None:
        self.send("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})

    def fail(self, error: BaseException) -> None:
        self._queue.put_nowait(error)

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def events(self) -> AsyncGenerator[WatchEvent, None]:
        while (item := await self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


def _scripted(method: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def answer(self: "FakeKube", *args: Any, **kwargs: Any) -> Any:
        self.calls.append(Call(method, args, kwargs))
        scripted = self.next_of(method, self.answers.get(method, []))
        return scripted(*args, **kwargs) if callable(scripted) else scripted

    return answer


@dataclass
class FakeKube(KubeClient):
    """`lists` and `watches` are consumed in order; `answers` by method name, in order.

    An answer that is an exception is raised; one that is callable is called with the arguments.
    """

    lists: list[list[ListPage] | BaseException] = field(default_factory=list)
    watches: list[WatchFeed | BaseException] = field(default_factory=list)
    answers: dict[str, list[Any]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def chunks(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("no log is read here")

    def server_ahead(self) -> None:
        return None

    def called(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    async def pages(self, *args: Any, **kwargs: Any) -> AsyncGenerator[ListPage, None]:
        self.calls.append(Call("pages", args, kwargs))
        scripted = self.next_of("pages", self.lists)
        for page in scripted:
            if isinstance(page, BaseException):
                raise page
            yield page

    async def watch(self, *args: Any, **kwargs: Any) -> AsyncGenerator[WatchEvent, None]:
        self.calls.append(Call("watch", args, kwargs))
        feed = self.next_of("watch", self.watches)
        async for event in feed.events():
            yield event

    send = _scripted("send")
    get = _scripted("get")
    create = _scripted("create")
    update = _scripted("update")
    patch = _scripted("patch")
    delete = _scripted("delete")
    post = _scripted("post")
    get_path = _scripted("get_path")
    close = _scripted("close")

    def next_of(self, method: str, scripted: list[Any]) -> Any:
        assert scripted, f"{method} must not be called (again): {self.calls[-1]}"
        answer = scripted.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def listed(version: int, *items: dict[str, Any]) -> ListPage:
    return ListPage(list(items), str(version))


def kube_object(
    name: str, version: int, *, uid: str = "", namespace: str = "team1", **fields: Any
) -> dict[str, Any]:
    """Builds an object with its identity, and the fields that the test needs."""
    metadata = {
        "namespace": namespace,
        "name": name,
        "uid": uid or f"uid-of-{name}",
        "resourceVersion": str(version),
    }
    return {"metadata": metadata, **fields}
