"""kubeflow.org/v1 and v2beta1 MPIJob, of the Training Operator and the MPI Operator."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from shared.api.conditions import (
    ComponentReport,
    Progress,
    from_conditions,
    succeeded_replicas,
)
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.job import BACKOFF_LIMIT, JOBS
from shared.kinds.kind import Kind, Maker, PodSet, Roles, count_at, fields_at
from shared.kinds.uncounted_pods import CLEAN_POD_POLICY
from shared.kinds.without_pods import POD_GROUPS, SERVICES

_MPI_OPERATOR: Final = "kubeflow.org/v2beta1"
_SPECS: Final = "template.spec.mpiReplicaSpecs"
# The default number of pods per role, in the Training Operator and in the MPI Operator.
_ROLES: Final = {"Launcher": 1, "Worker": 0}


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """Return Launcher, then Worker."""
    specs = fields_at(template, _SPECS)
    return tuple(
        PodSet(
            f"{_SPECS}.{role}.template",
            count_at(template, f"{_SPECS}.{role}.replicas", default=default),
        )
        for role, default in _ROLES.items()
        if role in specs
    )


def retries(template: JsonObject) -> Iterator[tuple[str, int]]:
    """Yield backoffLimit: the MPI Operator's launcher is a Job, the Training Operator's a pod."""
    if template.get("apiVersion") == _MPI_OPERATOR:
        yield "template.spec.runPolicy.backoffLimit", BACKOFF_LIMIT


def report(item: JsonObject) -> ComponentReport:
    """Report the launcher's end. Workers serve the launcher and never end by themselves.

    cleanPodPolicy decides about the workers then: None keeps them running. A replaced launcher
    (Restarting) is no end.
    """
    return from_conditions(
        item, succeeded="Succeeded", failed="Failed", trouble=("Suspended", "Restarting")
    )


def progress(item: JsonObject) -> Progress:
    """Return the pods that it wants by now.

    With launcherCreationPolicy WaitForWorkersReady, its operator makes the launcher when all
    workers are ready. From then on its status counts the launcher, if only with zeros.
    """
    spec, status = item.get("spec") or {}, item.get("status") or {}
    known = succeeded_replicas(item)
    waits = spec.get("launcherCreationPolicy") == "WaitForWorkersReady"
    if known.wanted == 0 or not waits or "Launcher" in (status.get("replicaStatuses") or {}):
        return known
    workers = count_at(item, f"{_SPECS}.Worker.replicas", default=_ROLES["Worker"])
    return replace(known, wanted=workers)


MPI_JOB = Kind(
    resource=Resource("kubeflow.org", "v1", "mpijobs", "MPIJob"),
    granted="Wrapped training jobs of the MPI Operator.",
    versions=("kubeflow.org/v1", _MPI_OPERATOR),
    pod_sets=pod_sets,
    inferred=False,
    report=report,
    # The MPI Operator emits the first one, the Training Operator the second one.
    rejections=("ValidationError", "MPIJobFailedValidation"),
    ends=True,
    progress=progress,
    owns=(PODS, JOBS, SERVICES, POD_GROUPS),
    # The MPI Operator's launcher is a Job with this one label. The Training Operator's is a Pod.
    makers=(Maker(JOBS, "app"),),
    roles=Roles(_SPECS, tuple(_ROLES), {(_MPI_OPERATOR, "Launcher"): "OnFailure"}),
    retries=retries,
    priority_classes=("template.spec.runPolicy.schedulingPolicy.priorityClass",),
    default_restart_policy="Never",
    left_pods=CLEAN_POD_POLICY,
)
