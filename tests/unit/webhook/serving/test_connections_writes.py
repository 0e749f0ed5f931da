"""What a connection writes: head and body of an answer at once."""

import asyncio
from typing import Any, cast

import uvicorn
from uvicorn.server import ServerState

from tests.support.fakes.serving_replica import REQUEST, App
from webhook.serving.connections import Connection


class Transport:
    """Keeps what is done to it."""

    def __init__(self) -> None:
        self.done: list[bytes | str] = []

    def get_extra_info(self, _name: str) -> None:
        return None

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append("close")

    def is_closing(self) -> bool:
        return "close" in self.done

    def resume_reading(self) -> None:
        pass


async def served(request: bytes) -> list[bytes | str]:
    """What a connection does to its transport when a client has sent `request`."""
    config = uvicorn.Config(cast(Any, App()), lifespan="off", log_config=None)
    config.load()
    connection = Connection(config, ServerState(), app_state={})
    connection.monotonic = asyncio.get_running_loop().time
    transport = Transport()
    connection.connection_made(cast(asyncio.Transport, transport))
    connection.data_received(request)
    for _ in range(3):
        await asyncio.sleep(0)
    connection.connection_lost(ConnectionResetError())  # ends its timer
    return transport.done


ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n%s\r\nok"


async def test_head_and_body_are_written_at_once() -> None:
    assert await served(REQUEST % b"/") == [ANSWER % b""]


async def test_an_answer_is_written_before_its_connection_is_closed() -> None:
    last = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert await served(last) == [ANSWER % b"connection: close\r\n", "close"]
