"""The evacuation breaker as it comes: a fifth of at least ten nodes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import NODES
from shared.kube.client import KubeClient, PatchType, Propagation
from tests.support.builders.appwrappers import true_conditions, version_of
from tests.support.builders.autopilot import GPU
from tests.support.cluster.gpu_nodes import RUNS, GpuNodes, gpu_appwrapper, gpu_nodes, says

TAGGED = "appwrapper_nodes_no_execute"
LOST = "appwrapper_unschedulable_capacity"
OPEN = "appwrapper_evacuation_breaker_open"
# Beside the cluster's 8: twenty in all.
MORE = [f"spare-node-{number}" for number in range(12)]


@asynccontextmanager
async def more_nodes(client: KubeClient) -> AsyncIterator[None]:
    """Nodes with GPUs that take no pods: nobody plays their kubelets."""
    try:
        for name in MORE:
            spec = {"unschedulable": True}
            await client.create(NODES, None, {"metadata": {"name": name}, "spec": spec})
            amounts = {GPU: "8"}
            status = {"status": {"capacity": amounts, "allocatable": amounts}}
            await client.patch(NODES, None, name, status, PatchType.MERGE, subresource="status")
        yield
    finally:
        for name in MORE:
            await client.delete(NODES, None, name, uid=None, propagation=Propagation.BACKGROUND)


@pytest_asyncio.fixture
async def nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    async with more_nodes(cluster.client), gpu_nodes(cluster) as nodes:
        await nodes.shows("appwrapper_nodes", 20, resource=GPU)
        yield nodes
    await nodes.shows("appwrapper_nodes", 8, resource=GPU)


async def test_four_of_twenty_are_believed_and_five_are_not(nodes: GpuNodes) -> None:
    for reason, amount in (("cordoned", 8 * len(MORE)), ("out_of_reach", 0), ("label", 0)):
        await nodes.shows(LOST, amount, resource=GPU, reason=reason)
    life = await nodes.runs(gpu_appwrapper("breaker-default"))
    for name in MORE[:4]:
        await nodes.label(name, "EVICT")
    await nodes.shows(TAGGED, 4, resource=GPU)
    await nodes.shows(OPEN, 0, resource=GPU)
    await nodes.label(MORE[4], "EVICT")
    await nodes.shows(OPEN, 1, resource=GPU)
    await nodes.label(await nodes.node_of(life), "EVICT")
    held = await life.until(says("EvacuationBreakerOpen"), "that its evacuation waits")
    for name in MORE[:2]:
        await nodes.label(name, "WARN")
    # Three and its own are a fifth, and not more.
    again = await life.until(
        lambda item: version_of(item) > version_of(held) and true_conditions(item) == RUNS,
        "all of its pods running elsewhere",
    )
    await nodes.shows(OPEN, 0, resource=GPU)
    assert again["status"]["attempt"] == 2
    assert life.phases() == [
        *("", "Suspended", "Resuming", "Running"),
        *("Resetting", "Resuming", "Running"),
    ]
