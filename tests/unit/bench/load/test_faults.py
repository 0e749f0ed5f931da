"""What the administrator does to break an AppWrapper, and whose latency that begins."""

import time

import pytest

from bench.errors import BenchError
from bench.load.faults import delete_job, fail_pod, label_node, unlabel_nodes
from shared.api.objects import NODES, PODS
from shared.kinds.job import JOBS
from tests.support.fakes.fake_kube import FakeKube, listed

POD = {"metadata": {"name": "a-0"}, "spec": {"nodeName": "gpu-node-3"}}


async def test_a_pod_is_reported_failed() -> None:
    client = FakeKube(answers={"patch": [{}]}, lists=[[listed(1, POD)]])
    assert await fail_pod(client, "a") < time.perf_counter()
    (call,) = client.called("patch")
    assert call.args[:3] == (PODS, "bench", "a-0")
    assert call.args[3]["status"]["phase"] == "Failed"
    assert call.kwargs == {"subresource": "status"}


async def test_the_node_below_a_pod_is_tagged() -> None:
    client = FakeKube(answers={"patch": [{}]}, lists=[[listed(1, POD)]])
    await label_node(client, "a")
    (call,) = client.called("patch")
    labels = {"autopilot.ibm.com/gpuhealth": "EVICT"}
    assert call.args[:4] == (NODES, None, "gpu-node-3", {"metadata": {"labels": labels}})


async def test_all_tags_are_taken_away() -> None:
    nodes = [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]
    client = FakeKube(answers={"patch": [{}, {}]}, lists=[[listed(1, *nodes)]])
    await unlabel_nodes(client)
    removed = {"metadata": {"labels": {"autopilot.ibm.com/gpuhealth": None}}}
    assert [call.args[2:4] for call in client.called("patch")] == [("n1", removed), ("n2", removed)]


async def test_the_job_of_the_same_name_is_deleted() -> None:
    client = FakeKube(answers={"delete": [None]})
    await delete_job(client, "a")
    assert client.called("delete")[0].args == (JOBS, "bench", "a")


async def test_an_appwrapper_without_pods_cannot_be_broken() -> None:
    client = FakeKube(lists=[[listed(1)]])
    with pytest.raises(BenchError, match=r"^AppWrapper a has no pods\.$"):
        await fail_pod(client, "a")
