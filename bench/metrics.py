"""Reads the metrics of the API server and etcd: Prometheus' text format."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import aiohttp

from localcluster.access.certificates import KeyPairFiles
from localcluster.access.probes import trusting
from localcluster.cluster import LocalCluster

_LABEL = re.compile(r'(\w+)="([^"]*)"')


def series(text: str, name: str) -> Iterator[tuple[Mapping[str, str], float]]:
    """Yields the labels and the value of each series of one metric."""
    for labels, value in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE):
        yield dict(_LABEL.findall(labels)), float(value)


async def fetch(cluster: LocalCluster, path: str) -> bytes:
    """Returns what the API server answers to the administrator."""
    access = cluster.access
    return await _body(f"{access.server}{path}", str(access.authority), access.admin)


async def api_server_metrics(cluster: LocalCluster) -> str:
    """Returns the text of the API server's metrics."""
    return (await fetch(cluster, "/metrics")).decode()


async def etcd_metrics(cluster: LocalCluster) -> str:
    """Returns the text of etcd's metrics."""
    process = cluster.processes["etcd"].spec
    flags = dict(flag.partition("=")[::2] for flag in process.command)
    pair = KeyPairFiles(Path(flags["--cert-file"]), Path(flags["--key-file"]))
    return (await _body(f"{process.address}/metrics", flags["--trusted-ca-file"], pair)).decode()


async def _body(url: str, authority: str, pair: KeyPairFiles) -> bytes:
    async with (
        aiohttp.ClientSession(trust_env=False) as session,
        session.get(url, ssl=trusting(authority, pair)) as response,
    ):
        response.raise_for_status()
        return await response.read()
