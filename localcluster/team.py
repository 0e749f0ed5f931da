"""Creates the team of the documentation: namespace, quota, queue, priorities, PodGroups."""

from pathlib import Path

from localcluster.access.apply import read_documents
from localcluster.access.running import RunningCluster
from shared.api.objects import JsonObject

NAMESPACE = "team1"
_MANIFESTS = Path(__file__).resolve().parent.parent / "deploy" / "team"
_GPU = "nvidia.com/gpu"
_POD_GROUPS = "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml"


async def set_up(cluster: RunningCluster) -> None:
    """Applies deploy/team, with as many GPUs of quota as the cluster's nodes have.

    Kueue must serve: its webhooks validate the queues.
    """
    gpus = cluster.options.nodes * cluster.options.gpus_per_node
    documents = read_documents(_MANIFESTS, cluster.modules["coscheduler"] / _POD_GROUPS)
    for document in documents:
        if document["kind"] == "ClusterQueue":
            _set_quota(document, gpus)
    await cluster.apply(documents)


def _set_quota(queue: JsonObject, gpus: int) -> None:
    for group in queue["spec"]["resourceGroups"]:
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                if resource["name"] == _GPU:
                    resource["nominalQuota"] = gpus
