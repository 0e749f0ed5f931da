"""A TCP proxy in front of a server that a test takes away in the ways in which networks do."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class UnreliableProxy:
    """`async with UnreliableProxy(server) as proxy:` listens on loopback; `proxy.url` leads there.

    Bytes go through untouched, so TLS is between client and server.
    """

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = parts.hostname, parts.port
        self._swallowing = False
        self._open: set[_Passage] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._port = 0
        self.accepted = 0

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.refuse()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    @property
    def held(self) -> int:
        """How many connections are open that lead nowhere."""
        return sum(passage.lost for passage in self._open)

    def lose_connections(self) -> None:
        """What is open stays open, and nothing more gets through it, for ever."""
        for passage in self._open:
            passage.lost = True

    def swallow(self) -> None:
        """The same, and new connections are accepted and lead nowhere too, until `heal`."""
        self._swallowing = True
        self.lose_connections()

    def heal(self) -> None:
        """New connections get through; those that were lost stay so."""
        self._swallowing = False

    async def refuse(self) -> None:
        """The server is gone: connections are reset, and new ones refused until `accept`."""
        self._server.close()
        for passage in self._open:
            passage.reset()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def accept(self) -> None:
        """It is back, on the same port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self.accepted += 1
        passage = _Passage(writer, lost=self._swallowing)
        self._open.add(passage)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await passage.run(reader, self._target)
        finally:
            passage.reset()
            self._open.discard(passage)
            self._serving.discard(task)


class _Passage:
    """One connection through the proxy."""

    def __init__(self, client: asyncio.StreamWriter, *, lost: bool) -> None:
        self._writers = [client]
        self.lost = lost

    async def run(self, reader: asyncio.StreamReader, target: tuple[str, int]) -> None:
        """Until the client closes it, or the server while it still gets through."""
        if self.lost:
            while await reader.read(65536):
                pass
            return
        from_server, to_server = await _connected(target)
        self._writers.append(to_server)
        down = asyncio.create_task(self._pump(from_server, self._writers[0]))
        try:
            up = asyncio.create_task(self._pump(reader, to_server))
            try:
                await asyncio.wait([down, up], return_when=asyncio.FIRST_COMPLETED)
                if self.lost:
                    await up  # whatever the server does, the client does not hear of it
            finally:
                up.cancel()
        finally:
            down.cancel()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if not self.lost:
                sink.write(data)
                await sink.drain()

    def reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


async def _connected(target: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Cancelled in the middle, it leaves no connection that nobody would close."""
    connecting = asyncio.create_task(asyncio.open_connection(*target))
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        with suppress(OSError):
            _, writer = await connecting
            writer.transport.abort()
        raise
