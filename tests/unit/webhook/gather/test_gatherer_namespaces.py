import asyncio
from typing import Any

import pytest

from shared.config.configuration import team_namespaces
from shared.kube.client import ApiError, KubeError, NotFound, Unreachable
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, kube_object, listed
from webhook.gather.gatherer import Namespaces
from webhook.rules.submission import CannotGather

TEAM = {"mlbatch-team-namespace": "true"}
MISSING = NotFound(404, "NotFound", 'namespaces "x" not found')


def namespace(name: str, version: int, labels: Any) -> dict[str, Any]:
    made = kube_object(name, version, namespace="")
    made["metadata"]["labels"] = labels
    return made


def namespaces(client: FakeKube) -> Namespaces:
    return Namespaces(client, fake_sources(), team_namespaces())


async def test_known_by_a_watch_without_a_question() -> None:
    feed = WatchFeed()
    first = [namespace("team1", 1, TEAM), namespace("other", 2, None)]
    client = FakeKube(lists=[[listed(3, *first)]], watches=[feed])
    known = namespaces(client)
    assert known.problem() == "the namespaces are not known yet"
    watching = asyncio.create_task(known.run())
    await settle()
    assert known.problem() is None
    assert [await known.is_team(name) for name in ("team1", "other")] == [True, False]
    feed.send("MODIFIED", namespace("other", 4, TEAM))
    feed.send("MODIFIED", namespace("team1", 5, {}))
    await settle()
    assert [await known.is_team(name) for name in ("team1", "other")] == [False, True]
    watching.cancel()
    assert client.called("get") == []


async def test_a_confirm_negative_is_not_the_caches() -> None:
    first = [namespace("team1", 1, TEAM), namespace("new", 2, None)]
    live = [namespace("new", 4, TEAM), namespace("new", 5, None)]
    client = FakeKube(
        lists=[[listed(3, *first)]], watches=[WatchFeed()], answers={"get": list(live)}
    )
    known = namespaces(client)
    watching = asyncio.create_task(known.run())
    await settle()
    assert await known.is_team("team1", confirm_negative=True) is True
    assert [await known.is_team("new", confirm_negative=True) for _ in live] == [True, False]
    assert await known.is_team("new") is False
    watching.cancel()
    assert [call.args[1:] for call in client.called("get")] == [(None, "new")] * 2


async def test_one_that_the_cache_lacks_is_asked_for() -> None:
    client = FakeKube(answers={"get": [namespace("new", 1, TEAM), namespace("new", 2, {})]})
    known = namespaces(client)
    # Each time: what a request depends on is not kept outside the watch.
    assert [await known.is_team("new") for _ in range(2)] == [True, False]
    assert [call.args[1:] for call in client.called("get")] == [(None, "new")] * 2
    assert client.called("get")[0].kwargs == {"metadata_only": True}


async def test_one_that_does_not_exist_is_neither() -> None:
    assert await namespaces(FakeKube(answers={"get": [MISSING]})).is_team("x") is None


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Unreachable("connection refused"), "connection refused"),
        (ApiError(500, "InternalError", "etcd is away"), "500 InternalError: etcd is away"),
        (NotFound(404, "Unknown", "what?"), "404 Unknown: what?"),
    ],
)
async def test_an_unreadable_namespace_is_an_error(error: KubeError, text: str) -> None:
    with pytest.raises(CannotGather) as raised:
        await namespaces(FakeKube(answers={"get": [error]})).is_team("x")
    assert str(raised.value) == f'namespace "x" could not be read: {text}'


class Silent:
    """An API server that never answers."""

    async def get(self, *_: Any, **__: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}


async def test_reading_one_may_take_two_seconds() -> None:
    clock = FakeClock()
    silent: Any = Silent()
    asking = asyncio.create_task(
        Namespaces(silent, fake_sources(clock), team_namespaces()).is_team("x")
    )
    await clock.advance(1.9)
    assert not asking.done()
    await clock.advance(0.1)
    text = 'namespace "x" could not be read: no answer within 2 s'
    assert isinstance(asking.exception(), CannotGather)
    assert str(asking.exception()) == text
