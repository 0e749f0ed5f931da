"""Pod sets of kinds that Kueue does not infer.

Kueue reads them from the spec alone, until the status holds them. Inferred by the controller, they
would appear only then, and Kueue would stop what it has just started. So the webhook writes them
into the spec when the AppWrapper is created.
"""

from collections.abc import Callable
from typing import Final

from shared.api.json import JsonObject
from shared.podsets.counts import checked, count_at, exists, value_or_none
from shared.podsets.declared import component_pod_sets
from shared.podsets.group_version_kind import version_and_kind
from shared.podsets.pod_set import PodSet, PodSetError

_GROUP: Final = "template.spec.leaderWorkerTemplate"
# How many pods each role has where it does not say: in the Training and in the MPI Operator.
_MPI_ROLES: Final = {
    "template.spec.mpiReplicaSpecs.Launcher": 1,
    "template.spec.mpiReplicaSpecs.Worker": 0,
}


def pod_sets_to_declare(template: JsonObject) -> tuple[PodSet, ...] | None:
    """The pod sets of the object `template`; None for a kind that is not in this table.

    Raises PodSetError for an object without its pod template, or with impossible counts.
    """
    infer = _BY_KIND.get(version_and_kind(template))
    return None if infer is None else checked(template, infer(template))


def pod_sets_once_admitted(component: JsonObject) -> tuple[PodSet, ...]:
    """The pod sets of an element of spec.components once the webhook has written what it infers.

    Raises PodSetError.
    """
    return component_pod_sets(component) or pod_sets_to_declare(component["template"]) or ()


def _leader_worker_set(template: JsonObject) -> tuple[PodSet, ...]:
    """Groups of `size` pods: a leader and its workers, or all alike without leaderTemplate."""
    groups = count_at(template, "template.spec.replicas")
    size = count_at(template, f"{_GROUP}.size")
    if size < 1:
        raise PodSetError(f"{_GROUP}.size is {size}, but a group has at least its leader")
    leader, worker = f"{_GROUP}.leaderTemplate", f"{_GROUP}.workerTemplate"
    if value_or_none(template, leader) is None:
        return (PodSet(worker, groups * size),)
    if size == 1:
        return (PodSet(leader, groups),)
    return (PodSet(leader, groups), PodSet(worker, groups * (size - 1)))


def _mpi_job(template: JsonObject) -> tuple[PodSet, ...]:
    return tuple(
        PodSet(f"{role}.template", count_at(template, f"{role}.replicas", default=default))
        for role, default in _MPI_ROLES.items()
        if exists(template, f"{role}.template")
    )


_BY_KIND: Final[dict[tuple[str, str], Callable[[JsonObject], tuple[PodSet, ...]]]] = {
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): _leader_worker_set,
    ("kubeflow.org/v1", "MPIJob"): _mpi_job,
    ("kubeflow.org/v2beta1", "MPIJob"): _mpi_job,
}

KINDS: Final = frozenset(_BY_KIND)
