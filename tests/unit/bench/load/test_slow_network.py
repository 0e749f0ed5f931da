import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bench.load import slow_network


class Source:
    """Has chunks, then the end."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = list(chunks)

    async def read(self, _: int) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""


class Sink:
    """Has what was written, and whether it was closed."""

    def __init__(self) -> None:
        self.written = b""
        self.closed = asyncio.Event()

    def write(self, data: bytes) -> None:
        assert not self.closed.is_set()
        self.written += data

    def close(self) -> None:
        self.closed.set()


async def test_bytes_arrive_late_in_their_order_and_then_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    due: list[tuple[float, Callable[[], None]]] = []
    monkeypatch.setattr(loop, "call_later", lambda seconds, call: due.append((seconds, call)))
    source: Any = Source(b"first ", b"second")
    sink: Any = Sink()
    await slow_network._pump(source, sink, 0.1)
    assert sink.written == b""
    assert [seconds for seconds, _ in due] == [0.1, 0.1, 0.1]
    (_, one), (_, other), (_, end) = due
    other()  # timers of one moment may fire in any order
    one()
    end()
    assert sink.written == b"first second"
    assert sink.closed.is_set()
