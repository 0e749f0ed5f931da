"""Measures what the cluster's programs do in one window of time."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from bench.etcd import etcd_metrics
from bench.machine import usage
from bench.metrics import api_server_metrics, series
from bench.profile.sampling import api_server_samples
from bench.profile.stacks import StackSample
from localcluster.cluster import LocalCluster
from shared.process.clock import SystemClock

_ETCD = {
    "put": "etcd_mvcc_put_total",
    "delete": "etcd_mvcc_delete_total",
    "range (reads)": "etcd_mvcc_range_total",
    "KB received": "etcd_network_client_grpc_received_bytes_total",
    "KB sent": "etcd_network_client_grpc_sent_bytes_total",
}
_WRITES = ("create", "update", "delete")
# An idle cluster writes its leases: about three a second.
_IDLE_WRITES = 10
_PATIENCE_SECONDS = 60


@dataclass(slots=True)
class Window:
    """The work of the programs between `began` and `ended`: CPU in ms, and numbers or KB."""

    began: datetime
    ended: datetime
    cpu: Mapping[str, float] = field(default_factory=dict)
    etcd: Mapping[str, float] = field(default_factory=dict)
    writes: Mapping[str, float] = field(default_factory=dict)
    events: Mapping[str, float] = field(default_factory=dict)
    api_server: list[StackSample] = field(default_factory=list)


@asynccontextmanager
async def window(cluster: LocalCluster) -> AsyncIterator[Window]:
    """Measures inside the context, and until the cluster is idle; complete after that.

    Kueue and the Job controller write Events, and Kueue finishes Workloads, after the last object
    has reached the state that a batch waits for.
    """
    before, cpu = await _counters(cluster), _cpu(cluster)
    async with api_server_samples(cluster) as samples:
        measured = Window(SystemClock().now(), SystemClock().now())
        yield measured
        await until_idle(cluster)
        measured.ended = SystemClock().now()
        after = _cpu(cluster)
    measured.cpu = {name: (after[name] - cpu.get(name, 0.0)) * 1_000 for name in after}
    for name, counted in (await _counters(cluster)).items():
        spent = {key: value - before[name].get(key, 0.0) for key, value in counted.items()}
        setattr(measured, name, spent)
    measured.api_server = samples


async def until_idle(cluster: LocalCluster) -> None:
    """Waits until etcd writes little more than leases, for a minute at most."""
    written = await _written(cluster)
    for _ in range(_PATIENCE_SECONDS):
        await asyncio.sleep(1)
        before, written = written, await _written(cluster)
        if written - before < _IDLE_WRITES:
            return


async def _written(cluster: LocalCluster) -> float:
    done = counters("", await etcd_metrics(cluster))["etcd"]
    return done["put"] + done["delete"]


def _cpu(cluster: LocalCluster) -> dict[str, float]:
    return {
        name: usage([process.pid]).cpu_seconds
        for name, process in cluster.processes.items()
        if process.child.exit_code is None
    }


async def _counters(cluster: LocalCluster) -> Mapping[str, Mapping[str, float]]:
    return counters(await api_server_metrics(cluster), await etcd_metrics(cluster))


def counters(api: str, etcd: str) -> Mapping[str, Mapping[str, float]]:
    """Reads the counters of a window from the metrics of the API server and of etcd."""
    found = {name: defaultdict[str, float](float) for name in ("etcd", "writes", "events")}
    for name, metric in _ETCD.items():
        scale = 1_000 if "KB" in name else 1
        found["etcd"][name] += sum(value for _, value in series(etcd, metric)) / scale
    for labels, value in series(api, "etcd_request_duration_seconds_count"):
        if labels["operation"] in _WRITES:
            found["writes"][f"{labels['operation']} {labels['resource']}"] += value
    for labels, value in series(api, "apiserver_watch_events_total"):
        found["events"][labels["resource"]] += value
    return found
