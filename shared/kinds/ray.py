"""ray.io/v1 RayCluster and RayJob, which makes a RayCluster and submits a job to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.api.conditions import (
    SUCCEEDED,
    ComponentReport,
    Terminal,
    conditions_of,
    in_trouble,
    in_words,
)
from shared.api.findings import FieldError, FieldErrorKind
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.job import JOBS
from shared.kinds.kind import (
    MAXIMUM_REPLICAS,
    SERVICES,
    Kind,
    Maker,
    PodSet,
    PodSetError,
    asks_for_resources,
    count_at,
    exists,
    length_at,
    lenient_count_at,
    value_or_none,
)

RAY_CLUSTERS: Final = Resource("ray.io", "v1", "rayclusters", "RayCluster")
_OF_CLUSTER: Final = "template.spec"
_OF_JOB: Final = "template.spec.rayClusterSpec"
_SUBMITTER: Final = "template.spec.submitterPodTemplate"
# With retries left its operator says Retrying instead, in one write, and makes a new cluster.
# ValidationFailed it does not leave before somebody changes the spec; of what is wrapped, nobody.
_OVER: Final = frozenset({"Complete", "Failed", "ValidationFailed"})
_ON_HOLD: Final = frozenset({"Retrying", "Suspending", "Suspended"})


def cluster_pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """The head, then each worker group."""
    return _pod_sets(template, _OF_CLUSTER)


def job_pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """The cluster's pods; the submitter pod is not counted."""
    return _pod_sets(template, _OF_JOB)


def _pod_sets(template: JsonObject, spec: str) -> tuple[PodSet, ...]:
    """numOfHosts is ignored, as in Kueue."""
    found = [PodSet(f"{spec}.headGroupSpec.template")]
    for index in range(length_at(template, f"{spec}.workerGroupSpecs")):
        group = f"{spec}.workerGroupSpecs[{index}]"
        if exists(template, f"{group}.template"):
            found.append(PodSet(f"{group}.template", count_at(template, f"{group}.replicas")))
    return tuple(found)


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


def worker_groups(template: JsonObject, cluster: str) -> Iterator[WorkerGroup]:
    """Those of the cluster whose spec is at `cluster`; none where they are too many."""
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


def uncounted_of_cluster(template: JsonObject) -> Iterator[FieldError]:
    """Measured: KubeRay makes minReplicas workers where replicas says fewer."""
    return _uncounted(template, _OF_CLUSTER)


def uncounted_of_job(template: JsonObject) -> Iterator[FieldError]:
    """The same, of its cluster."""
    return _uncounted(template, _OF_JOB)


def _uncounted(template: JsonObject, cluster: str) -> Iterator[FieldError]:
    for group in worker_groups(template, cluster):
        if group.at_least > group.counted:
            yield FieldError(
                f"{group.path}.minReplicas",
                FieldErrorKind.INVALID,
                "KubeRay makes at least so many workers, but quota is reserved for "
                f"{group.counted}: write as many replicas, or a lower minReplicas",
                str(group.at_least),
            )


def beyond_cluster(template: JsonObject) -> Iterator[tuple[str, str]]:
    """More hosts a replica, and what the autoscaler may add."""
    return _beyond(template, _OF_CLUSTER)


def beyond_job(template: JsonObject) -> Iterator[tuple[str, str]]:
    """The same, and the pod that submits the job where it asks for resources."""
    yield from _beyond(template, _OF_JOB)
    containers = value_or_none(template, f"{_SUBMITTER}.spec.containers")
    if any(
        isinstance(container, dict) and asks_for_resources(container.get("resources"))
        for container in (containers if isinstance(containers, list) else ())
    ):
        yield _SUBMITTER, "Kueue does not see the pod that submits the job"


def _beyond(template: JsonObject, cluster: str) -> Iterator[tuple[str, str]]:
    groups = list(worker_groups(template, cluster))
    for group in groups:
        if group.hosts > 1:
            yield f"{group.path}.numOfHosts", "Kueue takes each replica for one pod"
    scaling = f"{cluster}.enableInTreeAutoscaling"
    if any(group.at_most > group.counted for group in groups) and value_or_none(template, scaling):
        yield scaling, "workers beyond replicas; none come where maxReplicas equals replicas"


def cluster_report(item: JsonObject) -> ComponentReport:
    """It never ends: neither well, since it serves until it is deleted, nor badly.

    Its operator goes on whatever happens: it makes failed pods anew, and takes ReplicaFailure back
    as soon as pods can be made. So its failures are never terminal, nor is the state `failed` of
    older operators, which was left again too. Whether too few pods run is for the pods to say.
    """
    return _trouble(item.get("status") or {})


def _trouble(status: JsonObject) -> ComponentReport:
    """What a RayCluster's status says is in its way; a RayJob's holds a copy of it."""
    found = in_trouble(conditions_of(status), ("ReplicaFailure", "RayClusterSuspended"))
    if not found.message and status.get("state") == "failed":
        return ComponentReport(message=in_words("failed", status.get("reason")))
    return found


def job_report(item: JsonObject) -> ComponentReport:
    """Terminal when its deployment is; well only if that is Complete and the job SUCCEEDED.

    A job that ended in another way (STOPPED by a user, say) has not done what it was there for.
    """
    status = item.get("status") or {}
    deployment, outcome = status.get("jobDeploymentStatus"), status.get("jobStatus")
    reason, message = status.get("reason"), status.get("message")
    if deployment == "Complete" and outcome == "SUCCEEDED":
        return SUCCEEDED
    if deployment in _OVER:
        ended = f"job {outcome}" if outcome else None
        return ComponentReport(Terminal.FAILED, in_words(reason or deployment, message, ended))
    if deployment in _ON_HOLD:
        return ComponentReport(message=in_words(deployment, reason, message))
    return _trouble(status.get("rayClusterStatus") or {})


_GRANTED: Final = "Wrapped Ray clusters and the jobs on them."

RAY_CLUSTER = Kind(
    resource=RAY_CLUSTERS,
    granted=_GRANTED,
    versions=("ray.io/v1",),
    pod_sets=cluster_pod_sets,
    report=cluster_report,
    ends=False,
    owns=(PODS, JOBS, SERVICES),
    unwrapped=True,
    uncounted=uncounted_of_cluster,
    beyond=beyond_cluster,
)
RAY_JOB = Kind(
    resource=Resource("ray.io", "v1", "rayjobs", "RayJob"),
    granted=_GRANTED,
    versions=("ray.io/v1",),
    pod_sets=job_pod_sets,
    report=job_report,
    ends=True,
    outlived=True,  # by its RayCluster
    owns=(PODS, JOBS, RAY_CLUSTERS, SERVICES),
    makers=(
        Maker(RAY_CLUSTERS, "ray.io/originated-from-cr-name"),
        Maker(JOBS, "ray.io/originated-from-cr-name"),
    ),
    unwrapped=True,
    uncounted=uncounted_of_job,
    beyond=beyond_job,
)
