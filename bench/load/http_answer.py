"""Parse an HTTP/1.1 answer and find its end. Pure; reads only what a webhook's answer needs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: bytes


class MalformedAnswer(ValueError):
    """The received bytes are no answer that this client understands."""


def parse(received: bytes) -> HttpAnswer | None:
    """Return the answer, or None while bytes are missing. Raise MalformedAnswer.

    Nothing may follow the answer: a connection carries one request at a time.
    """
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    status_line, _, header_block = received[:end].partition(b"\r\n")
    status = _status(status_line)
    headers = _headers(header_block)
    rest = received[end + 4 :]
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        body = _chunked(rest)
        return None if body is None else HttpAnswer(status, body)
    length = headers.get(b"content-length", b"")
    if not length.isdigit():
        raise MalformedAnswer(f"an answer without its length: {received[:200]!r}")
    if len(rest) > int(length):
        raise MalformedAnswer(f"{len(rest) - int(length)} bytes more than the answer's length")
    return HttpAnswer(status, rest) if len(rest) == int(length) else None


def _status(line: bytes) -> int:
    parts = line.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise MalformedAnswer(f"no HTTP/1.1 answer: {line[:200]!r}")
    return int(parts[1])


def _headers(block: bytes) -> dict[bytes, bytes]:
    pairs = (line.partition(b":") for line in block.split(b"\r\n") if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _chunked(rest: bytes) -> bytes | None:
    body = b""
    while True:
        line, newline, after = rest.partition(b"\r\n")
        if not newline:
            return None
        try:
            size = int(line.split(b";")[0], 16)
        except ValueError:
            raise MalformedAnswer(f"a chunk of no size: {line[:50]!r}") from None
        if len(after) < size + 2:
            return None
        if size == 0:
            return body
        body += after[:size]
        rest = after[size + 2 :]
