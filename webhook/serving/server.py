"""Serve the application over TLS, and end without a failed request.

uvicorn implements HTTP; this package implements accepting, signals and the end. uvicorn's own
server ends by closing its listener and every idle connection at once. Services and the API server's
connection pool notice that a moment later. Go's HTTP client does not retry a POST on a closed
connection, so requests would fail.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import uvicorn
from uvicorn.server import ServerState

from shared.config.values import BindAddress
from shared.process.clock import Clock
from webhook.serving.connections import Connection
from webhook.serving.process import Ending

_log: Final = logging.getLogger(__name__)

# An API server opens one for each concurrent request, by default at most 600.
MOST_CONNECTIONS: Final = 1000
# Seconds for the TLS handshake of a connection.
_HANDSHAKE: Final = 10.0
# Connections accepted before the event loop continues other handshakes.
_ACCEPTED_AT_ONCE: Final = 64
# Seconds without accepting after an error, for example without a free descriptor.
_PAUSE: Final = 1.0
# Seconds for requests in flight at the end; the API server gives up after as many.
LAST_REQUESTS: Final = 10.0
# For the handshake and the first request of a connection that has had none yet.
FIRST_REQUEST: Final = 1.0
# For the peers' goodbye on connections that the server closed.
LAST_GOODBYES: Final = 1.0
# All of these together, after the drain period.
LONGEST_END: Final = 12.0
_STEP: Final = 0.02
# Longer than the API server keeps an idle connection (90 s): normally this server never closes one
# just as a request arrives.
_KEEP_ALIVE: Final = 120
_SWEEP: Final = 10.0


class Server:
    """Serve `app` on the socket `listening`, which the server closes at the end.

    At most `most_connections` are open at once. One more takes the place of the connection whose
    client has been silent longest: in the handshake, without a request, in the middle of one, or
    with an answer unread. A connection that waits for the webhook's answer stays.

    After a request to end the server keeps serving for `drain_period` seconds; a second request
    (`ending.skip_drain`) cuts them short. `tls` is None only in tests.
    """

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        listening: socket.socket,
        tls: ssl.SSLContext | None,
        clock: Clock,
        ending: Ending,
        *,
        drain_period: float,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        self.address = BindAddress(*listening.getsockname()[:2])
        self._listening = listening
        self._tls = tls
        self._clock = clock
        self._drain_period = drain_period
        self._most_connections = most_connections
        self._config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE,
        )
        self._state = ServerState()
        # uvicorn knows a connection only after its handshake.
        self._in_handshake: set[Connection] = set()
        self._failed = asyncio.Event()  # to accept a connection
        self._ending = ending
        self._draining = asyncio.Event()

    def problem(self) -> str | None:
        """Return why this replica is not ready for new clients, None if it is."""
        return "this replica is ending" if self._draining.is_set() else None

    def drain(self) -> None:
        """Ask `run` to end, as the `drain` of a `shared.process.supervisor.Runnable`."""
        if self._draining.is_set():
            return
        self._draining.set()
        # This header of all following answers, also of requests in flight, keeps clients from
        # using their connection again. Changed in place: the protocol holds this list itself.
        self._state.default_headers.append((b"connection", b"close"))

    async def run(self) -> None:
        """Serve until asked to end, then end in order."""
        self._config.load()
        self._listening.setblocking(False)
        async with asyncio.TaskGroup() as tasks:
            accepting = tasks.create_task(self._accept())
            sweeping = tasks.create_task(self._sweep())
            _log.info("serving on %s port %s", *self.address)
            try:
                await self._draining.wait()
                _log.info("draining: serving on for %g s", self._drain_period)
                await self._wait(self._drain_period, self._ending.skip_drain)
                # No Service leads to this replica by now.
                await self._stop_accepting(accepting)
                await self._finish()
            finally:
                await self._stop_accepting(accepting)
                sweeping.cancel()
                for connection in list(self._connections()):
                    connection.evict()

    async def _accept(self) -> None:
        """Accept connections until cancelled, with a pause after an error. Then close the port."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                self._failed.clear()
                loop.add_reader(self._listening, self._accept_waiting)
                await self._failed.wait()
                loop.remove_reader(self._listening)
                await self._clock.sleep(_PAUSE)
        finally:
            loop.remove_reader(self._listening)
            self._accept_waiting()  # closing the port resets connections in its backlog
            self._listening.close()

    def _accept_waiting(self) -> None:
        """Accept connections from the backlog, in each round of the event loop so many.

        Between two large bodies there are few rounds, in which other clients connect.
        """
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connected, _address = self._listening.accept()
            except ConnectionAbortedError:
                continue
            except BlockingIOError:
                return
            except OSError as error:
                _log.warning("no connection can be accepted for %g s: %s", _PAUSE, error)
                self._failed.set()
                return
            if self._make_room():
                self._welcome(connected)
            else:
                connected.close()

    async def _stop_accepting(self, accepting: asyncio.Task[None]) -> None:
        accepting.cancel()
        await asyncio.wait((accepting,))

    def _welcome(self, connected: socket.socket) -> None:
        connection = Connection(self._config, self._state, app_state={})
        connection.monotonic = self._clock.monotonic
        connection.accepted_at = connection.waiting_since = self._clock.monotonic()
        connection.handshake = asyncio.create_task(self._shake_hands(connected, connection))
        self._in_handshake.add(connection)

        def forget(handshake: asyncio.Task[None]) -> None:
            self._in_handshake.discard(connection)
            if handshake.cancelled():  # maybe before it began
                connected.close()

        connection.handshake.add_done_callback(forget)

    async def _shake_hands(self, connected: socket.socket, connection: Connection) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                connected,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else _HANDSHAKE,
            )
        except OSError as error:  # also TLS errors: the client's failure
            _log.debug("a handshake failed: %s", error)

    def _make_room(self) -> bool:
        """End the longest silent connection if there is no room: first of those without answer."""
        everyone = list(self._connections())
        if len(everyone) < self._most_connections:
            return True
        silent = [one for one in everyone if not one.was_evicted and not one.waits_for_us]
        if not silent:
            return False
        min(silent, key=lambda one: (one.has_had_an_answer, one.waiting_since)).evict()
        return True

    def _connections(self) -> Iterator[Connection]:
        yield from self._in_handshake
        yield from (one for one in self._state.connections if isinstance(one, Connection))

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(_SWEEP)
            for connection in list(self._connections()):
                connection.end_if_silent()

    async def _finish(self) -> None:
        await self._until(self._is_all_answered, LAST_REQUESTS)
        if self._state.tasks:
            # Their clients receive a 500.
            _log.warning("%d requests in flight are cut off", len(self._state.tasks))
            for task in self._state.tasks:
                task.cancel()
        # No client used these for the whole drain period, so a request right now is unlikely.
        for connection in list(self._state.connections):
            connection.shutdown()
        await self._until(lambda: not self._state.connections, LAST_GOODBYES)

    def _is_all_answered(self) -> bool:
        now = self._clock.monotonic()
        return not any(
            one.is_busy or (not one.has_had_a_request and now - one.accepted_at < FIRST_REQUEST)
            for one in self._connections()
        )

    async def _until(self, condition: Callable[[], bool], limit: float) -> None:
        deadline = self._clock.monotonic() + limit
        while not condition() and self._clock.monotonic() < deadline:
            await self._wait(_STEP, self._ending.given_up)
            if self._ending.given_up.is_set():
                return

    async def _wait(self, seconds: float, event: asyncio.Event) -> None:
        """Wait until `event`, at most so many seconds."""
        timer = asyncio.create_task(self._clock.sleep(seconds))
        awaited = asyncio.create_task(event.wait())
        try:
            await asyncio.wait((timer, awaited), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            awaited.cancel()
