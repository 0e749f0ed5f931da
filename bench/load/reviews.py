"""Sends one admission review again and again to a webhook, over TLS connections that stay open.

It is a process of its own (`python -m bench.load.reviews`), so that no other work slows it. It
reads an `Order` as JSON from standard input and writes an `Outcome` to standard output. One thread,
raw sockets and one selector need about 40 µs of CPU per request, TLS included. So the webhook is
measured, not this client; the result contains the client's share of CPU as proof.
"""

import asyncio
import selectors
import socket
import ssl
import sys
import time
from dataclasses import asdict, dataclass
from typing import NamedTuple, Protocol

import orjson
from httptools import HttpParserError, HttpResponseParser

from bench.errors import BenchError
from bench.load.own_process import own_process
from localcluster.machine.slowness import stretched
from shared.api.objects import JsonObject

_PATIENCE = stretched(60.0)
_READ_BYTES = 65_536


class LoadFailed(BenchError):
    """The load could not be sent as ordered; the message contains the webhook's answer."""


class HttpAnswer(NamedTuple):
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class ReviewOrder:
    """`requests` reviews over `connections`, after `warmup` others that do not count.

    The server listens on 127.0.0.1:`port`; `authority` (PEM) issued its certificate for
    `server_name`. `body` is the review as it is sent. Each answer must set `allowed`.
    """

    port: int
    path: str
    server_name: str
    authority: str
    connections: int
    requests: int
    warmup: int
    body: str


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """`latencies` in milliseconds, one per request; `seconds` from the first to the last.

    `client_share` is the share of a core that this process used (1.0: it was the bottleneck).
    `answer` is the last answer's body, for checks of its content.
    """

    latencies: list[float]
    seconds: float
    client_share: float
    answer: JsonObject


async def send(order: ReviewOrder) -> LoadOutcome:
    """Runs the order in a process of its own. Raises LoadFailed with that process's message."""
    async with own_process("bench.load.reviews", errors=asyncio.subprocess.PIPE) as process:
        output, errors = await process.communicate(orjson.dumps(asdict(order)))
    if process.returncode != 0:
        raise LoadFailed(errors.decode(errors="replace").strip().rpartition("\n")[2])
    return LoadOutcome(**orjson.loads(output))


class Transport(Protocol):
    """The methods of a non-blocking TLS socket that the loop uses."""

    def send(self, data: bytes, /) -> int:
        """Works as socket.send."""

    def recv(self, size: int, /) -> bytes:
        """Works as socket.recv; raises SSLWantReadError if no bytes are there."""

    def fileno(self) -> int:
        """Works as socket.fileno."""


class _Connection:
    """A connection that carries one request at a time."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.sent_at = 0.0
        self._parser = HttpResponseParser(self)
        self._body = b""
        self._complete = False

    def ask(self, request: bytes) -> None:
        self._body, self._complete = b"", False
        self.sent_at = time.perf_counter()
        if self.transport.send(request) != len(request):
            raise LoadFailed("a request did not fit into the socket's buffer")

    def answer(self) -> HttpAnswer | None:
        """Returns None while the answer is incomplete."""
        while not self._complete:
            try:
                chunk = self.transport.recv(_READ_BYTES)
            except ssl.SSLWantReadError:
                return None
            if not chunk:
                raise LoadFailed("the webhook closed the connection")
            self._parser.feed_data(chunk)
        return HttpAnswer(self._parser.get_status_code(), self._body)

    # The parser calls these.

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self._complete = True


def run(order: ReviewOrder, transports: list[Transport]) -> LoadOutcome:
    """Sends the warm-up, then the requests that count. Raises LoadFailed."""
    request = http_request(order)
    connections = [_Connection(each) for each in transports]
    _round(connections, request, order.warmup)
    began, cpu_began = time.perf_counter(), time.process_time()
    latencies, last = _round(connections, request, order.requests)
    seconds = time.perf_counter() - began
    share = (time.process_time() - cpu_began) / seconds
    answer = orjson.loads(last.body) if last else {}
    return LoadOutcome([each * 1_000 for each in latencies], seconds, share, answer)


def _round(
    connections: list[_Connection], request: bytes, requests: int
) -> tuple[list[float], HttpAnswer | None]:
    latencies: list[float] = []
    last: HttpAnswer | None = None
    with selectors.DefaultSelector() as selector:
        waiting = min(len(connections), requests)
        unsent = requests - waiting
        for connection in connections[:waiting]:
            selector.register(connection.transport.fileno(), selectors.EVENT_READ, connection)
            connection.ask(request)
        while len(latencies) < requests:
            ready = selector.select(_PATIENCE)
            if not ready:
                raise LoadFailed(f"no answer within {_PATIENCE:.0f} s")
            for key, _ in ready:
                connection = key.data
                answer = connection.answer()
                if answer is None:
                    continue
                latencies.append(time.perf_counter() - connection.sent_at)
                must_be_allowed(answer)
                last = answer
                if unsent:
                    unsent -= 1
                    connection.ask(request)
                else:
                    selector.unregister(connection.transport.fileno())
    return latencies, last


def http_request(order: ReviewOrder) -> bytes:
    """Returns the bytes of the request, as the API server would send them."""
    body = order.body.encode()
    head = (
        f"POST {order.path}?timeout=10s HTTP/1.1\r\n"
        f"Host: {order.server_name}\r\n"
        "User-Agent: kube-apiserver-admission\r\n"
        "Accept: application/json, */*\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def must_be_allowed(answer: HttpAnswer) -> None:
    """Raises LoadFailed if the answer is wrong: a fast wrong answer is no measurement."""
    # The API server was too busy to report the user's rights: its two seconds are in the figures.
    late = b"no answer within" in answer.body
    if answer.status != 200 or not (late or b'"allowed":true' in answer.body):
        raise LoadFailed(f"the webhook answered {answer.status}: {answer.body[:500]!r}")


def _connect(order: ReviewOrder, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", order.port), timeout=_PATIENCE)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wrapped = context.wrap_socket(plain, server_hostname=order.server_name)
    wrapped.setblocking(False)
    return wrapped


def main() -> int:
    """Reads the order, sends the load, writes the outcome."""
    order = ReviewOrder(**orjson.loads(sys.stdin.buffer.read()))
    context = ssl.create_default_context(cadata=order.authority)
    transports: list[ssl.SSLSocket] = []
    try:
        transports += [_connect(order, context) for _ in range(order.connections)]
        outcome = run(order, list(transports))
    except (LoadFailed, HttpParserError, OSError, ValueError) as failure:
        print(f"{type(failure).__name__}: {failure}", file=sys.stderr)
        return 1
    finally:
        for each in transports:
            each.close()
    sys.stdout.buffer.write(orjson.dumps(asdict(outcome)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
