"""A server over real connections of this machine, with time moved by hand, and its clients."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tests.support.fakes.fake_clock import FakeClock
from webhook.serving.process import Ending
from webhook.serving.server import Server

DRAIN = 5.0
REQUEST = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"

_PROMPT = 0.005  # seconds that a machine with room needs for a pause of one thousandth
LONG = b"x" * (16 << 20)  # more than the kernel buffers for a client that does not read


class App:
    """Answers `ok`; at /slow only once `go_on` is set, at /long LONG."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.reached = asyncio.Event()

    async def __call__(
        self, scope: dict[str, Any], _receive: object, send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["path"] == "/slow":
            self.reached.set()
            await self.go_on.wait()
        body = LONG if scope["path"] == "/long" else b"ok"
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Replica:
    """A running server, its clock, and its clients."""

    def __init__(
        self,
        listening: socket.socket,
        clock: FakeClock,
        tls: ssl.SSLContext | None = None,
        **limits: int,
    ) -> None:
        self.app = App()
        self.clock = clock
        self.ending = Ending()
        self.server = Server(
            self.app, listening, tls, clock, self.ending, drain_period=DRAIN, **limits
        )
        self.running = asyncio.create_task(self.server.run())
        self.clients: list[Client] = []

    async def connect(self) -> "Client":
        """Returns a client whose connection the server knows already."""
        client = Client(*await asyncio.open_connection(*self.server.address))
        self.clients.append(client)
        await network()
        return client

    def send_at_once(self, clients: int) -> list[socket.socket]:
        """Connects so many clients before the server runs; each sends a request."""
        made = [socket.create_connection(self.server.address) for _ in range(clients)]
        for each in made:
            each.sendall(REQUEST % b"/")
            each.setblocking(False)
        return made

    async def refuses(self) -> bool:
        """True if no new client can connect."""
        try:
            await self.connect()
        except ConnectionRefusedError:
            return True
        return False

    async def busy(self) -> "Client":
        """Returns a client whose request waits for `app.go_on`."""
        client = await self.connect()
        self.app.reached.clear()  # by the request before
        client.send("/slow")
        await self.app.reached.wait()
        return client

    async def end(self) -> None:
        self.app.go_on.set()
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await asyncio.gather(*(client.close() for client in self.clients))

    async def passes(self, seconds: float) -> None:
        """Moves time in small steps, with network traffic in each."""
        while seconds > 1e-9:
            step = min(seconds, 0.1)
            await self.clock.advance(step)
            await network()
            seconds -= step


def result(client: socket.socket) -> str:
    """Returns what a client of `send_at_once` got so far, and closes it."""
    with client:
        try:
            return client.recv(65536)[-2:].decode() or "closed"
        except ConnectionResetError:
            return "closed"
        except BlockingIOError:
            return "nothing"


async def network() -> None:
    """Delivers all written bytes: the loop polls its sockets in each round.

    A busy kernel delivers them later, in a thread of its own, which gets a turn meanwhile. Where
    this thread waits for its own turn, so does that one: then it gets more of them.
    """
    now, turns, late = asyncio.get_running_loop().time, 0, 0
    while turns < 2 + late:
        for _ in range(30):
            await asyncio.sleep(0)
        began = now()
        await asyncio.sleep(0.001)
        turns += 1
        late = min(late + (now() - began > _PROMPT), 3)


class Client:
    """One connection that stays open as long as the server lets it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, path: str) -> None:
        self.send_raw(REQUEST % path.encode())

    def send_raw(self, text: bytes) -> None:
        self._writer.write(text)

    def leave(self) -> None:
        """Ends the client's output; it could still read."""
        self._writer.write_eof()

    async def answer(self) -> tuple[str, bool]:
        """Returns status and body, and whether the server requested a close."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        body = (await self._reader.readexactly(2)).decode()
        return f"{head.split()[1]} {body}", "connection: close" in head

    async def status(self) -> str:
        return (await self._reader.readuntil(b"\r\n\r\n")).decode().split()[1]

    async def reads(self, size: int) -> None:
        """Reads that many bytes. Raises ConnectionError and IncompleteReadError at the server's
        end.
        """
        await self._reader.readexactly(size)

    async def ask(self, path: str = "/") -> tuple[str, bool]:
        self.send(path)
        return await self.answer()

    @property
    def was_closed(self) -> bool:
        return self._reader.at_eof() or self._reader.exception() is not None

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
