"""kubeflow.org/v1 PyTorchJob."""

from collections.abc import Iterator
from typing import Final

from shared.api.conditions import ComponentReport, from_conditions, succeeded_replicas
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.kind import (
    TAS_POD_INDEX_LABEL,
    IndexLabel,
    Kind,
    PodSet,
    Roles,
    count_at,
    fields_at,
    optional_at,
)
from shared.kinds.uncounted_pods import CLEAN_POD_POLICY, Counter, Uncounted, resources_used
from shared.kinds.without_pods import POD_GROUPS, SERVICES

_SPECS: Final = "template.spec.pytorchReplicaSpecs"
_ELASTIC: Final = "template.spec.elasticPolicy"
_REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
_ROLES: Final = ("Master", "Worker")


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """Return Master, then Worker, in any order of the object."""
    specs = fields_at(template, _SPECS)
    return tuple(
        PodSet(
            f"{_SPECS}.{role}.template",
            count_at(template, f"{_SPECS}.{role}.replicas"),
            {TAS_POD_INDEX_LABEL: _REPLICA_INDEX},
        )
        for role in _ROLES
        if role in specs
    )


def report(item: JsonObject) -> ComponentReport:
    """Report the master's success; workers may still run then.

    After Failed nothing changes any more: Restarting, or a Succeeded of the same moment, may stay
    True beside it. Restarting alone is no end: pods are replaced, or fail finally and are counted.
    """
    return from_conditions(
        item, succeeded="Succeeded", failed="Failed", trouble=("Suspended", "Restarting")
    )


def uncounted(template: JsonObject, _counter: Counter) -> Iterator[Uncounted]:
    """Yield the workers that an autoscaler may add: the Training Operator makes one for metrics.

    Neither counter follows the autoscaler: the Workload keeps its first number while more workers
    run.
    """
    if not optional_at(template, f"{_ELASTIC}.metrics"):
        return
    counted = count_at(template, f"{_SPECS}.Worker.replicas")
    at_least = count_at(template, f"{_ELASTIC}.minReplicas", default=counted)
    if count_at(template, f"{_ELASTIC}.maxReplicas", default=at_least) > counted:
        yield Uncounted(
            path=f"{_ELASTIC}.metrics",
            what="workers beyond replicas; write maxReplicas equal to replicas",
            uses=resources_used(optional_at(template, f"{_SPECS}.Worker.template")),
        )


PYTORCH_JOB = Kind(
    resource=Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
    granted="Wrapped training jobs of the Training Operator.",
    versions=("kubeflow.org/v1",),
    pod_sets=pod_sets,
    report=report,
    ends=True,
    progress=succeeded_replicas,
    owns=(PODS, SERVICES, POD_GROUPS),
    # Read in the Training Operator 1.9, pkg/controller.v1/common/job.go: ReconcileJobs only cleans
    # up a finished job, and otherwise writes the status after it has made pods. The job itself
    # makes all pods.
    idle_after_end=True,
    # With the Training Operator an index is unique within a role only.
    index_label=IndexLabel(_REPLICA_INDEX, role="training.kubeflow.org/replica-type"),
    # The Training Operator accepts role names in any case. Measured: it reads `worker` as `Worker`,
    # unless its webhook is active.
    roles=Roles(_SPECS, _ROLES),
    unwrapped=True,
    uncounted=uncounted,
    # Kueue derives the priority of the whole job from this class.
    priority_classes=("template.spec.runPolicy.schedulingPolicy.priorityClass",),
    default_restart_policy="OnFailure",
    left_pods=CLEAN_POD_POLICY,
)
