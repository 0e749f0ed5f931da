"""Logs of pods, read by the real client from a server on loopback."""

import asyncio
from contextlib import aclosing

import pytest
from aiohttp import web

from shared.kube import requests
from shared.kube.client import NotFound, Unauthorized, Unreachable
from shared.kube.connection import Timeouts
from tests.support.fakes.api_server import status_answer, stream_answer
from tests.support.fakes.client_session import Session, Tokens, opened

LOG = requests.pod_log("ns", "p", "main", follow=True)


async def read(session: Session, seconds: float | None = None) -> bytes:
    return b"".join([each async for each in session.client.chunks(LOG, seconds=seconds)])


async def test_a_log_arrives_in_chunks() -> None:
    async with opened() as session:
        session.server.then(stream_answer(b"one\ntw", b"o\n"))
        assert await read(session) == b"one\ntwo\n"
        assert session.sent == [f"GET {LOG.target}"]


async def test_a_log_that_cannot_be_read_is_an_error() -> None:
    async with opened() as session:
        session.server.then(status_answer(404, "NotFound", 'pods "p" not found'))
        with pytest.raises(NotFound):
            await read(session)


async def test_a_cut_log_is_unreachable() -> None:
    async with opened() as session:
        session.server.then(stream_answer(b"one\n", broken=True))
        with pytest.raises(Unreachable):
            await read(session)


async def test_credentials_are_renewed_for_a_log() -> None:
    unauthorized = status_answer(401, "Unauthorized", "who are you")
    async with opened(Tokens("Bearer a", "Bearer b")) as session:
        session.server.then(unauthorized, stream_answer(b"one\n"))
        assert await read(session) == b"one\n"
        session.server.then(unauthorized)
        with pytest.raises(Unauthorized):
            await read(session)


async def quiet(request: web.BaseRequest) -> web.StreamResponse:
    """Answers late, as a kubelet does for a container without output."""
    await asyncio.sleep(0.2)
    return await stream_answer(b"one\n")(request)


async def test_a_followed_log_may_begin_late() -> None:
    async with opened(timeouts=Timeouts(request=0.05)) as session:
        session.server.then(quiet, quiet)
        assert await read(session) == b"one\n"
        with pytest.raises(Unreachable, match="no answer in time"):
            await read(session, seconds=0.05)


async def test_a_log_is_left_early() -> None:
    never = asyncio.Event()
    async with opened() as session:
        session.server.then(stream_answer(b"one\n", until=never.wait()))
        async with aclosing(session.client.chunks(LOG)) as chunks:
            async for chunk in chunks:
                assert chunk == b"one\n"
                break
