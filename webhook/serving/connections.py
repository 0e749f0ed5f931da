"""Who may be connected: anybody in the cluster can connect, and probes always have to.

At most MOST_CONNECTIONS at once. One more takes the place of whoever has waited longest: for its
handshake, with nothing asked, in the middle of a request, or with an answer unread. Who waits for
an answer of ours stays.
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

# An API server has one for each request that it asks about at the same moment, 600 by default.
MOST_CONNECTIONS: Final = 1000
# Bytes. The API server's heads have less than one KiB; httptools would collect for ever.
LARGEST_HEAD: Final = 64 * 1024
# Seconds for the head of a request, from the connection's beginning or the last answer on: longer
# than uvicorn's keep-alive, which a single byte ends and which a connection without any request
# never begins.
LONGEST_WAIT: Final = 130.0
_HANDSHAKE: Final = 10.0
# At one event, so that handshakes go on while many connect.
_ACCEPTED_AT_ONCE: Final = 64
# Seconds, where the system has no descriptor left.
_PAUSE: Final = 1.0


class Connection(HttpToolsProtocol):
    """One connection. What it waits for is bounded."""

    monotonic: Callable[[], float]
    accepted_at: float = 0.0
    waiting_since: float = 0.0
    has_had_an_answer: bool = False
    was_turned_out: bool = False
    _head: int | None = 0  # bytes of an unfinished one; None from its end to the answer

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        super().data_received(data)
        if self._head is None:
            return
        self._head += len(data)
        if self._head > LARGEST_HEAD:
            _log.warning("a request's head is larger than %d bytes", LARGEST_HEAD)
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """Of the parser: from here on the application bounds what comes."""
        self._head = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Of the answer."""
        super().on_response_complete()
        if not self.is_busy:  # with one that was sent behind it
            self._head = 0
        self.has_had_an_answer = True
        self.waiting_since = self.monotonic()

    def end_if_silent(self) -> None:
        """Closes it where no request came, or no answer was read, for too long."""
        waits = not self.is_busy or self.flow.write_paused
        if waits and self.monotonic() - self.waiting_since >= LONGEST_WAIT:
            self.transport.abort()

    def turn_out(self) -> None:
        """At once. Merely closing waits until everything is read."""
        self.was_turned_out = True
        self.transport.abort()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def waits_for_us(self) -> bool:
        """Whether a request has come to its end, and is not answered yet.

        Where the answer before it is not even read, this one waits for its client.
        """
        return self.is_busy and not self.cycle.more_body and not self.flow.write_paused

    @property
    def has_had_a_request(self) -> bool:
        """Whether any request came."""
        return self.cycle is not None


class Door:
    """Accepts connections on `taken`, a socket that does not listen yet.

    `new` makes one, at the moment it is accepted; `open_ones` are those after their handshake.
    `tls` None is for tests.
    """

    def __init__(
        self,
        taken: socket.socket,
        tls: ssl.SSLContext | None,
        new: Callable[[], Connection],
        open_ones: Callable[[], Iterable[asyncio.Protocol]],
        most: int,
    ) -> None:
        self._taken = taken
        self._tls = tls
        self._new = new
        self._open_ones = open_ones
        self._most = most
        self._connecting: dict[asyncio.Task[None], Connection] = {}  # until after the handshake
        self._loop = asyncio.get_running_loop()
        self._is_open = False

    def open(self) -> None:
        """Raises OSError."""
        self._taken.setblocking(False)
        self._taken.listen(BACKLOG)
        self._is_open = True
        self._loop.add_reader(self._taken, self._accept)

    def close(self) -> None:
        """Whoever has connected by now still gets in."""
        if self._is_open:
            self._is_open = False
            while self._accept():
                pass
            self._loop.remove_reader(self._taken)
            self._taken.close()

    def turn_out(self) -> None:
        """Ends every handshake."""
        for task in self._connecting:
            task.cancel()

    def _accept(self) -> bool:
        """Whether there may be more."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connected, _address = self._taken.accept()
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
        except OSError as error:  # also of TLS: no failure of ours
            _log.debug("a handshake failed: %s", error)

    def _pause(self, error: OSError) -> None:
        _log.warning("no connection can be accepted for %g s: %s", _PAUSE, error)
        self._loop.remove_reader(self._taken)
        self._loop.call_later(_PAUSE, self._go_on)

    def _go_on(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._taken, self._accept)

    def _has_room(self) -> bool:
        """Made where there is none: whoever has waited longest goes, without an answer first."""
        if len(self._connecting) + sum(1 for _ in self._open_ones()) < self._most:
            return True
        first = min(self._waiting(), key=lambda each: each[0], default=None)
        if first is None:
            return False
        first[1]()
        return True

    def _waiting(self) -> Iterator[tuple[tuple[bool, float], Callable[[], object]]]:
        """How much each deserves its place, and what takes it away."""
        for task, connection in self._connecting.items():
            if not task.cancelling():
                yield (False, connection.accepted_at), task.cancel
        for each in self._open_ones():
            if not isinstance(each, Connection) or each.was_turned_out:
                continue
            if not each.waits_for_us:
                yield (each.has_had_an_answer, each.waiting_since), each.turn_out
