"""Watches of the real client against a server on loopback."""

import asyncio
import socket
from contextlib import aclosing

import pytest
from aiohttp import web

from shared.kube.client import WatchEvent, WatchEventType
from shared.kube.connection import Timeouts
from shared.kube.credentials import Credentials
from shared.kube.errors import (
    Gone,
    NotFound,
    Unreachable,
)
from shared.kube.http_client import HttpKubeClient
from shared.kube.resource import PODS
from shared.kube.tokens import FixedAuthorization
from tests.builders.api_server import (
    event_line,
    json_answer,
    status_answer,
    stream_answer,
)
from tests.builders.client_session import Tokens, opened
from tests.builders.fake_clock import ImpatientClock

UNAUTHORIZED = status_answer(401, "Unauthorized", "who are you")


async def test_watch_events_arrive_whatever_the_chunks() -> None:
    first, second = event_line("ADDED", {"a": 1}), event_line("BOOKMARK", {"b": 2})
    cut = first + second
    async with opened() as session:
        session.server.then(stream_answer(cut[:10], cut[10:50], cut[50:]))
        assert await session.watched() == [
            WatchEvent(WatchEventType.ADDED, {"a": 1}),
            WatchEvent(WatchEventType.BOOKMARK, {"b": 2}),
        ]


async def test_a_watch_asks_for_five_to_ten_minutes() -> None:
    async with opened() as session:
        session.server.then(stream_answer())
        assert await session.watched() == []
        target = session.server.received[0].target
        prefix, _, rest = target.partition("&timeoutSeconds=")
        assert prefix == (
            "/api/v1/namespaces/ns/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5"
        )
        assert 300 <= int(rest) <= 600


async def test_an_object_of_1_5_mb_passes_the_watch() -> None:
    big = {"pad": "x" * 1_500_000}
    async with opened() as session:
        session.server.then(stream_answer(event_line("ADDED", big)))
        assert await session.watched() == [WatchEvent(WatchEventType.ADDED, big)]


async def test_a_watch_answered_with_410_is_gone() -> None:
    async with opened() as session:
        session.server.then(status_answer(410, "Expired", "old"))
        with pytest.raises(Gone):
            await session.watched()


async def test_a_watch_told_410_midway_is_gone() -> None:
    told = {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}
    async with opened() as session:
        session.server.then(stream_answer(event_line("ERROR", told)))
        with pytest.raises(Gone):
            await session.watched()


async def test_a_watch_that_breaks_is_unreachable() -> None:
    async with opened() as session:
        session.server.then(stream_answer(event_line("ADDED", {"a": 1}), broken=True))
        with pytest.raises(Unreachable):
            await session.watched()


async def test_a_watch_that_ends_inside_an_event_is_unreachable() -> None:
    async with opened() as session:
        session.server.then(stream_answer(event_line("ADDED", {"a": 1})[:-3]))
        with pytest.raises(Unreachable, match="in the middle of an event"):
            await session.watched()


async def test_a_refused_watch_is_unreachable_inside_the_iterator() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, never listening: refuses
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        client = HttpKubeClient(
            Credentials(url, None, FixedAuthorization(None)), ImpatientClock(), user_agent="t"
        )
        events = client.watch(PODS, resource_version="5")  # making it does not fail
        with pytest.raises(Unreachable, match="GET /api/v1/pods: "):
            await anext(events)
        await client.close()


async def test_a_watch_reads_its_credentials_again_after_401() -> None:
    async with opened(Tokens("Bearer old", "Bearer new")) as session:
        session.server.then(UNAUTHORIZED, stream_answer(event_line("ADDED", {"a": 1})))
        assert await session.watched() == [WatchEvent(WatchEventType.ADDED, {"a": 1})]
        sent = [r.headers["Authorization"] for r in session.server.received]
        assert sent == ["Bearer old", "Bearer new"]


async def test_a_silent_server_that_still_answers_keeps_its_watch() -> None:
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async with opened(timeouts=Timeouts(silence=0.02)) as session:

        async def alive(request: web.Request) -> web.StreamResponse:
            end.set_result(None)  # having answered, the server goes on with the watch
            return await json_answer({"major": "1"})(request)

        session.server.then(stream_answer(event_line("ADDED", {"a": 1}), until=end), alive)
        events = session.client.watch(PODS, "ns", resource_version="5")
        async with aclosing(events):
            assert (await anext(events)).object == {"a": 1}
            session.clock.pass_by(1.0)
            assert [event async for event in events] == []
        assert session.sent[1] == "GET /version"


async def test_a_server_that_answers_nowhere_is_unreachable() -> None:
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with opened(timeouts=Timeouts(silence=0.02, probe=0.05)) as session:
        stuck = stream_answer(event_line("ADDED", {"a": 1}), until=end)
        session.server.then(stuck, stream_answer(until=end))
        events = session.client.watch(PODS, "ns", resource_version="5")
        async with aclosing(events):
            assert (await anext(events)).object == {"a": 1}
            session.clock.pass_by(1.0)
            with pytest.raises(Unreachable, match="GET /version: no answer in time"):
                await anext(events)
        end.cancel()


async def test_a_watch_that_outlives_what_was_asked_for_is_left() -> None:
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with opened(timeouts=Timeouts(silence=0.02)) as session:
        session.server.then(stream_answer(event_line("ADDED", {}), until=end), json_answer({}))
        events = session.client.watch(PODS, "ns", resource_version="5")
        async with aclosing(events):
            await anext(events)
            session.clock.pass_by(631.0)
            assert [event async for event in events] == []
        end.cancel()


async def test_a_watch_left_early_closes_its_connection() -> None:
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with opened() as session:
        session.server.then(stream_answer(event_line("ADDED", {}), until=end))
        async with aclosing(session.client.watch(PODS, resource_version="5")) as events:
            await anext(events)
        end.cancel()
        session.server.then(status_answer(404, "NotFound", "x"))
        with pytest.raises(NotFound):
            await session.client.get(PODS, "ns", "p")
