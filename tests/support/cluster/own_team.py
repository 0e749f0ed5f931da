"""Makes the nodes of one worker's pods, and the flavor that assigns them."""

from typing import Final

from localcluster.access.probes import node_is_ready
from localcluster.access.running import RunningCluster
from localcluster.installers import kwok
from shared.api.objects import NODES, JsonObject
from shared.kube.client import KubeClient
from tests.support.patience import comes_to
from tests.support.team import FIRST_NODE, FLAVOR, WORKER

NODE_LABEL: Final = "tests.localcluster.dev/worker"
_NODES: Final = 8
_GPUS: Final = 8


async def own_nodes(client: KubeClient) -> list[JsonObject]:
    """Return the nodes of this process's queued pods, by name."""
    selector = f"{NODE_LABEL}={WORKER}" if WORKER else ""
    pages = client.pages(NODES, label_selector=selector)
    found = [item async for page in pages for item in page.items]
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


async def make_own_nodes(cluster: RunningCluster) -> None:
    """Make the worker's flavor and nodes; return when all are Ready. They go with the cluster."""
    await cluster.apply([_flavor(), *(_node(number) for number in range(_NODES))])

    async def ready() -> int:
        return sum(node_is_ready(each) for each in await own_nodes(cluster.client))

    await comes_to(ready, _NODES)


def _flavor() -> JsonObject:
    toleration = {"key": NODE_LABEL, "operator": "Equal", "value": WORKER, "effect": "NoSchedule"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": FLAVOR},
        "spec": {"nodeLabels": {NODE_LABEL: WORKER}, "tolerations": [toleration]},
    }


def _node(number: int) -> JsonObject:
    made = kwok.node(FIRST_NODE - 1 + number, _GPUS)
    made["metadata"]["labels"][NODE_LABEL] = WORKER
    made["spec"] = {"taints": [{"key": NODE_LABEL, "value": WORKER, "effect": "NoSchedule"}]}
    return made
