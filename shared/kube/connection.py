"""Connect to one API server: connection pools, TLS, detection of a dead peer.

The HTTP client is aiohttp: it costs the least per request of the clients measured (docs/decisions).
HTTP/1.1 carries one request per connection at a time. Watches therefore have a pool of their own
and never delay a request.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import aiohttp
import yarl
from multidict import CIMultiDict

from shared.kube.client import Unreachable
from shared.kube.credentials import Identity
from shared.kube.kubeconfig import Credentials
from shared.kube.pod_channels import PodChannels
from shared.kube.requests import Request

# TCP keepalive detects a peer that vanished silently (a power failure, a firewall that dropped the
# connection) within KEEPALIVE_IDLE + UNANSWERED seconds. Keepalive does not detect a hung process
# whose kernel still answers, nor a dead server behind a proxy. Every answer, also a watch,
# therefore has a time limit.
KEEPALIVE_IDLE = 12
KEEPALIVE_INTERVAL = 6
UNANSWERED = 24
# The API server's headers hold warnings and audit annotations; aiohttp's 8 KiB can be too few.
HEADER_LIMIT = 64 * 1024
READ_BUFFER = 256 * 1024
# A WebSocket's other side has this long to agree to its end.
_CLOSES = aiohttp.ClientWSTimeout(ws_close=2.0)
_CLOSING_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds. `overtime` is how long a watch may last beyond its requested end."""

    request: float = 30.0
    connect: float = 10.0
    overtime: float = 5.0


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TooLarge(Exception):
    """Raised if an answer has more bytes than its reader accepts. The rest of it was not read."""


class Refused(Exception):
    """Raised if the server does not open a WebSocket; `answer` has its reason."""

    def __init__(self, answer: ApiAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Stream:
    """An answer whose body is still arriving."""

    def __init__(self, response: aiohttp.ClientResponse, name: str, limit: float) -> None:
        self._response = response
        self._name = name
        self._limit = limit

    @property
    def status(self) -> int:
        return self._response.status

    async def whole(self) -> ApiAnswer:
        """Read the rest of the answer, after its status reports an error."""
        with _as_unreachable(self._name):
            async with asyncio.timeout(self._limit):
                body = await self._response.read()
        return ApiAnswer(self._response.status, self._response.headers, body)

    async def chunk(self) -> bytes:
        """Return the next bytes; empty at the end. The caller limits the time."""
        with _as_unreachable(self._name):
            return await self._response.content.readany()


class ApiConnection:
    """Send requests to one server, without knowledge of their meaning.

    `permit` is called with each request of `send` when its connection is open, directly before the
    request is written to it: to open one may take seconds. Its error ends the request.

    Make it inside a running event loop, and close it.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        timeouts: Timeouts,
        pool_size: int,
        user_agent: str,
        permit: Callable[[Request], None] | None = None,
    ) -> None:
        self._credentials = credentials
        self._timeouts = timeouts
        # Responses are not compressed: on a cluster's network compression costs more than it saves.
        self._headers = CIMultiDict({"User-Agent": user_agent, "Accept-Encoding": "identity"})
        if credentials.impersonation is not None:
            self._headers["Impersonate-User"] = credentials.impersonation.user
            for group in credentials.impersonation.groups:
                self._headers.add("Impersonate-Group", group)
        self._sockets: WeakSet[socket.socket] = WeakSet()
        # Hooks cost each request 20 µs, also if none of them does anything.
        hooks = () if permit is None else (_asking_for(permit),)
        self._requests = self._session(pool_size, *hooks)
        self._streams = self._session(0)

    async def send(
        self,
        request: Request,
        identity: Identity,
        *,
        largest: int | None = None,
    ) -> ApiAnswer:
        """Return the whole answer, also if its status is an error.

        Raise Unreachable without an answer, and TooLarge if the answer has more than `largest`
        bytes.
        """
        limit = aiohttp.ClientTimeout(
            total=self._timeouts.request, sock_connect=self._timeouts.connect
        )
        with _as_unreachable(_name(request)):
            async with self._requests.request(
                **self._arguments(request, identity), timeout=limit, trace_request_ctx=request
            ) as response:
                body = await _body(response, largest)
                return ApiAnswer(response.status, response.headers, body)

    @asynccontextmanager
    async def stream(
        self, request: Request, identity: Identity, seconds: float | None
    ) -> AsyncIterator[Stream]:
        """Open an answer that begins within `seconds` and that the caller reads in chunks.

        Raise Unreachable.
        """
        limit = aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect)
        name = _name(request)
        with _as_unreachable(name):
            async with asyncio.timeout(seconds):
                response = await self._streams.request(
                    **self._arguments(request, identity), timeout=limit
                )
        try:
            yield Stream(response, name, self._timeouts.request)
        finally:
            # Closed, not released: the connection of an unfinished stream cannot be used again.
            response.close()

    @asynccontextmanager
    async def channels(
        self, request: Request, identity: Identity, protocols: Sequence[str]
    ) -> AsyncIterator[PodChannels]:
        """Open a WebSocket. Raise Refused if the server answers otherwise, and Unreachable."""
        name, arguments = _name(request), self._arguments(request, identity)
        for each in ("method", "data", "allow_redirects"):  # a handshake has none of them
            del arguments[each]
        async with self._session(0, _refusing()) as session:
            with _as_unreachable(name):
                async with asyncio.timeout(self._timeouts.request):
                    opening = await session.ws_connect(
                        **arguments, protocols=protocols, timeout=_CLOSES
                    )
            async with opening as socket:
                yield PodChannels(socket, name)

    async def close(self) -> None:
        """Close all connections. Return when their sockets are closed, at most a second later.

        TLS waits until the server agrees to the end, and the event loop may end before. Without the
        sockets nothing is left to wait for.
        """
        await self._requests.close()
        await self._streams.close()
        for each in self._open_sockets():
            with suppress(OSError):  # it was not connected yet
                each.shutdown(socket.SHUT_RDWR)
        for _ in range(_CLOSING_MILLISECONDS):
            if not self._open_sockets():
                return
            await asyncio.sleep(0.001)

    def _open_sockets(self) -> list[socket.socket]:
        return [each for each in self._sockets if each.fileno() != -1]

    def _new_socket(self, address: tuple[Any, ...]) -> socket.socket:
        made = watchful_socket(address)
        self._sockets.add(made)
        return made

    def _session(self, limit: int, *hooks: aiohttp.TraceConfig) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=limit,
            socket_factory=self._new_socket,
            keepalive_timeout=60,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            auto_decompress=True,
            read_bufsize=READ_BUFFER,
            max_line_size=HEADER_LIMIT,
            max_field_size=HEADER_LIMIT,
            trace_configs=list(hooks),
        )
        # aiohttp would silently repeat a PUT or DELETE when a connection breaks, and it has no
        # public switch for that. Only `requests.retry_delay` decides about retries.
        session._retry_connection = False
        return session

    def _arguments(self, request: Request, identity: Identity) -> dict[str, Any]:
        headers = dict(request.headers)
        if identity.authorization is not None:
            headers["Authorization"] = identity.authorization
        return {
            "method": request.method,
            "url": yarl.URL(self._credentials.server + request.target, encoded=True),
            "headers": headers,
            "data": request.body,
            "allow_redirects": False,
            "proxy": self._credentials.proxy,
            "server_hostname": self._credentials.tls_server_name,
            # aiohttp pools connections per TLS context: a new context opens new connections.
            "ssl": identity.tls if identity.tls is not None else True,
        }


def _asking_for(permit: Callable[[Request], None]) -> aiohttp.TraceConfig:
    """Return hooks that call `permit` with each request once its connection is open."""

    async def connected(_session: object, context: SimpleNamespace, _params: object) -> None:
        permit(context.trace_request_ctx)

    hooks = aiohttp.TraceConfig()
    hooks.on_connection_create_end.append(connected)
    hooks.on_connection_reuseconn.append(connected)
    return hooks


def _refusing() -> aiohttp.TraceConfig:
    """Return a hook that raises Refused: aiohttp's error of a handshake has no body."""

    async def answered(
        _session: object, _context: object, params: aiohttp.TraceRequestEndParams
    ) -> None:
        response = params.response
        if response.status != 101:
            raise Refused(ApiAnswer(response.status, response.headers, await response.read()))

    hooks = aiohttp.TraceConfig()
    hooks.on_request_end.append(answered)
    return hooks


class _as_unreachable:  # noqa: N801 - reads as the phrase it is in a with statement
    """Turn every network failure into Unreachable and chain its cause."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TimeoutError):
            raise Unreachable(f"{self._name}: no answer in time") from error
        if isinstance(error, (aiohttp.ClientError, OSError)):
            raise Unreachable(f"{self._name}: {_detail(error)}") from error


def _detail(error: Exception) -> str:
    """Return what failed. aiohttp's own text adds the memory address of a TLS context."""
    match error:
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
            return f"cannot connect to {error.host}:{error.port}: {cause}"
        case aiohttp.ClientConnectorError(strerror=cause):
            return f"cannot connect to {error.host}:{error.port}: {cause}"
    return str(error) or type(error).__name__


async def _body(response: aiohttp.ClientResponse, largest: int | None) -> bytes:
    if largest is None:
        return await response.read()
    read, size = [], 0
    while chunk := await response.content.readany():
        size += len(chunk)
        if size > largest:
            response.close()  # else aiohttp reads all of it, to use the connection again
            raise TooLarge
        read.append(chunk)
    return b"".join(read)


def _name(request: Request) -> str:
    """Name the request in messages, without its query: continue tokens are long."""
    return f"{request.method} {request.target.partition('?')[0]}"


def watchful_socket(address: tuple[Any, ...]) -> socket.socket:
    """Make a socket for `address` (from `getaddrinfo`) that detects a dead peer."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    # These are Linux's names. Other systems have some of them; developers' machines need none.
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", UNANSWERED // KEEPALIVE_INTERVAL),
        # Without this option a request to a vanished peer waits 15 minutes for its answer.
        ("TCP_USER_TIMEOUT", UNANSWERED * 1000),
    ):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    try:
        for level, option, setting in options:
            made.setsockopt(level, option, setting)
    except OSError:
        made.close()
        raise
    return made
