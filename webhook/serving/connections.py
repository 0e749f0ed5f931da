"""Limit the silence of a connection's client: every client in the cluster can connect."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_log: Final = logging.getLogger(__name__)

# Bytes. The API server's heads have less than one KiB; httptools has no limit.
LARGEST_HEAD: Final = 64 * 1024
# Seconds for the head of a request, since the connection began or since its last answer. Longer
# than uvicorn's keep-alive, which ends with a single byte and never starts on a connection without
# any request.
LONGEST_WAIT: Final = 130.0


class JoinedWrites:
    """A transport that writes the data of one round of the event loop at once.

    uvicorn writes head and body of an answer one after the other. Two TLS records and two system
    calls cost 30 µs more, a twelfth of a small review, and wake the client twice.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        """Return any other method of the transport."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write the data with all other data of this round."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Close the transport after everything is written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._waiting:
            self._transport.write(b"".join(self._waiting))
            self._waiting.clear()


class Connection(HttpToolsProtocol):
    """One connection, from its accept on, with limits for its client's silence."""

    monotonic: Callable[[], float]
    accepted_at: float
    waiting_since: float
    handshake: asyncio.Task[None]
    has_had_an_answer: bool = False
    was_evicted: bool = False
    _head: int | None = 0  # bytes of an unfinished head; None from its end to the answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let uvicorn write to the transport through `JoinedWrites`."""
        joined: Any = JoinedWrites(transport, self.loop)
        super().connection_made(joined)

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
            self.evict()

    def evict(self) -> None:
        """Abort the connection. Closing would wait until the client has read everything."""
        self.was_evicted = True
        self.handshake.cancel()
        if self in self.connections:  # after the handshake
            self.transport.abort()

    @property
    def is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def waits_for_us(self) -> bool:
        """True if a complete request is not answered yet.

        False if the client has not read the previous answer: the connection waits for the client.
        """
        return self.is_busy and not self.cycle.more_body and not self.flow.write_paused

    @property
    def has_had_a_request(self) -> bool:
        return self.cycle is not None
