"""Probes over a real socket of this machine."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus

import pytest

from shared.config.values import BindAddress
from shared.process.listener import Answer, CannotListen, Listener


@pytest.fixture
async def port() -> AsyncIterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    paths = {
        "/healthz": lambda: Answer(HTTPStatus.OK, b"ok\n"),
        "/readyz": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"not yet\n"),
    }
    listener = Listener(BindAddress("127.0.0.1", number), paths)
    listener.open()
    running = asyncio.create_task(listener.run())
    for _ in range(5):
        await asyncio.sleep(0)
    yield number
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def asked(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        (b"GET /healthz HTTP/1.1", b"200 OK", b"ok\n"),
        (b"GET /healthz?verbose HTTP/1.1", b"200 OK", b"ok\n"),
        (b"GET /readyz HTTP/1.1", b"503 Service Unavailable", b"not yet\n"),
        (b"GET /secret HTTP/1.1", b"404 Not Found", b"not found\n"),
        (b"POST /healthz HTTP/1.1", b"404 Not Found", b"not found\n"),
        (b"\xff", b"404 Not Found", b"not found\n"),
    ],
)
async def test_answers(port: int, request_line: bytes, status: bytes, body: bytes) -> None:
    answer = await asked(port, request_line + b"\r\nHost: x\r\n\r\n")
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 " + status
    assert b"Content-Length: %d" % len(body) in head
    assert rest == body


async def test_an_endless_header_is_cut_off(port: int) -> None:
    with suppress(ConnectionResetError):
        assert await asked(port, b"GET /healthz HTTP/1.1\r\nA: " + b"a" * 200_000) == b""
    assert (await asked(port, b"GET /healthz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def test_a_port_that_is_taken_is_an_error(port: int) -> None:
    with pytest.raises(CannotListen) as raised:
        Listener(BindAddress("127.0.0.1", port), {}).open()
    assert str(raised.value) == (f"cannot listen on 127.0.0.1 port {port}: Address already in use")


def test_a_listener_that_never_ran_gives_its_port_back() -> None:
    listener = Listener(BindAddress("127.0.0.1", 0), {})
    listener.close()
    listener.open()
    listener.close()
