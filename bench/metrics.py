"""Reads the metrics of the API server: Prometheus' text format."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import aiohttp

from localcluster.access.probes import trusting
from localcluster.cluster import LocalCluster

_EVENT = ("events", "POST")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def series(text: str, name: str) -> Iterator[tuple[Mapping[str, str], float]]:
    """Yields the labels and the value of each series of one metric."""
    for labels, value in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE):
        yield dict(_LABEL.findall(labels)), float(value)


async def fetch(cluster: LocalCluster, path: str) -> bytes:
    """Returns what the API server answers to the administrator."""
    access = cluster.access
    async with (
        aiohttp.ClientSession(access.server, trust_env=False) as session,
        session.get(path, ssl=trusting(str(access.authority), access.admin)) as response,
    ):
        response.raise_for_status()
        return await response.read()


async def api_server_metrics(cluster: LocalCluster) -> str:
    """Returns the text of the API server's metrics."""
    return (await fetch(cluster, "/metrics")).decode()


class OperatorsRequests(NamedTuple):
    """Requests of ServiceAccounts outside kube-system, KWOK's excluded, since the server started.

    A watch counts once. `events` are creates of Events, by all clients.
    """

    all: float
    events: float


def operators_requests(metrics: str) -> OperatorsRequests:
    """Reads them from the text of the API server's metrics."""
    accepted = series(metrics, "apiserver_flowcontrol_dispatched_requests_total")
    answered = series(metrics, "apiserver_request_total")
    return OperatorsRequests(
        sum(n for labels, n in accepted if labels["flow_schema"] == "service-accounts"),
        sum(n for labels, n in answered if (labels["resource"], labels["verb"]) == _EVENT),
    )
