"""Probes over a real socket of this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from aiohttp import web

from shared.config.values import BindAddress
from shared.process.listener import CannotListen, Listener


def broken() -> web.Response:
    raise ValueError("SECRET")


@pytest.fixture
async def port() -> AsyncIterator[int]:
    paths = {
        "/healthz": lambda: web.Response(text="ok\n"),
        "/broken": broken,
        "/readyz": lambda: web.Response(text="not yet\n", status=503),
    }
    listener = Listener(BindAddress("127.0.0.1", 0), paths)
    listener.open()
    assert listener._socket is not None
    number: int = listener._socket.getsockname()[1]
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
    ],
)
async def test_answers(port: int, request_line: bytes, status: bytes, body: bytes) -> None:
    answer = await asked(port, request_line + b"\r\nHost: x\r\n\r\n")
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 " + status
    assert b"Content-Length: %d" % len(body) in head
    assert rest == body


@pytest.mark.parametrize(
    "sent", [b"\xff\r\n\r\n", b"GET /healthz HTTP/1.1\r\nA: " + b"a" * 200_000]
)
async def test_a_malformed_or_endless_head_is_rejected_and_not_logged(
    port: int, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with suppress(ConnectionError):
        assert (await asked(port, sent)).startswith(b"HTTP/1.0 400 Bad Request")
    assert (await asked(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")).startswith(
        b"HTTP/1.1 200"
    )
    assert [found for found in caplog.records if found.levelname != "INFO"] == []


async def test_a_silent_connection_is_aborted_after_five_seconds(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.process.listener._LONGEST", 0.0)
    with suppress(ConnectionError):
        assert await asked(port, b"") == b""


async def test_the_end_waits_for_no_body_that_a_client_does_not_send() -> None:
    listener = Listener(BindAddress("127.0.0.1", 0), {"/healthz": lambda: web.Response(text="ok")})
    listener.open()
    assert listener._socket is not None
    running = asyncio.create_task(listener.run())
    reader, writer = await asyncio.open_connection(*listener._socket.getsockname())
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    running.cancel()
    done, _ = await asyncio.wait({running}, timeout=5.0)  # aiohttp's default takes ten
    assert done
    writer.close()


async def test_a_path_that_fails_answers_500_and_logs_no_content(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await asked(port, b"GET /broken HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert answer.endswith(b"failed\n")
    assert caplog.messages[-1] == "a request failed: ValueError"
    assert "SECRET" not in caplog.text


async def test_a_port_that_is_taken_is_an_error(port: int) -> None:
    with pytest.raises(CannotListen) as raised:
        Listener(BindAddress("127.0.0.1", port), {}).open()
    assert str(raised.value) == (f"cannot listen on 127.0.0.1 port {port}: Address already in use")


def test_a_listener_that_never_ran_gives_its_port_back() -> None:
    listener = Listener(BindAddress("127.0.0.1", 0), {})
    listener.close()
    listener.open()
    listener.close()
