"""Reads and writes etcd itself, over its HTTP gateway, with the API server's rights."""

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from localcluster.access.certificates import KeyPairFiles
from localcluster.access.probes import trusting
from localcluster.cluster import LocalCluster
from shared.api.objects import JsonObject


class Etcd:
    """`async with connected(cluster) as etcd:` makes one."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def metrics(self) -> str:
        """Returns the text of its metrics."""
        async with self._session.get("/metrics") as response:
            response.raise_for_status()
            return await response.text()

    async def stored(self, prefix: str) -> dict[str, bytes]:
        """Returns the keys that begin with `prefix`, and their values."""
        found = (await self._call("range", _below(prefix))).get("kvs", ())
        return {
            base64.b64decode(each["key"]).decode(): base64.b64decode(each["value"])
            for each in found
        }

    async def put(self, key: str, value: bytes) -> None:
        """Stores one key."""
        await self._call("put", {"key": _encoded(key.encode()), "value": _encoded(value)})

    async def delete(self, prefix: str) -> None:
        """Deletes the keys that begin with `prefix`."""
        await self._call("deleterange", _below(prefix))

    async def _call(self, method: str, body: Mapping[str, str]) -> JsonObject:
        async with self._session.post(f"/v3/kv/{method}", json=body) as response:
            response.raise_for_status()
            answer: JsonObject = await response.json()
            return answer


@asynccontextmanager
async def connected(cluster: LocalCluster) -> AsyncIterator[Etcd]:
    """Connects with etcd's own certificate."""
    process = cluster.processes["etcd"].spec
    flags = dict(flag.partition("=")[::2] for flag in process.command)
    pair = KeyPairFiles(Path(flags["--cert-file"]), Path(flags["--key-file"]))
    connector = aiohttp.TCPConnector(ssl=trusting(flags["--trusted-ca-file"], pair))
    async with aiohttp.ClientSession(
        process.address, connector=connector, trust_env=False
    ) as session:
        yield Etcd(session)


async def etcd_metrics(cluster: LocalCluster) -> str:
    """Returns the text of etcd's metrics."""
    async with connected(cluster) as etcd:
        return await etcd.metrics()


def _below(prefix: str) -> dict[str, str]:
    """Returns the range of keys with this prefix: up to the next string of the same length."""
    first = prefix.encode()
    return {"key": _encoded(first), "range_end": _encoded(first[:-1] + bytes([first[-1] + 1]))}


def _encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()
