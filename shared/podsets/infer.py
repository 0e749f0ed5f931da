"""Pod sets that follow from a component's kind, exactly as Kueue infers them.

Until the status holds them, Kueue computes an AppWrapper's pod sets itself, with the Go operator's
library. So this table must give the same pod sets in the same order. Kinds which that library does
not know give None: their pod sets must be declared.
"""

from collections.abc import Callable
from typing import Final

from shared.api.json import JsonObject, JsonValue
from shared.podsets.paths import ROOT, template_at, value_at
from shared.podsets.pod_set import (
    MAXIMUM_REPLICAS,
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    PodSet,
    PodSetError,
    PodSetPathError,
)

_JOB_COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_JOBSET_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
_KUBEFLOW_REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"


def inferred_pod_sets(template: JsonObject) -> tuple[PodSet, ...] | None:
    """The pod sets of the object `template`; None for a kind Kueue does not know, () for no pods.

    Raises PodSetError for an object of a known kind that lacks what its kind must have (a Job
    without a pod template) or has a replica count that is no number.
    """
    infer = _BY_KIND.get((_text(template, "apiVersion"), _text(template, "kind")))
    if infer is None:
        return None
    pod_sets = infer(template)
    for pod_set in pod_sets:
        template_at(template, pod_set.path)
        if not 0 <= pod_set.replicas <= MAXIMUM_REPLICAS:
            raise PodSetError(
                f"{pod_set.path} would have {pod_set.replicas} replicas: "
                f"the count must be from 0 to {MAXIMUM_REPLICAS}"
            )
    return pod_sets


def _pod(_template: JsonObject) -> tuple[PodSet, ...]:
    return (PodSet(ROOT),)


def _scaled(template: JsonObject) -> tuple[PodSet, ...]:
    """Deployment, StatefulSet. Without a pod template there is no pod set, as in Kueue."""
    path = "template.spec.template"
    if not _exists(template, path):
        return ()
    return (PodSet(path, _count(template, "template.spec.replicas")),)


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
    for index in range(_length(template, "template.spec.replicatedJobs")):
        job = f"template.spec.replicatedJobs[{index}]"
        if not _exists(template, f"{job}.template"):
            continue
        replicas = _lenient_count(template, f"{job}.replicas", default=1)
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
            _count(template, f"{role}.replicas"),
            {TAS_POD_INDEX_LABEL: _KUBEFLOW_REPLICA_INDEX},
        )
        for role in roles
        if _exists(template, f"{role}.template")
    )


def _ray_cluster(template: JsonObject) -> tuple[PodSet, ...]:
    return _ray(template, "template.spec")


def _ray_job(template: JsonObject) -> tuple[PodSet, ...]:
    """The cluster's pods; the submitter pod is not counted."""
    return _ray(template, "template.spec.rayClusterSpec")


def _ray(template: JsonObject, spec: str) -> tuple[PodSet, ...]:
    """The head, then each worker group. numOfHosts is ignored, as in Kueue."""
    pod_sets = [PodSet(f"{spec}.headGroupSpec.template")]
    for index in range(_length(template, f"{spec}.workerGroupSpecs")):
        group = f"{spec}.workerGroupSpecs[{index}]"
        if _exists(template, f"{group}.template"):
            pod_sets.append(PodSet(f"{group}.template", _count(template, f"{group}.replicas")))
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


def _pods_of_job(template: JsonObject, spec: str) -> int:
    """Pods at once: the parallelism, but never more than completions. Completions alone give 1."""
    parallelism = _lenient_count(template, f"{spec}.parallelism", default=1)
    return min(parallelism, _lenient_count(template, f"{spec}.completions", default=parallelism))


def _count(template: JsonObject, path: str) -> int:
    """The number at `path`; 1 when absent or null. Raises PodSetError for anything else."""
    value = _value_or_none(template, path)
    if value is None:
        return 1
    if type(value) is not int:  # bool is an int in Python, not in Kubernetes
        raise PodSetError(f"{path} must be an integer")
    return value


def _lenient_count(template: JsonObject, path: str, *, default: int) -> int:
    """The number at `path`; `default` for anything that is no integer (Kueue does the same)."""
    value = _value_or_none(template, path)
    return value if type(value) is int else default


def _length(template: JsonObject, path: str) -> int:
    value = _value_or_none(template, path)
    return len(value) if isinstance(value, list) else 0


def _exists(template: JsonObject, path: str) -> bool:
    try:
        value_at(template, path)
    except PodSetPathError:
        return False
    return True


def _value_or_none(template: JsonObject, path: str) -> JsonValue:
    try:
        return value_at(template, path)
    except PodSetPathError:
        return None


def _text(template: JsonObject, key: str) -> str:
    value = template.get(key)
    return value if isinstance(value, str) else ""
