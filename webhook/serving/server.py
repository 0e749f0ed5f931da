"""Serve the application over TLS, and end without a failed request.

uvicorn implements HTTP; this package implements accepting, signals and the end. uvicorn's own
server ends by closing its listener and every idle connection at once. Services and the API server's
connection pool notice that a moment later. Go's HTTP client does not retry a POST on a closed
connection, so requests would fail.
"""

import asyncio
import ctypes
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

import uvicorn
from uvicorn.server import ServerState

from shared.config.values import BindAddress
from shared.process.clock import Clock
from shared.process.listener import explained
from webhook.serving.connections import MOST_CONNECTIONS, Connection, ConnectionAcceptor
from webhook.serving.process import Ending

_log: Final = logging.getLogger(__name__)

# Seconds. With a shared port the kernel leads connections to this process as soon as it listens.
# The process therefore listens only when it can check requests. But probes need an answer also if
# the API server is away: after this time the process listens unless another one has the port.
PATIENCE_BEFORE_LISTENING: Final = 5.0
CHECK_FOR_OTHERS: Final = 1.0
# For requests in flight at the end; the API server gives up after as many.
LAST_REQUESTS: Final = 10.0
# For clients that were just connecting: a few round trips of a packet.
LAST_CONNECTIONS: Final = 0.05
# For the TLS handshake of the last client.
LAST_HANDSHAKES: Final = 0.2
# For the first request on a connection that has none yet.
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
# The addresses that reach a listener on every address.
_LOOPBACK: Final = {"::": "::1", "0.0.0.0": "127.0.0.1"}


class Server:
    """Serve `app` on `bound`, a socket that has its port but does not listen yet.

    After a request to end the server keeps serving for `drain_period` seconds; a second request
    (`ending.skip_drain`) cuts them short. `tls` is None only in tests.
    """

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        bound: socket.socket,
        tls: ssl.SSLContext | None,
        clock: Clock,
        ending: Ending,
        *,
        drain_period: float,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        # The address to listen on.
        self.address = BindAddress(*bound.getsockname()[:2])
        self._bound = bound
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
        self._accepted_last = 0.0
        self._ending = ending
        self._asked = asyncio.Event()

    def problem(self) -> str | None:
        """Return why this replica is not ready for new clients, None if it is."""
        return "this replica is ending" if self._asked.is_set() else None

    def drain(self) -> None:
        """Ask `run` to end, as the `drain` of a `shared.process.supervisor.Runnable`."""
        if self._asked.is_set():
            return
        self._asked.set()
        # This header of all following answers, also of requests in flight, keeps clients from
        # using their connection again. Changed in place: the protocol holds this list itself.
        self._state.default_headers.append((b"connection", b"close"))

    async def may_listen(self, is_ready: Callable[[], bool]) -> bool:
        """Wait until `is_ready`, or too long. False if the server was asked to end meanwhile."""
        deadline = self._clock.monotonic() + PATIENCE_BEFORE_LISTENING
        while not is_ready() and not self._asked.is_set():
            if self._clock.monotonic() >= deadline:
                if not await self._is_served_by_another():
                    break
                deadline = self._clock.monotonic() + CHECK_FOR_OTHERS
            await self._wait(_STEP, self._asked)
        return not self._asked.is_set()

    async def _is_served_by_another(self) -> bool:
        """True if another process listens on the shared port."""
        host = _LOOPBACK.get(self.address.host, self.address.host)
        try:
            async with asyncio.timeout(CHECK_FOR_OTHERS):
                _, writer = await asyncio.open_connection(host, self.address.port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    async def run(self) -> None:
        """Serve until asked to end, then end in order. Raise CannotListen."""
        self._config.load()
        acceptor = ConnectionAcceptor(
            self._bound,
            self._tls,
            self._new_connection,
            lambda: self._state.connections,
            self._most_connections,
        )
        with explained(self.address):
            acceptor.open()
        _log.info("serving on %s port %s", *self.address)
        sweeping = asyncio.create_task(self._sweep())
        try:
            await self._asked.wait()
            await self._finish(acceptor)
        finally:
            sweeping.cancel()
            acceptor.close()
            acceptor.cancel_handshakes()
            for connection in list(self._state.connections):
                connection.transport.abort()

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(_SWEEP)
            for connection in list(self._state.connections):
                if isinstance(connection, Connection):
                    connection.end_if_silent()

    async def _finish(self, acceptor: ConnectionAcceptor) -> None:
        _log.info("draining: serving on for %g s", self._drain_period)
        await self._wait(self._drain_period, self._ending.skip_drain)
        stop_new_connections(self._bound)
        await self._wait(LAST_CONNECTIONS, self._ending.given_up)
        acceptor.close()
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
        if now - self._accepted_last < LAST_HANDSHAKES:
            return False  # uvicorn knows a connection only after its handshake
        return not any(
            connection.is_busy
            or (not connection.has_had_a_request and now - connection.accepted_at < FIRST_REQUEST)
            for connection in self._state.connections
            if isinstance(connection, Connection)
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

    def _new_connection(self) -> Connection:
        """Make a Connection at accept, before the handshake."""
        connection = Connection(self._config, self._state, app_state={})
        connection.monotonic = self._clock.monotonic
        connection.accepted_at = connection.waiting_since = self._clock.monotonic()
        self._accepted_last = connection.accepted_at
        return connection


# A socket filter stops new connections while clients complete those that they have begun.
#
# Closing a listening socket resets connections that were not accepted yet. Some always arrive
# between the last accept and the close. So a filter first drops packets that begin a connection
# (SYN without ACK). The client's kernel treats that as a lost packet and retries a second later.
# By then this machine's kernel leads the connection to another process with the same port.

# From the Linux API (asm-generic/socket.h); Python has no name for it.
_SO_ATTACH_FILTER: Final = 26

_FLAGS_OFFSET: Final = 13  # in the TCP header, where a socket's filter begins to read
_SYN: Final = 0x02
_ACK: Final = 0x10
# Classic BPF (linux/filter.h): load a byte, mask it, compare it, return how much to keep.
_LOAD_BYTE: Final = 0x30
_AND: Final = 0x54
_JUMP_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


_DROP_SYN: Final = (
    (_LOAD_BYTE, 0, 0, _FLAGS_OFFSET),
    (_AND, 0, 0, _SYN | _ACK),
    (_JUMP_IF_EQUAL, 0, 1, _SYN),
    (_RETURN, 0, 0, 0),
    (_RETURN, 0, 0, 0xFFFFFFFF),
)


def stop_new_connections(listening: socket.socket) -> None:
    """Drop packets that begin a connection; clients can complete those that they have begun.

    If the kernel does not allow it, only log that.
    """
    instructions = (_Instruction * len(_DROP_SYN))(*(_Instruction(*each) for each in _DROP_SYN))
    program = _Program(len(_DROP_SYN), instructions)
    try:
        listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, bytes(program))
    except OSError as error:
        _log.info("a connection that begins right now may be reset: %s", error.strerror)
