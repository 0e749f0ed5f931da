"""Serve a few GET paths over plain HTTP: probes for the kubelet, metrics for Prometheus."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web

from shared.config.values import BindAddress
from shared.process.logs import without_contents

_BACKLOG: Final = 2048


class CannotListen(Exception):
    """Raised if the address is in use or belongs to another machine; the message states which."""


def listen(address: BindAddress) -> socket.socket:
    """Return a listening socket; the caller closes it. Raise CannotListen."""
    try:
        bound = socket.socket(_family(address))  # fails for IPv6 where the kernel has none
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if bound.family == socket.AF_INET6:
                # "Any address" includes IPv4's; a single IPv6 address does not.
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, bool(address.host))
            bound.bind(address)
            bound.listen(_BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        # Some errors repeat the address in their text, and the message names it already.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"cannot listen on {address.host or 'any address'} port {address.port}: {reason}"
        ) from error
    return bound


def _family(address: BindAddress) -> socket.AddressFamily:
    if ":" in address.host or (not address.host and socket.has_dualstack_ipv6()):
        return socket.AF_INET6
    return socket.AF_INET


logger: Final = logging.getLogger(__name__)

# aiohttp would log every malformed request with its content, and any client can send some.
_unlogged: Final = logging.getLogger(f"{__name__}.requests")
_unlogged.disabled = True

# Seconds that a connection may last, so that silent clients hold no descriptors.
_LONGEST: Final = 5.0
# Seconds that a client may still take once the process ends. aiohttp would wait for a minute, and
# another ten seconds for a body that a client announced and does not send.
_LAST_ANSWERS: Final = 0.5

# Only `shared` imports an HTTP library, so the answers of paths have a name here.
Answer = web.Response
Paths = Mapping[str, Callable[[], Answer]]


class _Server(web.Server):
    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        asyncio.get_running_loop().call_later(_LONGEST, transport.abort)


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
        assert self._socket is not None
        server = _Server(self._answer, access_log=None, logger=_unlogged, lingering_time=0.0)
        runner = web.ServerRunner(server, shutdown_timeout=_LAST_ANSWERS)
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket).start()
            logger.info("listening on %s port %s", *self._socket.getsockname()[:2])
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> Answer:
        serve = self._paths.get(request.path)
        if request.method != "GET" or serve is None:
            response = Answer(text="not found\n", status=404)
        else:
            response = _tried(serve)
        response.force_close()
        return response


def _tried(serve: Callable[[], Answer]) -> Answer:
    try:
        return serve()
    except Exception as error:  # noqa: BLE001  logged, and the client gets an answer
        kind, fields = type(error).__name__, {"exception": without_contents(error)}
        logger.error("a request failed: %s", kind, extra=fields)  # noqa: TRY400  no contents
        return Answer(text="failed\n", status=500)
