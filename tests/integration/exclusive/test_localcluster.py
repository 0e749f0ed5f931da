"""The shared cluster itself: what every other integration test stands on."""

import asyncio
from typing import Any

import pytest

from localcluster.cluster import LocalCluster
from localcluster.machine.child import captured
from localcluster.team import NAMESPACE
from shared.api.objects import NAMESPACES, NODES, PODS, JsonObject
from shared.kube.client import Forbidden, Propagation
from shared.kube.http_client import connect
from tests.support.cluster.resources import JOBS, WORKLOADS
from tests.support.cluster.unchanged import without_bookkeeping
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.long


def queued_job(name: str) -> JsonObject:
    """Two pods of one GPU each, through the team's queue."""
    container: dict[str, Any] = {
        "name": "main",
        "image": "busybox",
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kueue.x-k8s.io/queue-name": "default-queue"},
        },
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


async def finished(cluster: LocalCluster, name: str) -> JsonObject:
    """The job once it has a terminal condition."""
    while True:
        job = await cluster.client.get(JOBS, NAMESPACE, name)
        for condition in job["status"].get("conditions", ()):
            if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
                return job
        await asyncio.sleep(0.05)


async def test_plain_queued_job_completes_under_kueue(cluster: LocalCluster) -> None:
    await cluster.apply([queued_job("plain")])
    async with asyncio.timeout(PATIENCE_SECONDS):
        job = await finished(cluster, "plain")
    assert job["status"]["succeeded"] == 2
    owned = [
        workload
        async for page in cluster.client.pages(WORKLOADS, NAMESPACE)
        for workload in page.items
        if workload["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    ]
    reserved = [
        condition["status"]
        for workload in owned
        for condition in workload["status"]["conditions"]
        if condition["type"] == "QuotaReserved"
    ]
    assert reserved == ["True"]
    await cluster.client.delete(
        JOBS, NAMESPACE, "plain", uid=None, propagation=Propagation.BACKGROUND
    )


async def test_nodes_have_the_gpus_that_were_asked_for(cluster: LocalCluster) -> None:
    nodes = [node async for page in cluster.client.pages(NODES) for node in page.items]
    assert len(nodes) == 8
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes} == {"8"}


async def test_kubectl_works_with_the_administrators_kubeconfig(cluster: LocalCluster) -> None:
    code, output = await captured(
        (str(cluster.kubectl), f"--kubeconfig={cluster.kubeconfig}", "get", "--raw", "/version")
    )
    assert code == 0, output
    assert '"gitVersion": "v1.37.0"' in output


async def test_service_account_may_only_what_it_is_granted(cluster: LocalCluster) -> None:
    before = await cluster.client.get(NAMESPACES, None, NAMESPACE)
    kubeconfig = await cluster.service_account_kubeconfig(NAMESPACE, "stranger")
    after = await cluster.client.get(NAMESPACES, None, NAMESPACE)
    # What makes it a team's namespace is not ours to take off.
    assert after["metadata"]["labels"]["mlbatch-team-namespace"] == "true"
    assert after["spec"] == before["spec"]
    assert without_bookkeeping(after) == without_bookkeeping(before)
    client = await connect(str(kubeconfig))
    try:
        version = await client.get_path("/version")
        assert version["gitVersion"] == "v1.37.0"
        refused: Exception | None = None
        try:
            await client.get(PODS, NAMESPACE, "any")
        except Forbidden as error:
            refused = error
        assert refused is not None
        assert f"system:serviceaccount:{NAMESPACE}:stranger" in str(refused)
    finally:
        await client.close()


async def test_every_process_is_running_and_has_a_log(cluster: LocalCluster) -> None:
    # Other tests may have had these in this cluster, and stopped them.
    others = {"go-operator", "prometheus"}
    processes = {name: each for name, each in cluster.processes.items() if name not in others}
    states = {name: process.state for name, process in processes.items()}
    assert states == dict.fromkeys(states, "running")
    assert {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} <= states.keys()
    assert all(process.log.is_file() for process in cluster.processes.values())
