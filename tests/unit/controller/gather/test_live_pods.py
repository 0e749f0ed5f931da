"""One live list answers all passes that waited for it before it began."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from controller.gather.live_pods import MOST_AT_ONCE, LivePods
from shared.api.objects import JsonObject
from shared.kube.client import ListPage, Unreachable

LABEL = "workload.codeflare.dev/appwrapper"


def pod(name: str, of: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": {LABEL: of}}}


def name_of(item: JsonObject) -> str:
    return str(item["metadata"]["name"])


class Server:
    """Answers a list with the pods that exist once the test permits it."""

    def __init__(self, *pods: JsonObject) -> None:
        self.pods_by_name = list(pods)
        self.selectors: list[tuple[str, str]] = []
        self.permits = asyncio.Semaphore(0)
        self.errors: list[Exception] = []

    async def pages(
        self, _resource: Any, namespace: str, *, label_selector: str
    ) -> AsyncIterator[ListPage]:
        self.selectors.append((namespace, label_selector))
        at_its_beginning = list(self.pods_by_name)
        await self.permits.acquire()
        if self.errors:
            raise self.errors.pop()
        for each in at_its_beginning:
            yield ListPage([each], "9")


async def begin(server: Server, *keys: tuple[str, str]) -> list[asyncio.Task[list[str]]]:
    client: Any = server
    lists = LivePods(client)
    tasks = []
    for key in keys:
        tasks.append(asyncio.create_task(lists.read(key, name_of)))
        await asyncio.sleep(0)
    return tasks


def many(*names: str) -> list[tuple[str, str]]:
    return [("team1", each) for each in names]


async def test_passes_that_ask_during_a_list_share_the_next_one() -> None:
    server = Server(pod("a-0", "a"), pod("b-0", "b"), pod("c-0", "c"))
    tasks = await begin(server, *many("a", "b", "c", "b"))
    assert server.selectors == [("team1", f"{LABEL}=a")]
    server.pods_by_name.append(pod("b-1", "b"))  # the first list may not show it
    server.permits.release()
    server.permits.release()
    assert await asyncio.gather(*tasks) == [["a-0"], ["b-0", "b-1"], ["c-0"], ["b-0", "b-1"]]
    assert server.selectors[1:] == [("team1", f"{LABEL} in (b,c)")]


async def test_each_namespace_has_its_own_lists() -> None:
    server = Server(pod("a-0", "a"))
    tasks = await begin(server, ("team1", "a"), ("team2", "a"))
    assert [namespace for namespace, _ in server.selectors] == ["team1", "team2"]
    server.permits.release()
    server.permits.release()
    assert await asyncio.gather(*tasks) == [["a-0"], ["a-0"]]


async def test_a_list_has_a_limited_number_of_names() -> None:
    server = Server()
    tasks = await begin(server, *many(*(f"a{n:03}" for n in range(MOST_AT_ONCE + 2))))
    for _ in range(3):
        server.permits.release()
    await asyncio.gather(*tasks)
    assert [each.count(",") + 1 for _, each in server.selectors] == [1, MOST_AT_ONCE, 1]


async def test_a_failed_list_fails_every_pass_that_it_would_have_answered() -> None:
    server = Server()
    tasks = await begin(server, *many("a", "b", "c"))
    server.permits.release()
    await tasks[0]
    lost = Unreachable("timed out")
    server.errors.append(lost)
    for _ in range(2):  # the second one is not needed
        server.permits.release()
    assert await asyncio.gather(*tasks[1:], return_exceptions=True) == [lost, lost]
    assert len(server.selectors) == 2


async def test_a_cancelled_pass_leaves_its_list_to_the_others() -> None:
    server = Server(pod("b-0", "b"))
    first, second, third = await begin(server, *many("a", "b", "c"))
    first.cancel()
    third.cancel()
    server.permits.release()
    assert await second == ["b-0"]
    assert [each for _, each in server.selectors] == [f"{LABEL}=a", f"{LABEL}=b"]
    for task in (first, third):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_pass_makes_room_from_its_question_to_its_answer() -> None:
    server = Server(pod("a-0", "a"), pod("b-0", "b"))
    client: Any = server
    waiting: list[tuple[str, str]] = []

    @contextmanager
    def only_waits(key: tuple[str, str]) -> Iterator[None]:
        waiting.append(key)
        yield
        waiting.remove(key)

    lists = LivePods(client, only_waits)
    tasks = [asyncio.create_task(lists.read(key, name_of)) for key in many("a", "b")]
    await asyncio.sleep(0)
    assert waiting == many("a", "b")
    server.permits.release()
    await tasks[0]
    assert waiting == many("b")
    server.permits.release()
    await tasks[1]
    assert waiting == []
