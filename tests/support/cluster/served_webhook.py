"""A webhook that serves on its own port, and clients of all sorts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson

from localcluster.access.probes import unverified
from localcluster.access.running import RunningCluster
from localcluster.machine.slowness import stretched
from localcluster.product import NAMESPACE
from tests.support.builders.admission import appwrapper, review
from tests.support.builders.appwrappers import QUEUE
from tests.support.cluster.webhook_process import (
    ALONE,
    WebhookProcess,
    client,
    webhook_process,
    write_pair,
)

GOOD = orjson.dumps(review(appwrapper(labels=QUEUE)))
PATHS = ("/mutate", "/validate")
# The API server waits for ten; a busy machine may take longer, which only the bench measures.
SECONDS = stretched(60.0)


@dataclass(frozen=True, slots=True)
class ServedWebhook:
    """A webhook that serves, and a client that keeps its connections."""

    process: WebhookProcess
    port: int
    http: httpx.AsyncClient

    async def post(self, path: str, body: bytes) -> httpx.Response:
        async with asyncio.timeout(SECONDS):
            return await self.http.post(path, content=body)

    async def serves(self) -> None:
        """Asserts that the webhook answers a good review."""
        for path in PATHS:
            response = (await self.post(path, GOOD)).json()["response"]
            assert (response["uid"], response["allowed"]) == ("7", True)


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, ssl=unverified())


def head(length: int, path: str = "/validate") -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), length)


@asynccontextmanager
async def serving(folder: Path, cluster: RunningCluster) -> AsyncIterator[ServedWebhook]:
    """Starts a process under the webhook's identity; yields it once it is ready."""
    write_pair(folder, 1)
    identity = await cluster.service_account_kubeconfig(NAMESPACE, "appwrapper-webhook")
    async with webhook_process(folder, identity, "--cert-dir", str(folder), **ALONE) as process:
        port = await process.ready_port()
        async with client(port) as http:
            yield ServedWebhook(process, port, http)
