"""Watches of the real client against a server on loopback."""

import asyncio
import socket
from contextlib import aclosing

import pytest
from aiohttp import web

from shared.api.objects import PODS
from shared.kube.client import (
    Gone,
    NotFound,
    Unreachable,
    WatchEvent,
    WatchEventType,
)
from shared.kube.connection import Timeouts
from shared.kube.credentials import FixedCredential
from shared.kube.http_client import WATCH_JITTER, HttpKubeClient
from shared.kube.informer import WATCH_SECONDS, Informer
from shared.kube.kubeconfig import Credentials
from shared.kube.object_cache import Change
from tests.support.fakes.api_server import event_line, json_answer, status_answer, stream_answer
from tests.support.fakes.client_session import Tokens, opened
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock, fake_sources

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


async def test_a_watch_asks_for_its_end_give_or_take_a_tenth() -> None:
    async with opened() as session:
        session.server.then(*[stream_answer()] * 20)
        for _ in range(20):
            assert await session.watched() == []
        asked = [
            request.target.partition("&timeoutSeconds=") for request in session.server.received
        ]
        assert {prefix for prefix, _, _ in asked} == {
            "/api/v1/namespaces/ns/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5"
        }
        seconds = {int(rest) for _, _, rest in asked}
        assert len(seconds) > 1
        assert 405 <= min(seconds) < max(seconds) <= 495


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


async def test_a_watch_that_receives_410_is_expired() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}
    async with opened() as session:
        session.server.then(stream_answer(event_line("ERROR", status)))
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
            Credentials(url, FixedCredential(None), FixedCredential(None)),
            ImpatientClock(),
            user_agent="t",
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


async def test_a_watch_that_does_not_end_when_it_was_asked_to_leads_nowhere() -> None:
    """A proxy, say, that forgot the other side: kernels answer, and other connections are well."""
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    clock = FakeClock()
    async with opened(clock=clock) as session:
        session.server.then(stream_answer(event_line("ADDED", {"a": 1}), until=end))
        events = session.client.watch(PODS, "ns", resource_version="5", seconds=100)
        async with aclosing(events):
            assert (await anext(events)).object == {"a": 1}
            asked = int(session.sent[0].partition("&timeoutSeconds=")[2])
            waiting = asyncio.create_task(anext(events))
            await clock.advance(asked + 4.9)
            assert not waiting.done()
            await clock.advance(0.1)
            assert waiting.done()
            with pytest.raises(Unreachable, match="the watch did not end when it should have"):
                await waiting
        end.cancel()


async def test_time_that_went_by_unnoticed_counts() -> None:
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    clock = FakeClock()
    async with opened(clock=clock) as session:
        session.server.then(stream_answer(event_line("ADDED", {}), until=end))
        events = session.client.watch(PODS, "ns", resource_version="5", seconds=100)
        async with aclosing(events):
            await anext(events)
            clock.pass_by(120)  # we were busy, or frozen
            waiting = asyncio.create_task(anext(events))
            await clock.advance(0)
            assert waiting.done()
            with pytest.raises(Unreachable):
                await waiting
        end.cancel()


async def test_an_informer_notices_a_connection_that_leads_nowhere_within_45_seconds() -> None:
    longest = round(WATCH_SECONDS * WATCH_JITTER[1]) + Timeouts().overtime
    assert longest < 45
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    clock = FakeClock()
    async with opened(clock=clock) as session:
        pods = Informer(
            session.client, PODS, transform=lambda raw: raw["n"], sources=fake_sources(clock)
        )
        changed: asyncio.Queue[Change[int]] = asyncio.Queue()
        pods.add_handler(changed.put_nowait)
        metadata = {"name": "a", "uid": "u", "resourceVersion": "8"}
        event = event_line("ADDED", {"metadata": metadata, "n": 1})
        empty = {"metadata": {"resourceVersion": "7"}, "items": []}
        watched = asyncio.Event()

        async def leads_nowhere(request: web.BaseRequest) -> web.StreamResponse:
            watched.set()
            return await stream_answer(b"", until=end)(request)

        session.server.then(
            json_answer(empty),
            leads_nowhere,
            json_answer(empty),
            stream_answer(event, until=end),
        )
        running = asyncio.create_task(pods.run())
        await pods.wait_synced()
        await watched.wait()
        asked = int(session.sent[1].partition("&timeoutSeconds=")[2])
        assert asked + Timeouts().overtime < 45
        await clock.advance(44)
        while changed.empty():
            await clock.advance(0.01)  # a pause before the next watch
        # What the first watch never told of, the second does.
        assert changed.get_nowait().new == 1
        running.cancel()
        end.cancel()


async def test_an_error_that_never_ends_is_unreachable() -> None:
    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        await asyncio.get_running_loop().create_future()
        return response

    async with opened(timeouts=Timeouts(request=0.05)) as session:
        session.server.then(endless)
        with pytest.raises(Unreachable, match="GET /api/v1/namespaces/ns/pods: no answer in time"):
            await session.watched()


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
