"""Clients that take more than their share on the webhook's own port, where anybody can connect.

They get no more memory than there is room for, and everybody else is answered.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import orjson
import pytest

from localcluster.access.running import RunningCluster
from tests.support.builders.admission import appwrapper, review
from tests.support.cluster.served_webhook import (
    PATHS,
    SECONDS,
    ServedWebhook,
    connected,
    head,
    serving,
)
from tests.support.cluster.webhook_process import client
from webhook.admission_review import LARGEST_BODY
from webhook.serving.process import use_all_descriptors
from webhook.serving.server import MOST_CONNECTIONS

# MiB. At rest it has about 90; unfinished bodies took it to 400, many components to 600.
MOST_RESIDENT = 250


@pytest.fixture
async def webhook(tmp_path: Path, cluster: RunningCluster) -> AsyncIterator[ServedWebhook]:
    """Of its own for each test, which asks for the most memory that it ever had."""
    async with serving(tmp_path, cluster) as served:
        yield served


def most_resident(webhook: ServedWebhook) -> float:
    status = Path(f"/proc/{webhook.process.pid}/status").read_text()
    found = re.search(r"^VmHWM:\s*([0-9]+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


async def is_healthy(webhook: ServedWebhook) -> bool:
    """On a connection of its own, as the kubelet's probes come."""
    async with client(webhook.port) as http:
        return (await http.get("/healthz")).text == "ok\n"


async def test_bodies_that_lack_their_last_byte_give_way(webhook: ServedWebhook) -> None:
    """Forty of 7 MiB; the first ones go as soon as there is no room for the next."""

    async def unfinished() -> bytes:
        try:
            reader, writer = await connected(webhook.port)
        except ConnectionError:  # its handshake took too long beside the others
            return b""
        with suppress(ConnectionError, ssl.SSLError):  # it need not read on
            writer.write(head(LARGEST_BODY) + b" " * (LARGEST_BODY - 1))
            await writer.drain()
        sent.set()
        answer = b""
        with suppress(ConnectionError, ssl.SSLError):  # perhaps after its answer
            while chunk := await reader.read(65536):
                answer += chunk
        writer.close()
        return answer

    sent = asyncio.Event()
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        crowd = [group.create_task(unfinished()) for _ in range(40)]
        await sent.wait()
        for _ in range(5):
            assert await is_healthy(webhook)
            await webhook.serves()
    answers = [each.result() for each in crowd]
    why = b"the body came too slowly for the room that there is\n"
    gave_way = [
        answer for answer in answers if answer.startswith(b"HTTP/1.1 503 ") and answer.endswith(why)
    ]
    assert gave_way, answers
    assert b"\r\nretry-after: 1\r\n" in gave_way[0]
    assert most_resident(webhook) < MOST_RESIDENT


async def test_thousands_of_components_are_refused_at_once(webhook: ServedWebhook) -> None:
    """1.84 MB each, sixteen clients at a time: almost as many as there is room for."""
    tiny = [{"template": {"kind": "Pod", "apiVersion": "v1"}}] * 40_000
    body = orjson.dumps(review(appwrapper(*tiny)))

    async def judged(path: str) -> httpx.Response:
        """Sends it again if, on a slow machine, the body or its turn came too late."""
        late = {
            408: "the body did not come within 10 s\n",
            503: "too many large requests are being checked\n",
        }
        while True:
            # After a 408 the rest of the body is not read.
            with suppress(httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
                answer = await webhook.post(path, body)
                if answer.status_code not in late:
                    return answer
                assert answer.text == late[answer.status_code]
            await asyncio.sleep(1)

    async def hostile(number: int) -> None:
        path = PATHS[number % 2]
        for _ in range(2):
            response = (await judged(path)).json()["response"]
            assert response["status"]["message"] == (
                'AppWrapper.workload.codeflare.dev "job" is invalid: spec.components: Too many: '
                "40000: must have at most 100 items: split it into several AppWrappers"
            )

    async with asyncio.timeout(5 * SECONDS), asyncio.TaskGroup() as group:
        for number in range(16):
            group.create_task(hostile(number))
        for _ in range(5):
            assert await is_healthy(webhook)
            await webhook.serves()
    assert most_resident(webhook) < MOST_RESIDENT


async def test_silent_connections_are_closed_for_new_ones(webhook: ServedWebhook) -> None:
    """More than there may be, without a handshake even."""
    use_all_descriptors()
    crowd: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    try:
        async with asyncio.timeout(SECONDS):
            while len(crowd) < MOST_CONNECTIONS + 500:
                crowd += [await asyncio.open_connection("127.0.0.1", webhook.port)]
            assert await is_healthy(webhook)
            await webhook.serves()
            for reader, _ in crowd[:400]:  # the first ones had to go
                with suppress(ConnectionError):
                    assert await reader.read() == b""
        assert most_resident(webhook) < MOST_RESIDENT
    finally:
        for _, writer in crowd:
            writer.close()
