"""An HTTP proxy in front of the API server, which injects the faults that a test's rule chooses.

It knows HTTP and nothing of the product: the rule sees each request, and returns a Fault or None.
TLS ends here, with a certificate of its own; the client's token passes through. With `identity` the
proxy itself is the user of that certificate.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

import aiohttp
import yarl
from aiohttp import web

from localcluster.access.certificates import KeyPairFiles
from shared.process.clock import SystemClock
from tests.support.builders.certificates import self_signed

# Headers of one connection: each side of the proxy has its own.
_HOP: Final = frozenset({"host", "connection", "transfer-encoding", "content-length"})
_REASONS: Final = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}


@dataclass(frozen=True, slots=True)
class Sent:
    """One request, as the client sent it; `path` has no query."""

    method: str
    path: str
    query: Mapping[str, str]

    @property
    def is_watch(self) -> bool:
        return "watch" in self.query

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    @property
    def plural(self) -> str:
        """The resource of the request, without its subresource; empty for other paths.

        Paths: /api/v1/..., /apis/GROUP/VERSION/..., each perhaps with namespaces/NAME/ first.
        """
        parts = self.path.strip("/").split("/")
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            rest = rest[2:]
        return rest[0] if rest else ""


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one request. Without any field set the request passes unchanged."""

    answer: int = 0
    """The proxy answers with this error; the server gets nothing."""
    unsent: bool = False
    """The connection breaks; the server gets nothing."""
    lost: bool = False
    """The server acts; the connection breaks before its answer."""
    late: float = 0.0
    """The connection breaks at once; the server gets the request these seconds later."""
    held: asyncio.Event | None = None
    """The server gets the request when this is set; the client waits meanwhile."""
    changed: Callable[[bytes], bytes] | None = None
    """Returns what the client gets in place of the body of the server's answer."""
    acted: Callable[[], None] | None = None
    """Called when the server has acted, before its answer is passed on or lost."""
    watch_cut_after: int = 0
    """The connection of this watch breaks after so many events."""
    watch_delay: float = 0.0
    """Events of this watch arrive these seconds late."""
    watch_twice: bool = False
    """Each event of this watch is sent twice."""


_NONE: Final = Fault()
Rule = Callable[[Sent], Fault | None]


class FaultProxy:
    """`async with FaultProxy(server, authority, folder) as proxy:` listens on loopback.

    `proxy.authority` is the file of its CA. `proxy.rule` may be replaced at any time.
    """

    def __init__(
        self, server: str, authority: Path, folder: Path, identity: KeyPairFiles | None = None
    ) -> None:
        self._server = server
        self._trust = ssl.create_default_context(cafile=str(authority))
        if identity is not None:
            self._trust.load_cert_chain(identity.certificate, identity.key)
        self._folder = folder
        self._port = 0
        self._late: set[asyncio.Task[None]] = set()
        self._watches: list[web.BaseRequest] = []
        self.rule: Rule = lambda _: None
        self.fired = 0

    @property
    def authority(self) -> Path:
        return self._folder / "proxy.crt"

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        now = SystemClock().now()
        certificate, key = self_signed(1, now - timedelta(hours=1), now + timedelta(hours=2))
        self.authority.write_bytes(certificate)
        (self._folder / "proxy.key").write_bytes(key)
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.load_cert_chain(self.authority, self._folder / "proxy.key")
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._trust, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        # 0 would wait for the end of every watch.
        self._runner = web.ServerRunner(web.Server(self._serve), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=own)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._late:
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._runner.cleanup()
        await self._http.close()

    def cut_watches(self) -> None:
        """Break the connection of each open watch: the client opens new ones, under the rule."""
        for request in tuple(self._watches):
            _broken(request)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        sent = Sent(request.method, request.path, request.query)
        body = await request.read()
        fault = self.rule(sent) or _NONE
        self.fired += fault is not _NONE
        if fault.answer:
            return _refusal(fault.answer)
        if fault.unsent:
            return _broken(request)
        if fault.late:
            task = asyncio.create_task(self._send_late(request, body, fault.late))
            self._late.add(task)
            task.add_done_callback(self._late.discard)
            return _broken(request)
        if fault.held is not None:
            await fault.held.wait()
        if sent.is_watch:
            self._watches.append(request)
            try:
                return await self._watch(request, fault)
            finally:
                self._watches.remove(request)
        try:
            async with self._forwarded(request, body) as answer:
                status, headers, text = answer.status, answer.headers, await answer.read()
        except aiohttp.ClientError:
            return _broken(request)
        if fault.acted is not None:
            fault.acted()
        if fault.lost:
            return _broken(request)
        if fault.changed is not None:
            text = fault.changed(text)
        return web.Response(status=status, body=text, headers=_passed(headers))

    def _forwarded(
        self, request: web.BaseRequest, body: bytes
    ) -> "aiohttp.client._RequestContextManager":
        return self._http.request(
            request.method,
            yarl.URL(self._server + request.raw_path, encoded=True),
            headers=_passed(request.headers),
            data=body or None,
        )

    async def _send_late(self, request: web.BaseRequest, body: bytes, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with suppress(aiohttp.ClientError):
            async with self._forwarded(request, body) as answer:
                await answer.read()

    async def _watch(self, request: web.BaseRequest, fault: Fault) -> web.StreamResponse:
        async with self._forwarded(request, b"") as answer:
            passed = web.StreamResponse(status=answer.status, headers=_passed(answer.headers))
            await passed.prepare(request)
            events = 0
            # Lines may be longer than the reader's own limit.
            rest = b""
            with suppress(ConnectionError, aiohttp.ClientError):
                while chunk := await answer.content.readany():
                    if fault.watch_delay:
                        await asyncio.sleep(fault.watch_delay)
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        await passed.write((line + b"\n") * (2 if fault.watch_twice else 1))
                        events += 1
                        if fault.watch_cut_after and events >= fault.watch_cut_after:
                            _broken(request)
                            return passed
                await passed.write_eof(rest)
        return passed


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}


def _broken(request: web.BaseRequest) -> web.Response:
    """Break the client's connection; what the handler returns then is lost."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _refusal(code: int) -> web.Response:
    """Answer as the API server does."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "injected by a test's proxy",
        "reason": _REASONS[code],
        "code": code,
    }
    headers = {"Retry-After": "1"} if code == 429 else {}
    return web.Response(
        status=code,
        body=json.dumps(status).encode(),
        content_type="application/json",
        headers=headers,
    )
