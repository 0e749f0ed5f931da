"""Serve a few GET paths over plain HTTP: probes for the kubelet, metrics for Prometheus.

One client requests the probes every few seconds. A web framework would cost more memory than the
whole cache of pods.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Final

from shared.config.values import BindAddress

BACKLOG: Final = 2048


class CannotListen(Exception):
    """Raised if the address is in use or belongs to another machine; the message states which."""


def listen(address: BindAddress) -> socket.socket:
    """Return a listening socket; the caller closes it. Raise CannotListen."""
    bound = bind(address)
    try:
        with explained(address):
            bound.listen(BACKLOG)
    except CannotListen:
        bound.close()
        raise
    return bound


def bind(address: BindAddress, *, shared: bool = False) -> socket.socket:
    """Return a socket that holds the port but does not listen yet; the caller closes it.

    Several processes of one user can hold a `shared` port, and the kernel spreads connections over
    the listening ones. Raise CannotListen.
    """
    with explained(address):
        bound = socket.socket(_family(address))
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if bound.family == socket.AF_INET6:
                # "Any address" includes IPv4's; a single IPv6 address does not.
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, bool(address.host))
            bound.bind(address)
        except BaseException:
            bound.close()
            raise
        return bound


@contextmanager
def explained(address: BindAddress) -> Iterator[None]:
    """Turn an OSError inside the block into a CannotListen that names the address."""
    try:
        yield
    except OSError as error:
        # Some errors repeat the address in their text, and the message names it already.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"cannot listen on {address.host or 'any address'} port {address.port}: {reason}"
        ) from error


def _family(address: BindAddress) -> socket.AddressFamily:
    if ":" in address.host or (not address.host and socket.has_dualstack_ipv6()):
        return socket.AF_INET6
    return socket.AF_INET


logger = logging.getLogger(__name__)

_SECONDS = 5.0


class Answer:
    """The answer of a path: a status, a content type and a body."""

    __slots__ = ("body", "content_type", "status")

    def __init__(
        self, status: HTTPStatus, body: bytes, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type


Paths = Mapping[str, Callable[[], Answer]]


class Listener:
    """Serve `paths` at `address` until cancelled."""

    def __init__(self, address: BindAddress, paths: Paths) -> None:
        self._address = address
        self._paths = paths
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Bind the port before other parts start. Raise CannotListen."""
        self._socket = listen(self._address)

    def close(self) -> None:
        """Release the port, also if `run` was never called."""
        if self._socket is not None:
            self._socket.close()

    async def run(self) -> None:
        """Serve until cancelled; call `open` first."""
        server = await asyncio.start_server(self._serve, sock=self._socket)
        async with server:
            for listening in server.sockets:
                logger.info("listening on %s port %s", *listening.getsockname()[:2])
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            async with asyncio.timeout(_SECONDS):
                request = await reader.readline()
                while (await reader.readline()).strip():
                    pass  # no header matters here
                writer.write(self._answer(request))
                await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    def _answer(self, request: bytes) -> bytes:
        method, _, rest = request.decode("latin-1").partition(" ")
        path = rest.split(" ")[0].partition("?")[0]
        serve = self._paths.get(path)
        if method != "GET" or serve is None:
            answer = Answer(HTTPStatus.NOT_FOUND, b"not found\n")
        else:
            answer = serve()
        head = (
            f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n"
            f"Content-Type: {answer.content_type}\r\n"
            f"Content-Length: {len(answer.body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode("latin-1") + answer.body
