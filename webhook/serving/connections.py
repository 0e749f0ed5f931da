"""Limit the connections: every client in the cluster can connect, and probes must always connect.

At most MOST_CONNECTIONS are open at once. One more takes the place of the connection whose client
has been silent longest: in the handshake, without a request, in the middle of one, or with an
answer unread. A connection that waits for the webhook's answer stays.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shared.process.listener import BACKLOG

_log: Final = logging.getLogger(__name__)

# An API server opens one for each concurrent request, by default at most 600.
MOST_CONNECTIONS: Final = 1000
# Bytes. The API server's heads have less than one KiB; httptools has no limit.
LARGEST_HEAD: Final = 64 * 1024
# Seconds for the head of a request, since the connection began or since its last answer. Longer
# than uvicorn's keep-alive, which ends with a single byte and never starts on a connection without
# any request.
LONGEST_WAIT: Final = 130.0
_HANDSHAKE: Final = 10.0
# Connections per event, so that handshakes continue while many clients connect.
_ACCEPTED_AT_ONCE: Final = 64
# Seconds without accepting after an error, for example without a free descriptor.
_PAUSE: Final = 1.0


class Connection(HttpToolsProtocol):
    """One connection, with limits for its client's silence."""

    monotonic: Callable[[], float]
    accepted_at: float = 0.0
    waiting_since: float = 0.0
    has_had_an_answer: bool = False
    was_evicted: bool = False
    _head: int | None = 0  # bytes of an unfinished head; None from its end to the answer

    def data_received(self, data: bytes) -> None:
        """Parse the data. Abort the connection if the head is too large."""
        super().data_received(data)
        if self._head is None:
            return
        self._head += len(data)
        if self._head > LARGEST_HEAD:
            _log.warning("a request's head is larger than %d bytes", LARGEST_HEAD)
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """Stop counting the head: the application limits the body."""
        self._head = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.is_busy:  # with a pipelined request
            self._head = 0
        self.has_had_an_answer = True
        self.waiting_since = self.monotonic()

    def end_if_silent(self) -> None:
        """Abort the connection if its client was silent, or read no answer, for too long."""
        waits = not self.is_busy or self.flow.write_paused
        if waits and self.monotonic() - self.waiting_since >= LONGEST_WAIT:
            self.transport.abort()

    def evict(self) -> None:
        """Abort the connection. Closing would wait until the client has read everything."""
        self.was_evicted = True
        self.transport.abort()

    @property
    def is_busy(self) -> bool:
        """True if a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def waits_for_us(self) -> bool:
        """True if a complete request is not answered yet.

        False if the client has not read the previous answer: the connection waits for the client.
        """
        return self.is_busy and not self.cycle.more_body and not self.flow.write_paused

    @property
    def has_had_a_request(self) -> bool:
        """True after the first request."""
        return self.cycle is not None


class ConnectionAcceptor:
    """Accept connections on `bound`, a socket that does not listen yet.

    `new` makes a Connection at accept; `open_ones` returns the connections after their handshake.
    `tls` is None only in tests.
    """

    def __init__(
        self,
        bound: socket.socket,
        tls: ssl.SSLContext | None,
        new: Callable[[], Connection],
        open_ones: Callable[[], Iterable[asyncio.Protocol]],
        most: int,
    ) -> None:
        self._bound = bound
        self._tls = tls
        self._new = new
        self._open_ones = open_ones
        self._most = most
        self._connecting: dict[asyncio.Task[None], Connection] = {}  # until after the handshake
        self._loop = asyncio.get_running_loop()
        self._is_open = False

    def open(self) -> None:
        """Listen and accept. Raise OSError."""
        self._bound.setblocking(False)
        self._bound.listen(BACKLOG)
        self._is_open = True
        self._loop.add_reader(self._bound, self._accept)

    def close(self) -> None:
        """Accept the connections in the backlog, then stop listening."""
        if self._is_open:
            self._is_open = False
            while self._accept():
                pass
            self._loop.remove_reader(self._bound)
            self._bound.close()

    def cancel_handshakes(self) -> None:
        """Cancel every handshake."""
        for task in self._connecting:
            task.cancel()

    def _accept(self) -> bool:
        """Accept connections. True if the backlog may hold more."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connected, _address = self._bound.accept()
            except BlockingIOError:
                return False
            except ConnectionAbortedError:
                continue
            except OSError as error:
                self._pause(error)
                return False
            if not self._has_room():
                connected.close()
                continue
            connection = self._new()
            task = self._loop.create_task(self._welcome(connected, connection))
            self._connecting[task] = connection
            task.add_done_callback(self._connecting.pop)
        return True

    async def _welcome(self, connected: socket.socket, connection: Connection) -> None:
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                connected,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else _HANDSHAKE,
            )
        except OSError as error:  # also TLS errors: the client's failure
            _log.debug("a handshake failed: %s", error)

    def _pause(self, error: OSError) -> None:
        _log.warning("no connection can be accepted for %g s: %s", _PAUSE, error)
        self._loop.remove_reader(self._bound)
        self._loop.call_later(_PAUSE, self._go_on)

    def _go_on(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._bound, self._accept)

    def _has_room(self) -> bool:
        """Make room. End the longest silent connection, first of those without an answer so far."""
        if len(self._connecting) + sum(1 for _ in self._open_ones()) < self._most:
            return True
        first = min(self._waiting(), key=lambda each: each[0], default=None)
        if first is None:
            return False
        first[1]()
        return True

    def _waiting(self) -> Iterator[tuple[tuple[bool, float], Callable[[], object]]]:
        """Yield each connection's rank (the lowest ends first) and the function that ends it."""
        for task, connection in self._connecting.items():
            if not task.cancelling():
                yield (False, connection.accepted_at), task.cancel
        for each in self._open_ones():
            if not isinstance(each, Connection) or each.was_evicted:
                continue
            if not each.waits_for_us:
                yield (each.has_had_an_answer, each.waiting_since), each.evict
