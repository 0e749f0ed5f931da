"""The Kinds that the simulated API server serves, and how it stores each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shared.api.objects import (
    APPWRAPPERS,
    CONFIGMAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    Resource,
)
from shared.kinds import table
from shared.kinds.scaled import REPLICA_SETS
from shared.waits.quota import CLUSTER_QUEUES
from shared.waits.workload import WORKLOADS

_BY_KIND: Final = {each.resource.kind: each.resource for each in table.KINDS}

JOBS: Final = _BY_KIND["Job"]
PYTORCH_JOBS: Final = _BY_KIND["PyTorchJob"]
JOB_SETS: Final = _BY_KIND["JobSet"]
RAY_CLUSTERS: Final = _BY_KIND["RayCluster"]
RAY_JOBS: Final = _BY_KIND["RayJob"]
MPI_JOBS: Final = _BY_KIND["MPIJob"]
LEADER_WORKER_SETS: Final = _BY_KIND["LeaderWorkerSet"]
DEPLOYMENTS: Final = _BY_KIND["Deployment"]
STATEFUL_SETS: Final = _BY_KIND["StatefulSet"]
SERVICES: Final = _BY_KIND["Service"]
SERVICE_ACCOUNTS: Final = _BY_KIND["ServiceAccount"]
CLAIMS: Final = _BY_KIND["PersistentVolumeClaim"]
POD_GROUPS: Final = _BY_KIND["PodGroup"]
LOCAL_QUEUES: Final = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
RESOURCE_FLAVORS: Final = Resource(
    "kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False
)
CRDS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
PROBES: Final = Resource("simulation.example.com", "v1", "probes", "Probe")
"""Only tests use this Kind: the differential test compares its objects with a real API server's."""


@dataclass(frozen=True, slots=True)
class Served:
    """How the API server stores a Kind. `status`: it has a status subresource."""

    resource: Resource
    status: bool = True
    generation: bool = True
    custom: bool = False
    """True for a Kind of a CRD: a PUT must hold the resourceVersion."""


def _plain(resources: Iterable[Resource], *, status: bool, generation: bool) -> list[Served]:
    return [Served(each, status=status, generation=generation) for each in resources]


def _custom(resources: Iterable[Resource]) -> list[Served]:
    return [Served(each, custom=True) for each in resources]


SERVED: Final[dict[Resource, Served]] = {
    each.resource: each
    for each in (
        *_plain((CONFIGMAPS, SECRETS, EVENTS, SERVICE_ACCOUNTS), status=False, generation=False),
        *_plain((LEASES,), status=False, generation=False),
        *_plain((NODES, NAMESPACES, SERVICES, CLAIMS), status=True, generation=False),
        *_plain((PODS, JOBS, DEPLOYMENTS, REPLICA_SETS), status=True, generation=True),
        *_plain((STATEFUL_SETS, CRDS), status=True, generation=True),
        *_custom((APPWRAPPERS, PYTORCH_JOBS, JOB_SETS, RAY_CLUSTERS, RAY_JOBS, MPI_JOBS)),
        *_custom((LEADER_WORKER_SETS, POD_GROUPS, WORKLOADS, LOCAL_QUEUES, CLUSTER_QUEUES, PROBES)),
        Served(RESOURCE_FLAVORS, status=False, custom=True),
    )
}

BY_PATH: Final = {(each.group, each.version, each.plural): each for each in SERVED}
BY_OBJECT: Final = {(each.gvk.api_version, each.kind): each for each in SERVED}


def resource_of(item: dict[str, object]) -> Resource:
    """Return the resource of an object or an owner reference, by its apiVersion and kind."""
    return BY_OBJECT[str(item["apiVersion"]), str(item["kind"])]
