"""A TCP proxy whose answers come late."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

from localcluster.machine.ports import HOST

_CHUNK = 65_536


class SlowNetwork:
    """`async with SlowNetwork(server, 0.1) as slow:`; `slow.url` leads to the same server.

    Bytes pass unchanged, so TLS is between client and server. All that the server sends arrives
    `seconds` late, watch events too; the number of bytes and connections has no limit.
    """

    def __init__(self, server: str, seconds: float) -> None:
        parts = urlsplit(server)
        self._target = parts.hostname, parts.port
        self._seconds = seconds

    async def __aenter__(self) -> Self:
        """Listens on loopback."""
        self._server = await asyncio.start_server(self._connect, HOST, 0)
        self.url = f"https://{HOST}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        """Accepts no more connections. Those that exist last until one side closes them."""
        self._server.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            from_server, to_server = await asyncio.open_connection(*self._target)
            await asyncio.gather(
                _pump(reader, to_server, 0.0), _pump(from_server, writer, self._seconds)
            )


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, seconds: float) -> None:
    """Passes bytes in their order: timers of one moment may fire in any."""
    waiting: deque[bytes] = deque()
    loop = asyncio.get_running_loop()
    try:
        while data := await source.read(_CHUNK):
            waiting.append(data)
            loop.call_later(seconds, lambda: sink.write(waiting.popleft()))
    finally:
        loop.call_later(seconds, sink.close)
