"""ray.io/v1 RayCluster and RayJob. A RayJob makes a RayCluster and submits a job to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from shared.api.conditions import (
    SUCCEEDED,
    ComponentReport,
    Terminal,
    conditions_of,
    in_trouble,
    in_words,
    unless_suspended,
)
from shared.api.findings import FieldErrorKind
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.job import JOBS
from shared.kinds.kind import (
    MAXIMUM_REPLICAS,
    Kind,
    Maker,
    PodSet,
    count_at,
    length_at,
    optional_at,
)
from shared.kinds.uncounted_pods import Counter, Uncounted, resources_asked, resources_used
from shared.kinds.without_pods import SERVICES

RAY_CLUSTERS: Final = Resource("ray.io", "v1", "rayclusters", "RayCluster")
_OF_CLUSTER: Final = "template.spec"
_OF_JOB: Final = "template.spec.rayClusterSpec"
_SUBMITTER: Final = "template.spec.submitterPodTemplate"
_WITHOUT_SUBMITTER: Final = ("HTTPMode", "InteractiveMode", "SidecarMode")
# Fields that delete a job's cluster after its end, and the fields of KubeRay 1.3 and later that
# replace them.
_SHUTDOWN: Final = "template.spec.shutdownAfterJobFinishes"
_TTL: Final = "template.spec.ttlSecondsAfterFinished"
_OTHER_ENDS: Final = ("template.spec.deletionPolicy", "template.spec.deletionStrategy")
# With retries left, KubeRay writes Retrying instead, in one write, and makes a new cluster. It
# leaves ValidationFailed only after a change of the spec, and no client changes a wrapped spec.
_INVALID: Final = "ValidationFailed"
_OVER: Final = frozenset({"Complete", "Failed", _INVALID})
_ON_HOLD: Final = frozenset({"Retrying", "Suspending", "Suspended"})


def _pod_sets(template: JsonObject, spec: str) -> tuple[PodSet, ...]:
    """Return the head, then each worker group; without numOfHosts and the submitter, as Kueue."""
    found = [PodSet(f"{spec}.headGroupSpec.template")]
    for index in range(length_at(template, f"{spec}.workerGroupSpecs")):
        group = f"{spec}.workerGroupSpecs[{index}]"
        found.append(PodSet(f"{group}.template", count_at(template, f"{group}.replicas")))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """Kueue counts `counted` replicas. KubeRay keeps the number from `at_least` to `at_most`.

    Each replica has `hosts` pods.
    """

    path: str
    counted: int
    at_least: int
    at_most: int
    hosts: int


def worker_groups(template: JsonObject, cluster: str) -> Iterator[WorkerGroup]:
    """Yield the groups of the cluster whose spec is at `cluster`. Raise PodSetError."""
    for index in range(length_at(template, f"{cluster}.workerGroupSpecs")):
        path = f"{cluster}.workerGroupSpecs[{index}]"
        yield WorkerGroup(
            path,
            count_at(template, f"{path}.replicas"),
            count_at(template, f"{path}.minReplicas", default=0),
            count_at(template, f"{path}.maxReplicas", default=MAXIMUM_REPLICAS),
            count_at(template, f"{path}.numOfHosts"),
        )


def uncounted_of_job(template: JsonObject, counter: Counter) -> Iterator[Uncounted]:
    """Yield what its cluster has uncounted, and the pod that submits the job.

    Kueue's own integration counts that pod too. It ignores a job on an existing cluster
    (clusterSelector). Only one mode of submission reads the template.
    """
    yield from _uncounted(template, counter, _OF_JOB)
    if optional_at(template, "template.spec.submissionMode") in _WITHOUT_SUBMITTER:
        return
    if counter is Counter.DIRECT and not optional_at(template, "template.spec.clusterSelector"):
        return
    if uses := resources_used(optional_at(template, _SUBMITTER)):
        yield Uncounted(
            path=_SUBMITTER,
            what="Kueue does not see the pod that submits the job",
            instead="request them for the pods of the cluster",
            uses=uses,
        )


def _uncounted(template: JsonObject, counter: Counter, cluster: str) -> Iterator[Uncounted]:
    """Yield uncounted workers, and the autoscaler's container.

    Measured: KubeRay makes minReplicas workers if replicas is less.

    Kueue's own integration counts numOfHosts. It refuses autoscaling itself, unless it follows the
    number of workers (annotation kueue.x-k8s.io/elastic-job, and its feature gate).
    """
    groups = list(worker_groups(template, cluster))
    for group in groups:
        if group.at_least > group.counted:
            yield Uncounted(
                path=f"{group.path}.minReplicas",
                what="KubeRay creates at least this many workers, but quota is reserved for "
                f"{group.counted}",
                instead="write as many replicas, or a lower minReplicas",
                uses=_used_by(template, group),
                certain=True,
                kind=FieldErrorKind.INVALID,
                value=str(group.at_least),
            )
    for group in groups:
        if counter is Counter.WRAPPED and group.hosts > 1 and group.counted:
            yield Uncounted(
                path=f"{group.path}.numOfHosts",
                what="Kueue takes each replica for one pod",
                instead="write numOfHosts 1, or create it without wrapping it",
                uses=_used_by(template, group),
            )
    if optional_at(template, f"{cluster}.enableInTreeAutoscaling"):
        yield from _autoscaling(template, cluster, counter, groups)


def _autoscaling(
    template: JsonObject, cluster: str, counter: Counter, groups: list[WorkerGroup]
) -> Iterator[Uncounted]:
    """Yield workers that the autoscaler may add, and its own container, which some Kueues miss."""
    growing = [group for group in groups if group.at_most > group.counted]
    if counter is Counter.WRAPPED and growing:
        yield Uncounted(
            path=f"{cluster}.enableInTreeAutoscaling",
            what="workers beyond replicas; write maxReplicas equal to replicas",
            uses=frozenset().union(*(_used_by(template, group) for group in growing)),
        )
    own = f"{cluster}.autoscalerOptions.resources"
    if uses := resources_asked({"resources": optional_at(template, own)}):
        yield Uncounted(
            path=own,
            what="not every Kueue sees the autoscaler's container",
            instead="request them in a container of the head",
            uses=uses,
        )


def _used_by(template: JsonObject, group: WorkerGroup) -> frozenset[str]:
    return resources_used(optional_at(template, f"{group.path}.template"))


def outlasting_job(template: JsonObject, longest: timedelta) -> Iterator[Uncounted]:
    """Yield its cluster if it may remain longer than `longest` after the job's end.

    KubeRay deletes it as shutdownAfterJobFinishes and ttlSecondsAfterFinished specify. The fields
    that replace them never delete the cluster of a job that missed its deadline. Kueue itself
    suspends the Job that submits (measured).
    """
    head = resources_used(optional_at(template, f"{_OF_JOB}.headGroupSpec.template"))
    workers = (_used_by(template, group) for group in worker_groups(template, _OF_JOB))
    uses = head.union(*workers)
    if optional_at(template, _SHUTDOWN) is not True:
        yield Uncounted(
            path=_SHUTDOWN,
            what="the cluster keeps running after the job has ended",
            instead="write true",
            uses=uses,
            kind=FieldErrorKind.REQUIRED,
        )
    most = int(longest.total_seconds())
    stays = optional_at(template, _TTL)
    if isinstance(stays, int) and stays > most:
        yield Uncounted(
            path=_TTL,
            what="the cluster keeps running that long after the job has ended",
            instead=f"write at most {most}",
            uses=uses,
            kind=FieldErrorKind.INVALID,
            value=str(stays),
        )
    for path in _OTHER_ENDS:
        if optional_at(template, path) is not None:
            yield Uncounted(
                path=path,
                what="KubeRay then keeps the cluster of a job that misses its deadline",
                instead="leave it out, shutdownAfterJobFinishes deletes the cluster",
                uses=uses,
            )


def _labels(template: JsonObject, cluster: str) -> Iterator[str]:
    """Yield the paths of group labels, which KubeRay adds to those of the pod template."""
    yield f"{cluster}.headGroupSpec.labels"
    for group in worker_groups(template, cluster):
        yield f"{group.path}.labels"


def cluster_report(item: JsonObject) -> ComponentReport:
    """Report no end: a RayCluster serves until it is deleted, and its failures are never final.

    KubeRay always continues: it replaces failed pods, and clears ReplicaFailure as soon as it can
    create pods. The state `failed` of older operators was temporary too. The pods show whether too
    few of them run.
    """
    return _trouble(item.get("status") or {})


def _trouble(status: JsonObject) -> ComponentReport:
    """Report the trouble in a RayCluster's status; a RayJob's status holds a copy of it."""
    found = in_trouble(conditions_of(status), ("ReplicaFailure", "RayClusterSuspended"))
    if not found.message and status.get("state") == "failed":
        return ComponentReport(message=in_words("failed", status.get("reason")))
    return found


def job_report(item: JsonObject) -> ComponentReport:
    """Report the end of its deployment: success only if it is Complete and the job SUCCEEDED.

    A job with another end (a user STOPPED it) did not do its work.
    """
    status = item.get("status") or {}
    deployment, outcome = status.get("jobDeploymentStatus"), status.get("jobStatus")
    reason, message = status.get("reason"), status.get("message")
    if deployment == "Complete" and outcome == "SUCCEEDED":
        return SUCCEEDED
    if deployment in _OVER:
        ended = f"job {outcome}" if outcome else None
        words = in_words(reason or deployment, message, ended)
        return ComponentReport(Terminal.FAILED, words, invalid=deployment == _INVALID)
    if deployment in _ON_HOLD:
        return ComponentReport(message=in_words(deployment, reason, message))
    return _trouble(status.get("rayClusterStatus") or {})


def retries_of_job(_template: JsonObject) -> Iterator[tuple[str, int]]:
    """Yield backoffLimit: KubeRay makes a new RayCluster for each retry."""
    yield "template.spec.backoffLimit", 0


_GRANTED: Final = "Wrapped Ray clusters and the jobs on them."

RAY_CLUSTER = Kind(
    resource=RAY_CLUSTERS,
    granted=_GRANTED,
    versions=("ray.io/v1",),
    pod_sets=partial(_pod_sets, spec=_OF_CLUSTER),
    report=cluster_report,
    rejections=("InvalidRayClusterMetadata", "InvalidRayClusterSpec"),
    ends=False,
    progress=unless_suspended,
    owns=(PODS, JOBS, SERVICES),
    unwrapped=True,
    uncounted=partial(_uncounted, cluster=_OF_CLUSTER),
    pod_labels=partial(_labels, cluster=_OF_CLUSTER),
)
RAY_JOB = Kind(
    resource=Resource("ray.io", "v1", "rayjobs", "RayJob"),
    granted=_GRANTED,
    versions=("ray.io/v1",),
    pod_sets=partial(_pod_sets, spec=_OF_JOB),
    report=job_report,
    ends=True,
    progress=unless_suspended,
    has_surviving_children=True,  # by its RayCluster
    owns=(PODS, JOBS, RAY_CLUSTERS, SERVICES),
    makers=(
        Maker(RAY_CLUSTERS, "ray.io/originated-from-cr-name"),
        Maker(JOBS, "ray.io/originated-from-cr-name"),
    ),
    unwrapped=True,
    uncounted=uncounted_of_job,
    outlasting=outlasting_job,
    more_templates=(_SUBMITTER,),
    pod_labels=partial(_labels, cluster=_OF_JOB),
    retries=retries_of_job,
    default_restart_policy="Always",
)
