"""Cause faults with the administrator's rights. Each function returns the moment before its
request.

So a latency includes the request itself and the API server's work on it. Moments are of
`time.perf_counter`.
"""

import time

from bench.errors import BenchError
from bench.objects import NAMESPACE
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import NODES, PODS, JsonObject
from shared.kinds.job import JOBS
from shared.kube.client import KubeClient, PatchType, Propagation

_AUTOPILOT = "autopilot.ibm.com/gpuhealth"


async def fail_pod(client: KubeClient, name: str) -> float:
    """Set one pod of that AppWrapper to Failed, as a kubelet would report."""
    return await fail(client, (await pods_of(client, name))[0]["metadata"]["name"])


async def fail(client: KubeClient, pod: str) -> float:
    """Set the pod of that name to Failed."""
    status = {"status": {"phase": "Failed", "reason": "Benchmark"}}
    began = time.perf_counter()
    await client.patch(PODS, NAMESPACE, pod, status, PatchType.MERGE, subresource="status")
    return began


async def label_node(client: KubeClient, name: str) -> float:
    """Label the node of one of that AppWrapper's pods with EVICT, as Autopilot does."""
    node = (await pods_of(client, name))[0]["spec"]["nodeName"]
    began = time.perf_counter()
    await label(client, node, "EVICT")
    return began


async def delete_job(client: KubeClient, name: str) -> float:
    """Delete the Job that this AppWrapper wraps, as another user would; both have the same name."""
    began = time.perf_counter()
    await client.delete(JOBS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND)
    return began


async def unlabel_nodes(client: KubeClient) -> None:
    """Remove Autopilot's label from all nodes: they are healthy again."""
    async for page in client.pages(NODES, label_selector=_AUTOPILOT, metadata_only=True):
        for node in page.items:
            await label(client, node["metadata"]["name"], None)


async def label(client: KubeClient, node: str, value: str | None) -> None:
    """Set or remove Autopilot's label of a node."""
    labels = {"metadata": {"labels": {_AUTOPILOT: value}}}
    await client.patch(NODES, None, node, labels, PatchType.MERGE)


async def pods_of(client: KubeClient, name: str) -> list[JsonObject]:
    """Return the pods of the AppWrapper of that name. Raise BenchError if it has none."""
    pages = client.pages(PODS, NAMESPACE, label_selector=f"{LABEL_APPWRAPPER}={name}")
    if pods := [pod async for page in pages for pod in page.items]:
        return pods
    raise BenchError(f"AppWrapper {name} has no pods.")
