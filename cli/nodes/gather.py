"""Read the nodes and the pods that use their GPUs. I/O only.

The pods of other namespaces are often unreadable. Kueue's ClusterQueues then show what is in use.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from cli.checks.gather import BOUND_PODS, read_latches
from cli.checks.nodes import NodeState, node_of
from cli.checks.workloads import HoldingPod, holding_pods
from cli.cluster.kueue import cluster_queue_of
from cli.cluster.reader import Reader, as_they_are, needed
from cli.nodes.report import ObservedNodes
from shared.api.amounts import ZERO
from shared.api.objects import NODES, PODS, JsonObject
from shared.kube.client import KubeClient
from shared.waits.gpus import gpu_resources
from shared.waits.quota import CLUSTER_QUEUES


async def observed_nodes(client: KubeClient, now: datetime) -> ObservedNodes:
    """Read all. Raises CommandError if the user may not read the nodes."""
    reader = Reader(client)
    found = await reader.operator_configuration()
    taints, resources = found.behaviour.autopilot.resource_taints, gpu_resources(found.behaviour)
    latches = await read_latches(reader, found.config, now)

    def states(page: Iterable[JsonObject]) -> Iterable[NodeState]:
        return (node_of(item, taints, latches) for item in page)

    def holding(page: Iterable[JsonObject]) -> Iterable[HoldingPod]:
        return holding_pods(page, resources)

    nodes = needed(await reader.projected(NODES, states, what="the nodes"), "nodes") or ()
    what = "USED, FREE, BLOCK (pods of all namespaces)"
    pods = await reader.every(PODS, holding, what=what, field_selector=BOUND_PODS)
    in_queues = await _in_queues(reader, resources) if pods is None else None
    return ObservedNodes(
        nodes=nodes,
        pods=pods,
        resources=resources,
        in_queues=in_queues,
        unread=tuple(reader.unread),
    )


async def _in_queues(reader: Reader, resources: Iterable[str]) -> Decimal | None:
    raw = await reader.every(CLUSTER_QUEUES, as_they_are)
    if raw is None:
        return None
    queues = [cluster_queue_of(each) for each in raw]
    return sum((queue.total(name).used for queue in queues for name in resources), ZERO)
