"""A TCP proxy in front of a server, which a test interrupts as networks do."""

import asyncio
import socket
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class UnreliableProxy:
    """`async with UnreliableProxy(server) as proxy:` listens on loopback; `proxy.url` leads there.

    Bytes pass unchanged, so TLS is between client and server.
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
        self._listener: socket.socket | None = None
        self._placeholder: socket.socket | None = None  # has the port while it is refused
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
        if self._placeholder is not None:
            self._placeholder.close()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    @property
    def held(self) -> int:
        """Returns how many open connections lead nowhere."""
        return sum(passage.lost for passage in self._open)

    def lose_connections(self) -> None:
        """Keeps open connections open, but passes no more bytes, ever."""
        for passage in self._open:
            passage.lost = True

    def swallow(self) -> None:
        """Does the same, and also accepts new connections that lead nowhere, until `heal`."""
        self._swallowing = True
        self.lose_connections()

    def heal(self) -> None:
        """Passes new connections; lost ones stay lost."""
        self._swallowing = False

    async def refuse(self) -> None:
        """Acts as if the server was gone: resets connections, refuses new ones until `accept`."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
            # Connections to it are refused, and no other program picks the port meanwhile.
            self._placeholder = _bound(self._port)
        for passage in self._open:
            passage.reset()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def accept(self) -> None:
        """Listens again, on the same port."""
        # Not asyncio's own server (3.11): a connection just accepted when it closes stays open.
        listener = self._listener = self._placeholder or _bound(0)
        self._placeholder = None
        listener.listen()
        self._port = listener.getsockname()[1]
        asyncio.get_running_loop().add_reader(listener, self._take, listener)

    def _take(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:  # the client has gone already
            return
        connection.setblocking(False)
        self.accepted += 1
        passage = _Passage(connection, lost=self._swallowing)
        self._open.add(passage)
        task = asyncio.create_task(self._serve(passage))
        self._serving.add(task)

        def over(task: asyncio.Task[None]) -> None:
            # Here: a task that is cancelled before its first step would close nothing itself.
            passage.reset()
            self._open.discard(passage)
            self._serving.discard(task)

        task.add_done_callback(over)

    async def _serve(self, passage: "_Passage") -> None:
        with suppress(OSError, asyncio.CancelledError):
            await passage.run(self._target)


def _bound(port: int) -> socket.socket:
    """Returns a socket that has the port, or a free one for 0, and does not listen yet."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    bound.setblocking(False)
    return bound


class _Passage:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, *, lost: bool) -> None:
        self._client: socket.socket | None = client  # until a transport owns it
        self._writers: list[asyncio.StreamWriter] = []
        self.lost = lost

    async def run(self, target: tuple[str, int]) -> None:
        """Runs until the client closes it, or the server while it is still connected."""
        client, self._client = self._client, None
        reader, to_client = await asyncio.open_connection(sock=client)
        self._writers.append(to_client)
        if self.lost:
            while await reader.read(65536):
                pass
            return
        from_server, to_server = await _connected(target)
        self._writers.append(to_server)
        down = asyncio.create_task(self._pump(from_server, to_client))
        try:
            up = asyncio.create_task(self._pump(reader, to_server))
            try:
                await asyncio.wait([down, up], return_when=asyncio.FIRST_COMPLETED)
                if self._is_lost():
                    await up  # whatever the server does, the client does not notice
            finally:
                up.cancel()
        finally:
            down.cancel()

    def _is_lost(self) -> bool:
        """True if it is lost by now; mypy would assume that an attribute has not changed."""
        return self.lost

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if not self.lost:
                sink.write(data)
                await sink.drain()

    def reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        if self._client is not None:
            self._client.close()


async def _connected(target: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects; if cancelled meanwhile, it closes the half-made connection."""
    connecting = asyncio.create_task(asyncio.open_connection(*target))
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        with suppress(OSError):
            _, writer = await connecting
            writer.transport.abort()
        raise
