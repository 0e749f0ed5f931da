import asyncio
from typing import cast

import pytest

from bench.profile import window
from bench.profile.window import counters, until_idle
from localcluster.cluster import LocalCluster

API = """\
etcd_request_duration_seconds_count{group="",operation="create",resource="events"} 3
etcd_request_duration_seconds_count{group="",operation="get",resource="events"} 9
apiserver_watch_events_total{group="",resource="pods",version="v1"} 4
"""
ETCD = """\
etcd_mvcc_put_total 12
etcd_network_client_grpc_sent_bytes_total 2500
"""


def test_counters_of_both_programs() -> None:
    found = counters(API, ETCD)
    assert found["writes"] == {"create events": 3}
    assert found["events"] == {"pods": 4}
    assert found["etcd"] == {
        "put": 12, "KB sent": 2.5, "delete": 0, "range (reads)": 0, "KB received": 0,
    }  # fmt: skip


async def test_a_window_lasts_until_only_leases_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = iter((0, 500, 520, 523, 600))

    async def etcd_metrics(_: LocalCluster) -> str:
        return f"etcd_mvcc_put_total {next(written)}"

    async def sleep(_: float) -> None: ...

    monkeypatch.setattr(window, "etcd_metrics", etcd_metrics)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    await until_idle(cast("LocalCluster", None))
    assert next(written) == 600
