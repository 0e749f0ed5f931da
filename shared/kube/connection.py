"""Connections to one API server: pools, TLS, and how a dead peer is noticed.

aiohttp underneath: of the clients measured it costs the least per request (docs/decisions).
HTTP/1.1 carries one request per connection at a time, so watches have a pool of their own and
never keep a request waiting.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import yarl
from multidict import CIMultiDict

from shared.kube.client import Unreachable
from shared.kube.credentials import Credentials
from shared.kube.identity import Identity
from shared.kube.requests import Request

# A peer that vanished without a word (power, a firewall that forgot the connection) is noticed
# within KEEPALIVE_IDLE + UNANSWERED seconds. One whose kernel still answers is not, nor is one
# behind a proxy: for these every answer has its time, a watch's too.
KEEPALIVE_IDLE = 12
KEEPALIVE_INTERVAL = 6
UNANSWERED = 24
# Headers of the API server carry warnings and audit annotations; aiohttp's 8 KiB can be too few.
HEADER_LIMIT = 64 * 1024
READ_BUFFER = 256 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `overtime` is how much later than asked for a watch may end before it is cut."""

    request: float = 30.0
    connect: float = 10.0
    overtime: float = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TooLarge(Exception):
    """An answer is larger than its reader wants to hold. The rest of it was not read."""


class Stream:
    """An answer whose body is still arriving."""

    def __init__(self, response: aiohttp.ClientResponse, name: str, limit: float) -> None:
        self._response = response
        self._name = name
        self._limit = limit

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    async def whole(self) -> Answer:
        """The rest of it, for an answer that turned out to be an error."""
        with _as_unreachable(self._name):
            async with asyncio.timeout(self._limit):
                body = await self._response.read()
        return Answer(self._response.status, self._response.headers, body)

    async def chunk(self) -> bytes:
        """The next bytes; empty at the end. The caller knows how long they may take."""
        with _as_unreachable(self._name):
            return await self._response.content.readany()


class Connection:
    """Sends requests to one server. Knows nothing of what they mean.

    Must be made inside a running event loop, and closed.
    """

    def __init__(
        self, credentials: Credentials, *, timeouts: Timeouts, pool_size: int, user_agent: str
    ) -> None:
        self._credentials = credentials
        self._timeouts = timeouts
        # Responses are not compressed: on a cluster's network that costs more than it saves.
        self._headers = CIMultiDict({"User-Agent": user_agent, "Accept-Encoding": "identity"})
        if credentials.impersonation is not None:
            self._headers["Impersonate-User"] = credentials.impersonation.user
            for group in credentials.impersonation.groups:
                self._headers.add("Impersonate-Group", group)
        self._requests = self._session(pool_size)
        self._streams = self._session(0)

    async def send(
        self, request: Request, identity: Identity, *, largest: int | None = None
    ) -> Answer:
        """The whole answer, whatever its status. Raises Unreachable.

        Raises TooLarge for more than `largest` bytes.
        """
        limit = aiohttp.ClientTimeout(
            total=self._timeouts.request, sock_connect=self._timeouts.connect
        )
        with _as_unreachable(_name(request)):
            async with self._requests.request(
                **self._arguments(request, identity), timeout=limit
            ) as response:
                body = await _body(response, largest)
                return Answer(response.status, response.headers, body)

    @asynccontextmanager
    async def stream(self, request: Request, identity: Identity) -> AsyncIterator[Stream]:
        """An answer read bit by bit, for as long as it comes. Raises Unreachable."""
        limit = aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect)
        name = _name(request)
        with _as_unreachable(name):
            async with asyncio.timeout(self._timeouts.request):
                response = await self._streams.request(
                    **self._arguments(request, identity), timeout=limit
                )
        try:
            yield Stream(response, name, self._timeouts.request)
        finally:
            # Closed, not released: an unfinished stream leaves no connection to use again.
            response.close()

    async def close(self) -> None:
        """Ends all connections."""
        await self._requests.close()
        await self._streams.close()

    def _session(self, limit: int) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=limit,
            socket_factory=watchful_socket,
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
        )
        # aiohttp would silently send a PUT or DELETE again when a connection breaks. It offers no
        # public switch; whether anything is sent twice is decided in `requests`, where it is seen.
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
            # Connections are kept by context: under a new one none of the old is used again.
            "ssl": identity.tls if identity.tls is not None else True,
        }


class _as_unreachable:  # noqa: N801 - reads as the phrase it is in a with statement
    """Turns every way in which a network fails into Unreachable, with the cause chained."""

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
    """What failed. aiohttp says more: it prints the address of a TLS context in memory."""
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
            response.close()  # else all of it would be read, for the connection to be used again
            raise TooLarge
        read.append(chunk)
    return b"".join(read)


def _name(request: Request) -> str:
    """The request in messages: without its query, whose continue tokens are long."""
    return f"{request.method} {request.target.partition('?')[0]}"


def watchful_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket for `address` (as `getaddrinfo` gives it) that notices when its peer is gone."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    # Linux names; other systems have some of them, and a developer's laptop can do without.
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", UNANSWERED // KEEPALIVE_INTERVAL),
        # Bounds unanswered data too: without it a request sent into the void waits 15 minutes.
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
