"""How a replica begins and ends, over real connections of this machine, with time moved by hand."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from shared.config.bind_address import BindAddress
from shared.listening import CannotListen, take
from tests.builders.fake_clock import FakeClock
from webhook.serving.ending import Ending
from webhook.serving.server import (
    LAST_CONNECTIONS,
    LAST_GOODBYES,
    LAST_REQUESTS,
    LONGEST_END,
    Server,
)

DRAIN = 5.0
LISTENER_CLOSES = DRAIN + 0.05


class App:
    """Answers `ok`; at /slow only once `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.reached = asyncio.Event()

    async def __call__(
        self, scope: dict[str, Any], _receive: object, send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["path"] == "/slow":
            self.reached.set()
            await self.go_on.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


class Replica:
    """A running server, its clock, and clients to it."""

    def __init__(self, taken: socket.socket, clock: FakeClock) -> None:
        self.app = App()
        self.clock = clock
        self.ending = Ending()
        self.server = Server(self.app, taken, None, clock, self.ending, drain_period=DRAIN)
        self.running = asyncio.create_task(self.server.run())
        self.clients: list[Client] = []

    async def connect(self) -> "Client":
        """A client whose connection the server knows already."""
        client = Client(*await asyncio.open_connection(*self.server.address))
        self.clients.append(client)
        await network()
        return client

    async def refuses(self) -> bool:
        """Whether nobody new gets in."""
        try:
            await self.connect()
        except ConnectionRefusedError:
            return True
        return False

    async def busy(self) -> "Client":
        """A client whose request waits for `app.go_on`."""
        client = await self.connect()
        client.send("/slow")
        await self.app.reached.wait()
        return client

    async def end(self) -> None:
        self.app.go_on.set()
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await asyncio.gather(*(client.close() for client in self.clients))

    async def passes(self, seconds: float) -> None:
        """Moves time in small steps, and lets the network do its part in each."""
        while seconds > 1e-9:
            step = min(seconds, 0.1)
            await self.clock.advance(step)
            await network()
            seconds -= step


async def network() -> None:
    """Lets what is written on this machine arrive: the loop looks at its sockets in each round."""
    for _ in range(30):
        await asyncio.sleep(0)


@pytest.fixture
async def replica() -> AsyncIterator[Replica]:
    made = Replica(take(BindAddress("127.0.0.1", 0), shared=True), FakeClock())
    await network()
    yield made
    await made.end()


class Client:
    """One connection that stays open as long as the server lets it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, path: str) -> None:
        self._writer.write(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n")

    async def answer(self) -> tuple[str, bool]:
        """Status and body, and whether the server asked to close."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        body = (await self._reader.readexactly(2)).decode()
        return f"{head.split()[1]} {body}", "connection: close" in head

    async def status(self) -> str:
        return (await self._reader.readuntil(b"\r\n\r\n")).decode().split()[1]

    async def ask(self, path: str = "/") -> tuple[str, bool]:
        self.send(path)
        return await self.answer()

    @property
    def was_closed(self) -> bool:
        return self._reader.at_eof()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


async def test_connections_stay_open_in_normal_times(replica: Replica) -> None:
    client = await replica.connect()
    assert await client.ask() == ("200 ok", False)
    assert await client.ask() == ("200 ok", False)
    assert replica.server.problem() is None


async def test_it_says_at_once_that_it_ends_and_serves_on(replica: Replica) -> None:
    before = await replica.connect()
    await before.ask()
    replica.server.drain()
    assert replica.server.problem() == "this replica is ending"
    await replica.passes(DRAIN - 0.1)
    # Clients of before and new ones are served, and asked to come no more on this connection.
    assert await before.ask() == ("200 ok", True)
    assert await (await replica.connect()).ask() == ("200 ok", True)
    assert not replica.running.done()


async def test_a_request_in_flight_when_it_was_asked_to_end_closes_its_connection(
    replica: Replica,
) -> None:
    client = await replica.busy()
    replica.server.drain()
    replica.app.go_on.set()
    assert await client.answer() == ("200 ok", True)
    await network()
    assert client.was_closed


async def test_nobody_new_gets_in_after_the_drain_period_and_idle_connections_go_last(
    replica: Replica,
) -> None:
    idle, busy = await replica.connect(), await replica.busy()
    await idle.ask()
    replica.server.drain()
    await replica.passes(LISTENER_CLOSES + 0.5)
    assert await replica.refuses()
    assert not idle.was_closed
    assert not replica.running.done()
    replica.app.go_on.set()
    assert await busy.answer() == ("200 ok", True)
    await replica.passes(0.1)
    assert idle.was_closed
    await replica.running


async def test_an_idle_connection_is_answered_while_others_are_waited_for(
    replica: Replica,
) -> None:
    idle = await replica.connect()
    await idle.ask()
    await replica.busy()
    replica.server.drain()
    await replica.passes(LISTENER_CLOSES + 5)
    assert await idle.ask() == ("200 ok", True)


async def test_who_connected_last_may_send_a_first_request(replica: Replica) -> None:
    replica.server.drain()
    await replica.passes(DRAIN - 0.1)
    late = await replica.connect()
    await replica.passes(0.9)
    assert not replica.running.done()
    assert await late.ask() == ("200 ok", True)
    await replica.passes(0.1)
    await replica.running


async def test_a_connection_without_any_request_is_not_waited_for_long(replica: Replica) -> None:
    replica.server.drain()
    await replica.passes(DRAIN - 0.1)
    silent = await replica.connect()
    await replica.passes(1.2)
    assert silent.was_closed
    await replica.running


async def test_requests_in_flight_have_ten_seconds(
    replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "webhook")
    client = await replica.busy()
    replica.server.drain()
    await replica.passes(LISTENER_CLOSES + 9.9)
    assert caplog.messages == []
    await replica.passes(0.2)
    assert caplog.messages[0] == "1 requests in flight are cut off"
    assert await client.status() == "500"
    await replica.passes(0.1)
    await replica.running


async def test_hurrying_ends_the_drain_period_but_not_requests_in_flight(
    replica: Replica,
) -> None:
    client = await replica.busy()
    replica.server.drain()
    await replica.passes(0.5)
    replica.ending.hurried.set()
    await replica.passes(0.5)
    assert await replica.refuses()
    assert not replica.running.done()
    replica.app.go_on.set()
    assert await client.answer() == ("200 ok", True)
    await replica.passes(0.1)
    await replica.running


async def test_hurrying_twice_waits_for_nobody(replica: Replica) -> None:
    await replica.busy()
    replica.server.drain()
    await replica.passes(0.5)
    replica.ending.hurried.set()
    await replica.passes(0.1)
    replica.ending.given_up.set()
    await network()
    await replica.passes(0.1)
    await replica.running


async def test_it_listens_when_it_is_ready_and_not_before() -> None:
    clock, ready = FakeClock(), False
    with take(BindAddress("127.0.0.1", 0), shared=True) as taken:
        server = Server(App(), taken, None, clock, Ending(), drain_period=DRAIN)
        waiting = asyncio.create_task(server.may_listen(lambda: ready))
        await clock.advance(4.9)
        assert not waiting.done()
        with socket.socket() as client:
            assert client.connect_ex(server.address) != 0
        ready = True
        await clock.advance(0.02)
        assert await waiting is True


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
async def test_it_listens_after_five_seconds_ready_or_not(host: str) -> None:
    clock = FakeClock()
    with take(BindAddress(host, 0), shared=True) as taken:
        server = Server(App(), taken, None, clock, Ending(), drain_period=DRAIN)
        waiting = asyncio.create_task(server.may_listen(lambda: False))
        await clock.advance(4.98)
        assert not waiting.done()
        await clock.advance(0.04)
        assert await waiting is True


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
async def test_not_ready_it_takes_no_connections_from_another_that_shares_the_port(
    host: str,
) -> None:
    clock = FakeClock()
    with (
        take(BindAddress(host, 0), shared=True) as taken,
        take(BindAddress(host, taken.getsockname()[1]), shared=True) as other,
    ):
        other.listen()
        server = Server(App(), taken, None, clock, Ending(), drain_period=DRAIN)
        waiting = asyncio.create_task(server.may_listen(lambda: False))
        for _ in range(100):
            await clock.advance(0.1)
            await network()
        assert not waiting.done()
        other.close()
        for _ in range(12):
            await clock.advance(0.1)
            await network()
        assert await waiting is True


@pytest.mark.parametrize("ready", [True, False])
async def test_asked_to_end_before_it_listens_it_never_does(ready: bool) -> None:
    clock = FakeClock()
    with take(BindAddress("127.0.0.1", 0), shared=True) as taken:
        server = Server(App(), taken, None, clock, Ending(), drain_period=DRAIN)
        server.drain()
        assert await server.may_listen(lambda: ready) is False


async def test_a_port_that_somebody_took_meanwhile_is_an_error_that_names_it() -> None:
    with socket.socket() as foreign:
        foreign.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        foreign.bind(("127.0.0.1", 0))
        port = foreign.getsockname()[1]
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            foreign.listen()
            server = Server(App(), taken, None, FakeClock(), Ending(), drain_period=DRAIN)
            with pytest.raises(CannotListen) as raised:
                await server.run()
    assert str(raised.value) == f"cannot listen on 127.0.0.1 port {port}: Address already in use"


def test_the_time_for_the_end_is_enough_for_each_of_its_steps() -> None:
    assert LONGEST_END > LAST_CONNECTIONS + LAST_REQUESTS + LAST_GOODBYES
