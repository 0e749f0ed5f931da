"""An HTTP server on loopback that follows a test's script, for tests of the real client."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson
from aiohttp import web

from shared.api.objects import JsonObject

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass
class Received:
    """One request as the server saw it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> JsonObject:
        found: JsonObject = orjson.loads(self.body)
        return found


@dataclass
class ScriptedServer:
    """Answers requests in the order of `answers`; a request too many is a failure of the test."""

    url: str
    answers: list[Handler] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    def then(self, *handlers: Handler) -> None:
        self.answers.extend(handlers)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.received.append(
            Received(request.method, request.raw_path, dict(request.headers), await request.read())
        )
        if not self.answers:
            return web.Response(status=599, text="the test expected no further request")
        return await self.answers.pop(0)(request)


@asynccontextmanager
async def scripted_server() -> AsyncIterator[ScriptedServer]:
    scripted = ScriptedServer("")
    # Handlers end with their connections: one that waits for ever would be found by the garbage
    # collector during a later test, and asyncio's error would be among that test's log records.
    server = web.Server(scripted.handle, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        scripted.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield scripted
    finally:
        await runner.cleanup()


def json_answer(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(
            status=status,
            body=orjson.dumps(body),
            headers={"Content-Type": "application/json", **(headers or {})},
        )

    return answer


def status_answer(
    code: int, reason: str, message: str, headers: dict[str, str] | None = None
) -> Handler:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return json_answer(body, code, headers)


def raw_answer(status: int, text: str) -> Handler:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, text=text)

    return answer


def stream_answer(
    *chunks: bytes, broken: bool = False, until: Awaitable[object] | None = None
) -> Handler:
    """Sends the chunks one by one, then ends; or breaks the connection; or first waits."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if until is not None:
            await until
        if broken:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


def broken_answer() -> Handler:
    """Closes the connection instead of answering."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer


def event_line(kind: str, obj: JsonObject) -> bytes:
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"
