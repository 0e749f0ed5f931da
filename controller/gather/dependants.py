"""What a component owns, by a fresh list: for the proof that nothing is left of it.

Background deletion gives up the component before what it owns. So it is asked only for one of which
it is proved that it owns nothing any more that is a pod, or could make one.
"""

from dataclasses import dataclass
from typing import Final

from controller.gather.unserved_kinds import UnservedKinds
from shared.api.resource import PODS, Resource
from shared.kube.client import KubeClient
from shared.kube.errors import Forbidden, NotFound

REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")
_DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
_SERVICES: Final = Resource("", "v1", "services", "Service")
_CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
_POD_GROUPS: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
RAY_CLUSTERS: Final = Resource("ray.io", "v1", "rayclusters", "RayCluster")
_RAY_JOBS: Final = Resource("ray.io", "v1", "rayjobs", "RayJob")
_PYTORCH_JOBS: Final = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
_JOB_SETS: Final = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
_LEADER_WORKER_SETS: Final = Resource(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
# What the controllers of these Kinds make of them. What holds no pods and makes none (a Secret, a
# role) need not be listed: nothing is given back early for it.
_OWNED: Final[dict[str, tuple[Resource, ...]]] = {
    "Pod": (),
    "Service": (),
    "ConfigMap": (),
    "Secret": (),
    "PersistentVolumeClaim": (),
    "ServiceAccount": (),
    "scheduling.x-k8s.io/PodGroup": (),
    "batch/Job": (PODS,),
    "apps/Deployment": (PODS, REPLICA_SETS),
    "apps/StatefulSet": (PODS, _CLAIMS),
    "kubeflow.org/PyTorchJob": (PODS, _SERVICES, _POD_GROUPS),
    "kubeflow.org/MPIJob": (PODS, JOBS, _SERVICES, _POD_GROUPS),
    "jobset.x-k8s.io/JobSet": (PODS, JOBS, _SERVICES),
    "ray.io/RayCluster": (PODS, JOBS, _SERVICES),
    "ray.io/RayJob": (PODS, JOBS, RAY_CLUSTERS, _SERVICES),
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": (PODS, STATEFUL_SETS, _SERVICES),
}
# Of any other Kind nobody knows what it makes: all that the controller may list.
_ANYTHING: Final = (
    PODS,
    REPLICA_SETS,
    _DEPLOYMENTS,
    STATEFUL_SETS,
    JOBS,
    _SERVICES,
    _CLAIMS,
    _PYTORCH_JOBS,
    RAY_CLUSTERS,
    _RAY_JOBS,
    _JOB_SETS,
    _LEADER_WORKER_SETS,
    _POD_GROUPS,
)


@dataclass(frozen=True, slots=True)
class Dependants:
    """`names` are Kind and name of what was found, `unproved` what could not be listed, and why."""

    names: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()

    @property
    def are_gone(self) -> bool:
        """It is proved that there are none."""
        return not self.names and not self.unproved


class DependantSearch:
    """Lists metadata in the component's namespace, and nothing else."""

    def __init__(self, client: KubeClient, unserved: UnservedKinds) -> None:
        self._client = client
        self._unserved = unserved

    async def of(self, resource: Resource, namespace: str, uid: str) -> Dependants:
        """What the object of that UID owns. Raises KubeError, save where listing is forbidden."""
        names: list[str] = []
        unproved: list[str] = []
        for kind in _OWNED.get(resource.gvk.group_kind, _ANYTHING):
            try:
                names += [f"{kind.kind} {name}" for name in await self._owned(kind, namespace, uid)]
            except Forbidden:
                unproved.append(f"{kind.plural} may not be listed")
            except NotFound:
                if obstacle := await self._unserved.obstacle(kind.gvk):
                    unproved.append(f"{kind.kind}: {obstacle}")
        return Dependants(tuple(names), tuple(unproved))

    async def _owned(self, kind: Resource, namespace: str, uid: str) -> list[str]:
        pages = self._client.list_pages(kind, namespace, metadata_only=True)
        return [
            item["metadata"]["name"]
            async for page in pages
            for item in page.items
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())
        ]
