"""Pod sets that follow from a component's kind, exactly as Kueue infers them.

Until the status holds them, Kueue computes an AppWrapper's pod sets itself, with the Go operator's
library. So this table must give the same pod sets in the same order. Kinds which that library does
not know give None: their pod sets must be declared.
"""

from collections.abc import Callable
from typing import Final

from shared.api.json import JsonObject
from shared.podsets.counts import checked, count_at, exists, length_at, lenient_count_at
from shared.podsets.group_version_kind import version_and_kind
from shared.podsets.paths import ROOT
from shared.podsets.pod_set import (
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    PodSet,
)

_JOB_COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_JOBSET_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
_KUBEFLOW_REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"


def inferred_pod_sets(template: JsonObject) -> tuple[PodSet, ...] | None:
    """The pod sets of the object `template`; None for a kind Kueue does not know, () for no pods.

    Raises PodSetError for an object of a known kind that lacks what its kind must have (a Job
    without a pod template) or has a replica count that is no number.
    """
    infer = _BY_KIND.get(version_and_kind(template))
    return None if infer is None else checked(template, infer(template))


def _pod(_template: JsonObject) -> tuple[PodSet, ...]:
    return (PodSet(ROOT),)


def _scaled(template: JsonObject) -> tuple[PodSet, ...]:
    """Deployment, StatefulSet. Without a pod template there is no pod set, as in Kueue."""
    path = "template.spec.template"
    if not exists(template, path):
        return ()
    return (PodSet(path, count_at(template, "template.spec.replicas")),)


def _job(template: JsonObject) -> tuple[PodSet, ...]:
    return (
        PodSet(
            "template.spec.template",
            _pods_of_job(template, "template.spec"),
            {TAS_POD_INDEX_LABEL: _JOB_COMPLETION_INDEX},
        ),
    )


def _job_set(template: JsonObject) -> tuple[PodSet, ...]:
    pod_sets = []
    for index in range(length_at(template, "template.spec.replicatedJobs")):
        job = f"template.spec.replicatedJobs[{index}]"
        if not exists(template, f"{job}.template"):
            continue
        replicas = lenient_count_at(template, f"{job}.replicas", default=1)
        pod_sets.append(
            PodSet(
                f"{job}.template.spec.template",
                replicas * _pods_of_job(template, f"{job}.template.spec"),
                {
                    TAS_POD_INDEX_LABEL: _JOB_COMPLETION_INDEX,
                    TAS_SUB_GROUP_INDEX_LABEL: _JOBSET_JOB_INDEX,
                    TAS_SUB_GROUP_COUNT: str(replicas),
                },
            )
        )
    return tuple(pod_sets)


def _pytorch_job(template: JsonObject) -> tuple[PodSet, ...]:
    """Master, then Worker: the order of the pod sets, whatever the order in the object."""
    roles = [f"template.spec.pytorchReplicaSpecs.{role}" for role in ("Master", "Worker")]
    return tuple(
        PodSet(
            f"{role}.template",
            count_at(template, f"{role}.replicas"),
            {TAS_POD_INDEX_LABEL: _KUBEFLOW_REPLICA_INDEX},
        )
        for role in roles
        if exists(template, f"{role}.template")
    )


def _ray_cluster(template: JsonObject) -> tuple[PodSet, ...]:
    return _ray(template, "template.spec")


def _ray_job(template: JsonObject) -> tuple[PodSet, ...]:
    """The cluster's pods; the submitter pod is not counted."""
    return _ray(template, "template.spec.rayClusterSpec")


def _ray(template: JsonObject, spec: str) -> tuple[PodSet, ...]:
    """The head, then each worker group. numOfHosts is ignored, as in Kueue."""
    pod_sets = [PodSet(f"{spec}.headGroupSpec.template")]
    for index in range(length_at(template, f"{spec}.workerGroupSpecs")):
        group = f"{spec}.workerGroupSpecs[{index}]"
        if exists(template, f"{group}.template"):
            pod_sets.append(PodSet(f"{group}.template", count_at(template, f"{group}.replicas")))
    return tuple(pod_sets)


_BY_KIND: Final[dict[tuple[str, str], Callable[[JsonObject], tuple[PodSet, ...]]]] = {
    ("v1", "Pod"): _pod,
    ("apps/v1", "Deployment"): _scaled,
    ("apps/v1", "StatefulSet"): _scaled,
    ("batch/v1", "Job"): _job,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): _job_set,
    ("kubeflow.org/v1", "PyTorchJob"): _pytorch_job,
    ("ray.io/v1", "RayCluster"): _ray_cluster,
    ("ray.io/v1", "RayJob"): _ray_job,
}

KINDS: Final = frozenset(_BY_KIND)


def _pods_of_job(template: JsonObject, spec: str) -> int:
    """Pods at once: the parallelism, but never more than completions. Completions alone give 1."""
    parallelism = lenient_count_at(template, f"{spec}.parallelism", default=1)
    return min(parallelism, lenient_count_at(template, f"{spec}.completions", default=parallelism))
