"""Asks a program's /healthz again and again, as a kubelet does, to measure its event loop's lag.

It is a process of its own (`python -m bench.load.probes HOST PORT`), so that no other work slows
it. It ends when its standard input does, and then writes the latencies as JSON.
"""

import select
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import orjson

from bench.load.own_process import own_process

_PERIOD = 0.01  # seconds
_PATIENCE = 60.0
_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n"


@asynccontextmanager
async def probed(address: str) -> AsyncIterator[list[float]]:
    """Probes inside the context; at its end the list has the milliseconds of each probe."""
    parts = urlsplit(address)
    latencies: list[float] = []
    where = (str(parts.hostname), str(parts.port))
    async with own_process("bench.load.probes", *where) as process:
        assert process.stdout is not None
        await process.stdout.readexactly(1)
        yield latencies
        output, _ = await process.communicate(b"")  # ends its standard input
        latencies += orjson.loads(output)


def waits(took: float) -> list[float]:
    """Returns what the probes of this time would have taken if each had begun on time."""
    return [took - late * _PERIOD for late in range(max(1, -int(-took // _PERIOD)))]


def main(host: str, port: int) -> None:
    """Probes until the end of standard input; writes one byte after the first probe."""
    _probe(host, port)
    sys.stdout.buffer.write(b"!")
    sys.stdout.buffer.flush()
    latencies = waits(_probe(host, port))
    while not select.select([sys.stdin], [], [], _PERIOD)[0]:
        latencies += waits(_probe(host, port))
    sys.stdout.buffer.write(orjson.dumps([each * 1_000 for each in latencies]))


def _probe(host: str, port: int) -> float:
    """Returns the seconds until the answer is complete."""
    began = time.perf_counter()
    with socket.create_connection((host, port), _PATIENCE) as connection:
        connection.sendall(_REQUEST)
        while connection.recv(4_096):
            pass
    return time.perf_counter() - began


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
