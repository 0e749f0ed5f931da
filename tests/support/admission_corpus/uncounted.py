"""Pods and resources that Kueue does not count: refused, or warned of."""

from collections.abc import Iterator
from typing import Any

from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import TEAM, Case, Refused, appwrapper, forbidden, invalid
from tests.support.builders.appwrappers import QUEUE
from tests.support.builders.jobs import pytorch_job as named_pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.builders.wrapped_kinds import kind, pytorch_job, template

_FIRST = "spec.components[0]"
_GPUS = "Forbidden: nvidia.com/gpu would be used without quota"
_BEYOND = "workers beyond replicas; write maxReplicas equal to replicas"
_UNKNOWN_ROLE = (
    'Unsupported value: "worker": write "Worker" (replica types are '
    "case-sensitive; Kueue counts only Master and Worker)"
)
_CLAIMS = (
    "request devices in the containers' resources, or have an admin allow claims (configuration "
    "resourceClaims)"
)
_CRITICAL = "system-node-critical"
_SYSTEM = (
    f'Invalid value: "{_CRITICAL}": system- classes are for the platform\'s own pods: name another '
    "class, or none"
)
_SIDECAR = (
    f"{_GPUS}: Kueue counts this sidecar as an init container that ends before the pod's "
    "containers start: make it one of spec.containers"
)
_LABEL = "workload.codeflare.dev/appwrapper"
_MASTER = "spec.pytorchReplicaSpecs.Master.template"


def _ray_cluster(**group: Any) -> JsonObject:
    workers = {"groupName": "w", "replicas": 2, "template": template(), **group}
    head = {"template": template()}
    return kind("ray.io/v1", "RayCluster", headGroupSpec=head, workerGroupSpecs=[workers])


def _gpus(amount: int = 1, **spec: Any) -> JsonObject:
    """Pods that want so many, and cpu where that is none."""
    made = pod_template(container="pytorch")
    limits = {"nvidia.com/gpu": str(amount)} if amount else {"cpu": "1"}
    made["spec"]["containers"][0]["resources"] = {"limits": limits}
    made["spec"] |= spec
    return made


def _sidecars(resource: str) -> list[JsonObject]:
    limits = {"limits": {resource: "1"}}
    side = {"image": "none", "restartPolicy": "Always", "resources": limits}
    return [{"name": f"side{index}", **side} for index in range(2)]


def _training(**spec: Any) -> JsonObject:
    """Its pods end with it."""
    made = named_pytorch_job("mine", Master=_gpus(**spec))
    made["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    return made


def _elastic(gpu: int, *, metrics: bool = True) -> JsonObject:
    made = named_pytorch_job("mine", Master=_gpus(0), Worker=_gpus(gpu))
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    measured = {"metrics": [{"type": "Resource", "resource": resource}]} if metrics else {}
    made["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 20, **measured}
    made["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    return made


def _of_system_priority() -> JsonObject:
    made = _training()
    made["spec"]["runPolicy"]["schedulingPolicy"] = {"priorityClass": _CRITICAL}
    return made


def _labelled() -> JsonObject:
    made = _training()
    template = made["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    template["metadata"]["labels"] = {_LABEL: "somebody-elses"}
    return made


def _direct(body: JsonObject) -> JsonObject:
    """The object itself, in the team's queue."""
    return {**body, "metadata": {**body["metadata"], "namespace": TEAM, "labels": QUEUE}}


def _forbidden(reason: str) -> Refused:
    return forbidden("PyTorchJob.kubeflow.org", reason, name="mine")


# Each object, the field, its error if wrapped, and its error if created directly.
_BOTH_WAYS = {
    "an autoscaler beyond the replicas": (
        _elastic(1),
        "spec.elasticPolicy.metrics",
        f"{_GPUS}: {_BEYOND}",
        f"{_GPUS}: {_BEYOND}",
    ),
    "a resource claim": (
        _training(resourceClaims=[{"name": "gpu", "resourceClaimName": "x"}]),
        f"{_MASTER}.spec.resourceClaims",
        f"Forbidden: Kueue does not see resource claims of an AppWrapper: {_CLAIMS}",
        f"Forbidden: not every Kueue counts resource claims: {_CLAIMS}",
    ),
    "a system priority of pods": (
        _training(priorityClassName=_CRITICAL),
        f"{_MASTER}.spec.priorityClassName",
        _SYSTEM,
        _SYSTEM,
    ),
    "a system priority of all": (
        _of_system_priority(),
        "spec.runPolicy.schedulingPolicy.priorityClass",
        _SYSTEM,
        _SYSTEM,
    ),
}


def _uncounted_pods() -> Iterator[Case]:
    roles = f"{_FIRST}.template.spec.pytorchReplicaSpecs"
    group = f"{_FIRST}.template.spec.workerGroupSpecs[0]"
    yield Case(
        name="a replica type of another case -> refused with the right one",
        sent=appwrapper(pytorch_job(Master=template(), worker=template(8))),
        refused=invalid(f"{roles}: {_UNKNOWN_ROLE}"),
    )
    yield Case(
        name="more Ray workers at least than replicas -> refused",
        sent=appwrapper(_ray_cluster(minReplicas=3)),
        refused=invalid(
            f"{group}.minReplicas: Invalid value: 3: KubeRay creates at least this many workers, "
            "but quota is reserved for 2: write as many replicas, or a lower minReplicas"
        ),
    )
    yield Case(
        name="several hosts for each Ray worker -> a warning",
        sent=appwrapper(_ray_cluster(minReplicas=2, numOfHosts=2)),
        warnings=(
            f"{group}.numOfHosts: not counted against the quota: Kueue takes each replica for one "
            "pod",
        ),
    )


def _uncounted_both_ways() -> Iterator[Case]:
    for name, (body, path, where_wrapped, where_direct) in _BOTH_WAYS.items():
        yield Case(
            name=f"{name}, wrapped -> refused",
            sent=appwrapper(body),
            refused=invalid(f"{_FIRST}.template.{path}: {where_wrapped}"),
        )
        yield Case(
            name=f"{name}, created directly -> refused",
            sent=_direct(body),
            refused=_forbidden(f"{path}: {where_direct}"),
        )
    yield Case(
        name="pods with another AppWrapper's label, created directly -> refused",
        sent=_direct(_labelled()),
        refused=_forbidden(
            f"{_MASTER}.metadata.labels[{_LABEL}]: Forbidden: its pods would count as pods of an "
            "AppWrapper: remove this label"
        ),
    )


def _sidecar_cases() -> Iterator[Case]:
    path = f"{_FIRST}.template.{_MASTER}.spec.initContainers"
    with_gpus = _training(initContainers=_sidecars("nvidia.com/gpu"))
    yield Case(
        name="sidecars with GPUs, wrapped -> refused",
        sent=appwrapper(with_gpus),
        refused=invalid(*(f"{path}[{index}].resources: {_SIDECAR}" for index in range(2))),
    )
    # Kueue's own integration counts them.
    yield Case(name="sidecars with GPUs, created directly -> accepted", sent=_direct(with_gpus))
    uncounted = (
        "not counted against the quota: Kueue counts this sidecar as an init container that ends "
        "before the pod's containers start"
    )
    yield Case(
        name="sidecars with CPU alone, wrapped -> a warning for each",
        sent=appwrapper(_training(amount=0, initContainers=_sidecars("cpu"))),
        warnings=tuple(f"{path}[{index}].resources: {uncounted}" for index in range(2)),
    )
    yield Case(
        name="an autoscaler of pods with CPU alone, created directly -> a warning",
        sent=_direct(_elastic(0)),
        warnings=(f"spec.elasticPolicy.metrics: not counted against the quota: {_BEYOND}",),
    )
    quiet = _elastic(1, metrics=False)
    yield Case(name="elasticity without an autoscaler, wrapped -> accepted", sent=appwrapper(quiet))
    yield Case(
        name="elasticity without an autoscaler, created directly -> accepted", sent=_direct(quiet)
    )


CASES = (*_uncounted_pods(), *_uncounted_both_ways(), *_sidecar_cases())
