"""WebSockets to pods, opened by the real client on a server on loopback."""

import pytest
from aiohttp import WSMsgType, web

from shared.kube import requests
from shared.kube.client import Forbidden, Unauthorized, Unreachable
from shared.kube.http_client import PING_SECONDS
from shared.kube.pod_channels import COMMAND_PROTOCOLS, ENDS_CHANNELS, PORT_PROTOCOLS, STDIN
from tests.support.fakes.api_server import Handler, status_answer
from tests.support.fakes.client_session import Tokens, opened
from tests.support.fakes.fake_clock import FakeClock

EXEC = requests.pod_exec("ns", "p", "main", ["sh", "-c", "echo a b"], terminal=False)
TARGET = (
    "/api/v1/namespaces/ns/pods/p/exec?container=main&stdin=true&stdout=true&stderr=true"
    "&command=sh&command=-c&command=echo+a+b"
)


def echo(*protocols: str) -> Handler:
    """Answers each message with the same message, and closes after the second."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=protocols)
        await socket.prepare(request)
        for _ in range(2):
            message = await socket.receive()
            assert message.type is WSMsgType.BINARY
            await socket.send_bytes(message.data)
        await socket.close()
        return socket

    return answer


async def test_bytes_go_both_ways_until_the_server_closes() -> None:
    async with opened(clock=FakeClock()) as session:
        session.server.then(echo(ENDS_CHANNELS))
        async with session.client.channels(EXEC, COMMAND_PROTOCOLS) as channels:
            assert channels.can_end_channels
            await channels.send(STDIN, b"one")
            await channels.end(STDIN)
            assert await channels.receive() == (0, b"one")
            assert await channels.receive() == (255, b"\0")
            assert await channels.receive() is None
        assert session.sent == [f"GET {TARGET}"]


async def test_an_older_server_ends_no_channels() -> None:
    async with opened(clock=FakeClock()) as session:
        session.server.then(echo("v4.channel.k8s.io"))
        async with session.client.channels(EXEC, COMMAND_PROTOCOLS) as channels:
            await channels.end(STDIN)  # sends nothing
            await channels.send(STDIN, b"one")
            assert await channels.receive() == (0, b"one")


async def test_a_refusal_has_the_servers_words() -> None:
    async with opened(clock=FakeClock()) as session:
        session.server.then(status_answer(403, "Forbidden", "no pods/exec"))
        with pytest.raises(Forbidden, match="no pods/exec"):
            async with session.client.channels(EXEC, COMMAND_PROTOCOLS):
                pass


async def test_credentials_are_renewed_once() -> None:
    unauthorized = status_answer(401, "Unauthorized", "who are you")
    async with opened(Tokens("Bearer a", "Bearer b", "Bearer c"), clock=FakeClock()) as session:
        session.server.then(unauthorized, echo(*PORT_PROTOCOLS))
        async with session.client.channels(EXEC, PORT_PROTOCOLS) as channels:
            await channels.send(0, b"x")
            assert await channels.receive() == (0, b"x")
        assert [each.headers["Authorization"] for each in session.server.received] == [
            "Bearer a",
            "Bearer b",
        ]
    async with opened(Tokens("Bearer a", "Bearer b", "Bearer c"), clock=FakeClock()) as session:
        session.server.then(unauthorized, unauthorized)
        with pytest.raises(Unauthorized):
            async with session.client.channels(EXEC, PORT_PROTOCOLS):
                pass


async def test_a_server_that_is_gone_is_unreachable() -> None:
    async with opened(clock=FakeClock()) as session:
        session.server.then(echo(ENDS_CHANNELS))
        async with session.client.channels(EXEC, COMMAND_PROTOCOLS) as channels:
            await channels.socket.close()
            with pytest.raises(Unreachable, match="the connection broke"):
                await channels.send(STDIN, b"x")


async def test_silent_connections_get_pings() -> None:
    pinged: list[bytes] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        pinged.append((await socket.receive()).type.name.encode())
        await socket.close()
        return socket

    clock = FakeClock()
    async with opened(clock=clock) as session:
        session.server.then(answer)
        async with session.client.channels(EXEC, COMMAND_PROTOCOLS) as channels:
            await clock.advance(PING_SECONDS)
            assert await channels.receive() is None
    assert pinged == [b"PING"]
