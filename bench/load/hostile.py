"""Treats a webhook as a hostile client would: `python -m bench.load.hostile` until it is killed.

Standard input has a `ReviewOrder` as JSON. Each of its connections sends the review again and
again; `UNFINISHED` others begin a body of that size and send no more. All connect again when the
webhook closes a connection.
"""

import asyncio
import re
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict

import orjson

from bench.load.own_process import own_process
from bench.load.reviews import ReviewOrder, http_request
from localcluster.machine.ports import HOST

UNFINISHED = 200
SENT = 256 * 1024  # bytes of each unfinished body
_PAUSE = 0.1  # seconds before the next connection
_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")


@asynccontextmanager
async def hostile_clients(order: ReviewOrder) -> AsyncIterator[None]:
    """Runs them in a process of their own inside the context, after all have connected once."""
    async with own_process("bench.load.hostile") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(orjson.dumps(asdict(order)))
        process.stdin.write_eof()
        await process.stdout.readexactly(1)
        yield


async def main() -> None:
    """Never returns."""
    order = ReviewOrder(**orjson.loads(sys.stdin.buffer.read()))
    request = http_request(order)
    context = ssl.create_default_context(cadata=order.authority)
    left = order.connections + UNFINISHED

    async def again_and_again(*, finished: bool) -> None:
        nonlocal left
        first = True
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection(
                    HOST, order.port, ssl=context, server_hostname=order.server_name
                )
                if first:
                    first, left = False, left - 1
                    if not left:
                        sys.stdout.buffer.write(b"!")
                        sys.stdout.buffer.flush()
                if finished:
                    await _review(reader, writer, request)
                else:
                    writer.write(request[:SENT])
                    await reader.read()
                writer.close()
            await asyncio.sleep(_PAUSE)

    async with asyncio.TaskGroup() as group:
        for number in range(order.connections + UNFINISHED):
            group.create_task(again_and_again(finished=number < order.connections))


async def _review(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> None:
    """Sends reviews until the webhook closes the connection."""
    while True:
        writer.write(request)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        await reader.readexactly(int(found[1]) if found else 0)


if __name__ == "__main__":
    asyncio.run(main())
