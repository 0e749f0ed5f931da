"""How many workers KubeRay makes of a worker group, beside how many Kueue counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.api.json import JsonObject
from shared.podsets.counts import length_at, lenient_count_at
from shared.podsets.group_version_kind import version_and_kind
from shared.podsets.pod_set import MAXIMUM_REPLICAS, PodSetError

# Where a Kind has the spec of its cluster.
_CLUSTER: Final = {"RayCluster": "template.spec", "RayJob": "template.spec.rayClusterSpec"}


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """`counted` by Kueue are its replicas, which KubeRay holds between the two others.

    Of each replica it makes `hosts` pods.
    """

    path: str
    counted: int
    at_least: int
    at_most: int
    hosts: int


def cluster_path(template: JsonObject) -> str | None:
    """Where the object has the spec of a Ray cluster; None for other Kinds. Any version will do."""
    version, kind = version_and_kind(template)
    return _CLUSTER.get(kind) if version.startswith("ray.io/") else None


def worker_groups(template: JsonObject) -> Iterator[WorkerGroup]:
    """Those of a RayCluster or a RayJob; none where there are too many to be pod sets."""
    cluster = cluster_path(template)
    if cluster is None:
        return
    try:
        groups = length_at(template, f"{cluster}.workerGroupSpecs")
    except PodSetError:
        return
    for index in range(groups):
        path = f"{cluster}.workerGroupSpecs[{index}]"
        yield WorkerGroup(
            path,
            lenient_count_at(template, f"{path}.replicas", default=1),
            lenient_count_at(template, f"{path}.minReplicas", default=0),
            lenient_count_at(template, f"{path}.maxReplicas", default=MAXIMUM_REPLICAS),
            lenient_count_at(template, f"{path}.numOfHosts", default=1),
        )
