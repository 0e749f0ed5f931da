"""Whether devices are served is asked once; then their Kinds are watched."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.facts.devices import CLAIMS, RULES, SLICES
from controller.gather.device_caches import FIRST_LOOK, DeviceCaches
from shared.kube.client import Unreachable
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed
from tests.support.fakes.running_fleet import NOT_SERVED


def served(*names: str) -> dict[str, Any]:
    return {"resources": [{"name": each} for each in (*names, "deviceclasses")]}


@asynccontextmanager
async def running(*answers: Any, lists: int = 0) -> AsyncIterator[tuple[DeviceCaches, FakeKube]]:
    client = FakeKube(
        answers={"get_path": list(answers)},
        lists=[[listed(5)] for _ in range(lists)],
        watches=[WatchFeed() for _ in range(lists)],
    )
    caches = DeviceCaches(client, fake_sources(clock := FakeClock()))
    task = asyncio.create_task(caches.run())
    await settle()
    try:
        await clock.advance(FIRST_LOOK)
        yield caches, client
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def watched(client: FakeKube) -> Iterable[str]:
    return sorted(call.args[0].plural for call in client.called("watch"))


async def test_a_server_without_the_version_is_asked_once() -> None:
    async with running(NOT_SERVED) as (caches, client):
        assert (await caches.served(), list(caches.all)) == (None, [])
        assert [call.args for call in client.calls] == [("/apis/resource.k8s.io/v1",)]


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        ((SLICES.plural, CLAIMS.plural, RULES.plural), [RULES, CLAIMS, SLICES]),
        ((SLICES.plural, CLAIMS.plural), [CLAIMS, SLICES]),
        ((SLICES.plural,), []),
    ],
)
async def test_served_kinds_are_watched(names: tuple[str, ...], kinds: list[Any]) -> None:
    async with running(served(*names), lists=len(kinds)) as (caches, client):
        objects = await caches.served()
        assert watched(client) == [each.plural for each in kinds]
        assert (objects is not None) is bool(kinds)
        assert len(caches.all) == len(kinds)


async def test_a_server_that_does_not_answer_is_asked_again() -> None:
    async with running(Unreachable("away"), NOT_SERVED) as (caches, client):
        assert await caches.served() is None
        assert len(client.called("get_path")) == 2
