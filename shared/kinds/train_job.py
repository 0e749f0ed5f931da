"""trainer.kubeflow.org/v1alpha1 TrainJob, and the TrainingRuntime with its pod templates.

A TrainJob has no pod template: its operator, Kubeflow Trainer, takes those of the runtime that
`runtimeRef` names. Kueue and the controller need the templates inside the AppWrapper. So a wrapped
TrainJob follows the TrainingRuntime that it refers to, as a component of its own. That copy belongs
to one attempt and does not change, whatever happens to the runtime that it was copied from.

Read in Kubeflow Trainer 2.3.0: pkg/runtime/core/trainingruntime.go and pkg/runtime/framework.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from shared.api.conditions import (
    ComponentReport,
    Progress,
    from_conditions,
    number,
    unless_suspended,
)
from shared.api.names import ANNOTATION_RUNTIME_JOBS, LABEL_UID
from shared.api.objects import PODS, JsonObject, Resource, of_type, texts
from shared.kinds import job_set
from shared.kinds.job import COMPLETION_INDEX, JOBS
from shared.kinds.job_set import JOB_INDEX, JOB_SET
from shared.kinds.kind import (
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    Kind,
    Maker,
    PodSet,
    PodSetError,
    count_at,
    fields_at,
    length_at,
    optional_at,
    value_or_none,
)
from shared.kinds.without_pods import POD_GROUPS, SERVICES

_GROUP: Final = "trainer.kubeflow.org"
_VERSION: Final = f"{_GROUP}/v1alpha1"
_POLICY: Final = "template.spec.mlPolicy"
_JOB_SET: Final = "template.spec.template"
_JOBS: Final = f"{_JOB_SET}.spec.replicatedJobs"
_STEP: Final = f"{_GROUP}/trainjob-ancestor-step"
_TRAINER: Final = "trainer"  # the step that numNodes and resourcesPerNode are about
_NODE: Final = "node"  # the name of the trainer's container, and of the Job of MPI's nodes


def _jobs(template: JsonObject) -> Iterator[str]:
    """Yield the paths of the runtime's Jobs."""
    for index in range(length_at(template, _JOBS)):
        yield f"{_JOBS}[{index}]"


def _trains(template: JsonObject, job: str) -> bool:
    """True if numNodes of the runtime is the number of the Job's pods."""
    labels = fields_at(template, f"{job}.template.metadata.labels")
    return labels.get(_STEP) == _TRAINER


def _pods_of(template: JsonObject, job: str) -> int:
    """Return the parallelism and the completions that Trainer gives each of the Job's replicas."""
    if _trains(template, job) and optional_at(template, _POLICY) is not None:
        fields_at(template, _POLICY)
        return max(1, count_at(template, f"{_POLICY}.numNodes"))
    return max(1, count_at(template, f"{job}.template.spec.parallelism"))


def _replicas(template: JsonObject, job: str) -> int:
    """Return the number of Jobs. Measured: Trainer leaves 0 out, and JobSet's default is 1."""
    return max(1, count_at(template, f"{job}.replicas"))


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """Return one pod set for each of the runtime's Jobs."""
    found = []
    for job in _jobs(template):
        replicas = _replicas(template, job)
        found.append(
            PodSet(
                f"{job}.template.spec.template",
                replicas * _pods_of(template, job),
                {
                    TAS_POD_INDEX_LABEL: COMPLETION_INDEX,
                    TAS_SUB_GROUP_INDEX_LABEL: JOB_INDEX,
                    TAS_SUB_GROUP_COUNT: str(replicas),
                },
            )
        )
    return tuple(found)


def job_specs(template: JsonObject) -> Iterator[str]:
    for job in _jobs(template):
        yield f"{job}.template.spec"


def retries(_template: JsonObject) -> Iterator[tuple[str, int]]:
    """Yield maxRestarts: a JobSet restarts all of its Jobs."""
    yield f"{_JOB_SET}.spec.failurePolicy.maxRestarts", 0


TRAINING_RUNTIME: Final = Kind(
    resource=Resource(_GROUP, "v1alpha1", "trainingruntimes", "TrainingRuntime"),
    granted="Wrapped TrainJobs, each with the runtime that has its pod templates.",
    versions=(_VERSION,),
    pod_sets=pod_sets,
    inferred=False,
    pods_by=f"{_GROUP}/TrainJob",
    marked=f"{_JOB_SET}.metadata",
    job_specs=job_specs,
    retries=retries,
    default_restart_policy="OnFailure",
)


# A TrainJob overrides parts of its runtime.

_NODES: Final = "template.spec.trainer.numNodes"
_RESOURCES: Final = "template.spec.trainer.resourcesPerNode"


def with_overrides(runtime: JsonObject, train_job: JsonObject) -> JsonObject:
    """Return the runtime with the TrainJob's numNodes and resourcesPerNode written into it.

    Trainer makes the same pods of both, and nothing changes if it is repeated. The arguments are
    not changed. Raise PodSetError for an override whose effect is not known.
    """
    made: JsonObject = json.loads(json.dumps(runtime))
    if optional_at(train_job, _NODES) is not None:
        nodes = count_at(train_job, _NODES)
        if nodes < 1:
            raise PodSetError(f"{_NODES} is {nodes}, but a TrainJob has at least one node")
        _set_nodes(made, nodes)
    if resources := of_type(optional_at(train_job, _RESOURCES), dict, _RESOURCES, PodSetError):
        if other := sorted(resources.keys() - {"limits", "requests"}):
            raise PodSetError(f"{_RESOURCES}.{other[0]} is not counted: leave it out")
        for job in _jobs(made):
            if _takes_resources(made, job):
                _set_resources(made, job, resources)
    return made


def _set_nodes(runtime: JsonObject, nodes: int) -> None:
    training = [job for job in _jobs(runtime) if _trains(runtime, job)]
    if len(training) > 1:
        raise PodSetError(f"{_NODES}: {len(training)} Jobs of the runtime are of the step trainer")
    chosen = training
    if (mpi := _mpi(runtime)) is not None:
        chosen = [job for job in _jobs(runtime) if _name(runtime, job) == _NODE]
        nodes = max(1, nodes - 1) if mpi.get("runLauncherAsNode") is True else nodes
    for job in chosen[:1]:
        if job in training and isinstance(policy := optional_at(runtime, _POLICY), dict):
            policy["numNodes"] = nodes
        else:
            fields_at(runtime, f"{job}.template.spec")["parallelism"] = nodes


def _takes_resources(runtime: JsonObject, job: str) -> bool:
    policy, mpi = optional_at(runtime, _POLICY), _mpi(runtime)
    as_node = mpi is not None and mpi.get("runLauncherAsNode") is True
    trains = policy is not None and _trains(runtime, job)
    return trains or (as_node and _name(runtime, job) == _NODE)


def _set_resources(runtime: JsonObject, job: str, resources: JsonObject) -> None:
    containers = f"{job}.template.spec.template.spec.containers"
    for index in range(length_at(runtime, containers)):
        container = fields_at(runtime, f"{containers}[{index}]")
        if container.get("name") == _NODE:
            for key in resources:
                wanted = of_type(resources[key], dict, f"{_RESOURCES}.{key}", PodSetError) or {}
                present = fields_at(runtime, f"{containers}[{index}].resources.{key}")
                if wanted:
                    container["resources"] = {
                        **(container.get("resources") or {}),
                        key: {**present, **wanted},
                    }
            return


def _mpi(runtime: JsonObject) -> JsonObject | None:
    path = f"{_POLICY}.mpi"
    return of_type(optional_at(runtime, path), dict, path, PodSetError)


def _name(runtime: JsonObject, job: str) -> object:
    return value_or_none(runtime, f"{job}.name")


def runtime_ref(train_job: JsonObject) -> tuple[str, str]:
    """Return Kind and name of the runtime; "" for a field that is no string."""
    ref = value_or_none(train_job, "template.spec.runtimeRef")
    fields = ref if isinstance(ref, dict) else {}
    kind, name = fields.get("kind", "ClusterTrainingRuntime"), fields.get("name")
    group = fields.get("apiGroup", _GROUP)
    of_trainer = isinstance(kind, str) and group == _GROUP
    return kind if of_trainer else "", name if isinstance(name, str) else ""


# The progress of a TrainJob: its status has its Jobs, but not how many pods these have, nor which
# of them wait for others. The controller annotates it with those parts of the runtime.


def jobs_of(runtime: JsonObject) -> str:
    """Return the runtime's Jobs for ANNOTATION_RUNTIME_JOBS. Raise PodSetError."""
    jobs: list[JsonObject] = []
    for job in _jobs(runtime):
        own: JsonObject = {
            "name": _name(runtime, job),
            "replicas": _replicas(runtime, job),
            "pods": _pods_of(runtime, job),
        }
        if waits := of_type(optional_at(runtime, f"{job}.dependsOn"), list, job, PodSetError):
            own["dependsOn"] = waits
        jobs.append(own)
    startup = optional_at(runtime, f"{_JOB_SET}.spec.startupPolicy")
    in_order = {"startupPolicy": startup} if startup else {}
    return json.dumps({"jobs": jobs, **in_order}, separators=(",", ":"))


def progress(item: JsonObject) -> Progress:
    """Return the pods of its succeeded Jobs, and the pods of the Jobs that may start by now.

    Users may write anything into an annotation: one that is not the controller's counts as none.
    """
    text = texts((item.get("metadata") or {}).get("annotations")).get(ANNOTATION_RUNTIME_JOBS)
    try:
        return unless_suspended(item) if text is None else job_set.progress(_as_job_set(item, text))
    except (ValueError, TypeError, KeyError, AttributeError):
        return unless_suspended(item)


def _as_job_set(item: JsonObject, text: str) -> JsonObject:
    """Return the JobSet that Trainer made, as far as its progress depends on it."""
    found: Any = json.loads(text)
    spec, status = item.get("spec") or {}, item.get("status") or {}
    replicated = [
        {
            "name": each["name"],
            "replicas": number(each, "replicas"),
            "dependsOn": each.get("dependsOn"),
            "template": {"spec": {"parallelism": number(each, "pods")}},
        }
        for each in found["jobs"]
    ]
    return {
        "metadata": item.get("metadata"),
        "spec": {
            "replicatedJobs": replicated,
            "startupPolicy": found.get("startupPolicy"),
            "suspend": spec.get("suspend"),
        },
        "status": {"replicatedJobsStatus": status.get("jobsStatus")},
    }


def report(item: JsonObject) -> ComponentReport:
    """Report its conditions, which repeat the JobSet's final ones.

    Trainer 2.3.0 keeps Complete after the JobSet's TTL. It removes Failed, and makes the JobSet
    again; the controller has recorded the failure by then.
    """
    return from_conditions(item, succeeded="Complete", failed="Failed", trouble=("Suspended",))


def pod_labels(template: JsonObject) -> Iterator[str]:
    """Yield the labels that its patches add to the runtime's pod templates."""
    patches = "template.spec.runtimePatches"
    for index in range(length_at(template, patches)):
        jobs = f"{patches}[{index}].trainingRuntimeSpec.template.spec.replicatedJobs"
        for job in range(length_at(template, jobs)):
            yield f"{jobs}[{job}].template.spec.template.metadata.labels"


TRAIN_JOB: Final = Kind(
    resource=Resource(_GROUP, "v1alpha1", "trainjobs", "TrainJob"),
    granted=TRAINING_RUNTIME.granted,
    versions=(_VERSION,),
    pod_sets=lambda _template: (),
    inferred=False,
    report=report,
    ends=True,
    progress=progress,
    owns=(PODS, JOBS, JOB_SET.resource, SERVICES, POD_GROUPS),
    makers=(
        Maker(JOB_SET.resource, LABEL_UID),
        Maker(JOBS, "jobset.sigs.k8s.io/jobset-name"),
    ),
    # The webhooks of Kubeflow Trainer and of Kueue reject every update of a TrainJob whose runtime
    # is gone. With the foreground finalizer it would stay.
    in_background=True,
    unwrapped=True,
    pod_labels=pod_labels,
)
