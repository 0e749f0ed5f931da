"""Builds the objects around AppWrapper `train` of team1, as the API server shows them at one
time.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cli.cluster.operator_configuration import OperatorConfiguration
from cli.explaining.appwrapper_objects import AppWrapperObjects, NamespaceObjects
from shared.api.objects import JsonObject
from shared.api.times import format_precise_time, format_time
from tests.support.builders.annotations import prefixed

NOW = datetime(2026, 3, 2, 14, 3, 10, tzinfo=UTC)
UID = "3f1c2a34-0000-4000-8000-000000000001"
QUEUE = "kueue.x-k8s.io/queue-name"
OURS = "workload.codeflare.dev/"


def ago(seconds: float) -> str:
    """Formats the time that long before NOW, as Kubernetes does."""
    return format_time(NOW - timedelta(seconds=seconds))


def condition(
    kind: str, status: str, reason: str, message: str = "", seconds: float = 60
) -> JsonObject:
    """Builds a condition that changed that long ago."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": ago(seconds),
    }


def template(pods: int = 2, gpus: int = 8) -> JsonObject:
    """Builds the wrapped Job."""
    resources = {"requests": {"cpu": "4"}, "limits": {"nvidia.com/gpu": f"{gpus}"}}
    container = {"name": "main", "image": "quay.io/team/train:1", "resources": resources}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def appwrapper(
    phase: str,
    *conditions: JsonObject,
    pods: int = 2,
    gpus: int = 8,
    created: float = 600,
    attempt: int = 0,
    retries: int = 0,
    deployed: str = "",
    timers: Mapping[str, float] | None = None,
    suspects: Mapping[str, float] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> JsonObject:
    """Builds the AppWrapper. `timers`: seconds since each began; `deployed`: its component's
    status.

    `suspects`: the seconds since its second pod failed first on these nodes, in attempt 1.
    """
    component: JsonObject = {"template": template(pods, gpus)}
    if phase not in ("", "Suspended"):
        component["podSetInfos"] = [{}]
    status: JsonObject = {
        "phase": phase,
        "conditions": list(conditions),
        "componentStatus": [_recorded(pods, attempt, deployed)] if phase else [],
        "resettingCount": retries,
        "timers": {
            name: {
                "began": format_precise_time(NOW - timedelta(seconds=seconds)),
                "phase": phase,
                "attempt": attempt,
                "resettingCount": retries,
            }
            for name, seconds in (timers or {}).items()
        },
    }
    if attempt:
        status["attempt"] = attempt
    if suspects:
        status["suspectNodes"] = [_suspect(*each) for each in suspects.items()]
    suspend = {"suspend": True} if phase in ("", "Suspended", "Suspending") else {}
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {
            "namespace": "team1",
            "name": "train",
            "uid": UID,
            "resourceVersion": "100",
            "creationTimestamp": ago(created),
            "labels": {QUEUE: "default-queue"},
            "annotations": prefixed(**(annotations or {})),
            "finalizers": ["workload.codeflare.dev/finalizer"] if attempt else [],
            **(metadata or {}),
        },
        "spec": {"components": [component], **suspend, **(spec or {})},
        "status": status,
    }


def _suspect(node: str, seconds: float) -> JsonObject:
    """Builds a suspect entry of its second pod."""
    return {"node": node, "since": ago(seconds), "pod": "train-1-x7k2p", "attempt": 1}


def _recorded(pods: int, attempt: int, deployed: str) -> JsonObject:
    """Builds its component's status."""
    recorded: JsonObject = {
        "name": "train" if attempt else "",
        "kind": "Job" if attempt else "",
        "apiVersion": "batch/v1" if attempt else "",
        "podSets": [{"path": "template.spec.template", "replicas": pods}],
    }
    if deployed:
        reason = "ComponentCreatedSuccessfully" if deployed == "True" else "ComponentDeleted"
        recorded["conditions"] = [condition("ResourcesDeployed", deployed, reason)]
    return recorded


def held(seconds: float = 60, *, ready: bool | None = None) -> tuple[JsonObject, ...]:
    """Builds the conditions of an AppWrapper that has its quota and its components."""
    conditions = [
        condition("QuotaReserved", "True", "Resuming", seconds=seconds),
        condition("ResourcesDeployed", "True", "ComponentsCreated", seconds=seconds),
        condition("Unhealthy", "False", "Resuming", seconds=seconds),
    ]
    reason = "SufficientPodsReady" if ready else "Resuming"
    conditions.append(condition("PodsReady", f"{bool(ready)}", reason, seconds=seconds - 20))
    return tuple(conditions)


WAITS = (
    condition("QuotaReserved", "False", "Suspended", seconds=600),
    condition("ResourcesDeployed", "False", "Suspended", seconds=600),
)


def job(*, deleting: bool = False, finalizers: Iterable[str] = (), **status: Any) -> JsonObject:
    """Builds the component's object."""
    metadata: JsonObject = {
        "namespace": "team1",
        "name": "train",
        "uid": "job-1",
        "labels": {f"{OURS}appwrapper": "train", f"{OURS}uid": UID, f"{OURS}attempt": "1"},
        "ownerReferences": [
            {
                "apiVersion": "workload.codeflare.dev/v1beta2",
                "kind": "AppWrapper",
                "name": "train",
                "uid": UID,
                "controller": True,
            }
        ],
        "finalizers": list(finalizers),
    }
    if deleting:
        metadata["deletionTimestamp"] = ago(120)
    return {"metadata": metadata, "spec": template()["spec"], "status": status}


def pod(
    index: int,
    phase: str = "Running",
    *,
    node: str = "",
    conditions: Iterable[JsonObject] = (),
    containers: Iterable[JsonObject] = (),
    attempt: int = 1,
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    reason: str = "",
) -> JsonObject:
    """Builds a pod of the Job, on the node of its index unless it has none."""
    placed = {"nodeName": node or f"gpu-{index + 1}"} if node != "-" else {}
    return {
        "metadata": {
            "namespace": "team1",
            "name": f"train-{index}-x7k2p",
            "uid": f"pod-{attempt}-{index}",
            "creationTimestamp": ago(55),
            "labels": {
                f"{OURS}appwrapper": "train",
                f"{OURS}uid": UID,
                f"{OURS}attempt": f"{attempt}",
                f"{OURS}component": "0",
                "batch.kubernetes.io/job-completion-index": f"{index}",
            },
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "job-1"}
                | {"controller": True}
            ],
            **(metadata or {}),
        },
        "spec": {**template()["spec"]["template"]["spec"], **placed, **(spec or {})},
        "status": {
            "phase": phase,
            "conditions": list(conditions),
            "containerStatuses": list(containers),
            **({"reason": reason} if reason else {}),
        },
    }


def container(state: Mapping[str, Any], **fields: Any) -> JsonObject:
    """Builds a container's status."""
    image = "quay.io/team/train:1"
    return {"name": "main", "image": image, "restartCount": 0, "state": dict(state), **fields}


RUNS = container({"running": {"startedAt": ago(40)}})


def workload(
    *conditions: JsonObject, name: str = "appwrapper-train-4f2d1", **changes: Any
) -> JsonObject:
    """Builds the Workload that Kueue made of it: two pods of 4 CPUs and 8 GPUs."""
    spec, status = dict(changes.pop("spec", {})), dict(changes.pop("status", {}))
    pods, gpus = changes.pop("pods", 2), changes.pop("gpus", 8)
    pod_spec = template(pods, gpus)["spec"]["template"]["spec"]
    return {
        "metadata": {
            "namespace": "team1",
            "name": name,
            "creationTimestamp": ago(600),
            "labels": {"kueue.x-k8s.io/job-uid": UID},
            "ownerReferences": [
                {"kind": "AppWrapper", "name": "train", "uid": UID, "controller": True}
            ],
        },
        "spec": {
            "queueName": "default-queue",
            "priority": 5,
            "priorityClassRef": {"kind": "PriorityClass", "name": "default-priority"},
            "podSets": [{"name": "train-0", "count": pods, "template": {"spec": pod_spec}}],
            **spec,
        },
        "status": {"conditions": list(conditions), **status},
    }


def holder(
    name: str, gpus: int, *, priority: int = 5, namespace: str = "team1", seconds: float = 4000
) -> JsonObject:
    """Builds another user's admitted Workload in team1-cluster-queue."""
    return {
        "metadata": {
            "namespace": namespace,
            "name": f"appwrapper-{name}-12345",
            "creationTimestamp": ago(seconds + 5),
            "labels": {"kueue.x-k8s.io/job-uid": f"uid-of-{name}"},
            "ownerReferences": [
                {"kind": "AppWrapper", "name": name, "uid": f"uid-of-{name}", "controller": True}
            ],
        },
        "spec": {"priority": priority, "podSets": []},
        "status": {
            "admission": {
                "clusterQueue": "team1-cluster-queue",
                "podSetAssignments": [
                    {
                        "name": "main",
                        "flavors": {"nvidia.com/gpu": "default-flavor", "cpu": "default-flavor"},
                        "resourceUsage": {"nvidia.com/gpu": f"{gpus}", "cpu": "8"},
                    }
                ],
            },
            "conditions": [
                condition("QuotaReserved", "True", "QuotaReserved", seconds=seconds),
                condition("Admitted", "True", "Admitted", seconds=seconds),
            ],
        },
    }


def cluster_queue(
    used: Mapping[str, str] | None = None,
    *,
    name: str = "team1-cluster-queue",
    gpus: int = 64,
    cohort: str = "",
    limits: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    active: JsonObject | None = None,
    pending: int = 1,
) -> JsonObject:
    """Builds the team's ClusterQueue; `limits` are those of its GPUs."""
    amounts = used or {}
    return {
        "metadata": {"name": name},
        "spec": {
            **({"cohortName": cohort} if cohort else {}),
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "nvidia.com/gpu"],
                    "flavors": [
                        {
                            "name": "default-flavor",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "640"},
                                {
                                    "name": "nvidia.com/gpu",
                                    "nominalQuota": f"{gpus}",
                                    **(limits or {}),
                                },
                            ],
                        }
                    ],
                }
            ],
            **(spec or {}),
        },
        "status": {
            "pendingWorkloads": pending,
            "conditions": [active or condition("Active", "True", "Ready")],
            "flavorsReservation": [
                {
                    "name": "default-flavor",
                    "resources": [{"name": key, "total": each} for key, each in amounts.items()],
                }
            ],
        },
    }


def local_queue(**spec: Any) -> JsonObject:
    """Builds the team's LocalQueue."""
    return {
        "metadata": {"namespace": "team1", "name": "default-queue"},
        "spec": {"clusterQueue": "team1-cluster-queue", **spec},
        "status": {"conditions": [condition("Active", "True", "Ready")]},
    }


def node(name: str, gpus: int = 8) -> JsonObject:
    amounts = {"cpu": "96", "memory": "1056Gi", "nvidia.com/gpu": f"{gpus}", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"allocatable": amounts}}


def event(
    reason: str, message: str, seconds: float, kind: str = "Normal", **fields: Any
) -> JsonObject:
    """Builds an event on the AppWrapper."""
    return {
        "metadata": {"namespace": "team1", "name": f"train.{reason}.{seconds}"},
        "involvedObject": {"kind": "AppWrapper", "name": "train", "uid": UID},
        "reason": reason,
        "message": message,
        "type": kind,
        "count": 1,
        "firstTimestamp": ago(seconds),
        "lastTimestamp": ago(seconds),
        **fields,
    }


NAMESPACE = {"metadata": {"name": "team1", "labels": {"mlbatch-team-namespace": "true"}}}
SETTINGS = OperatorConfiguration()
ASSUMED = OperatorConfiguration(problem="you may not read the operator's configuration")


def world(*workloads: JsonObject, **changes: Any) -> NamespaceObjects:
    """Builds the objects that all AppWrappers of team1 share: 8 nodes, one queue, these
    Workloads.
    """
    mine = tuple(each for each in workloads if each["metadata"]["namespace"] == "team1")
    found: dict[str, Any] = {
        "settings": SETTINGS,
        "namespace": NAMESPACE,
        "own_workloads": mine,
        "all_workloads": workloads,
        "local_queues": (local_queue(),),
        "cluster_queues": (cluster_queue(),),
        "nodes": tuple(node(f"gpu-{index}") for index in range(1, 9)),
    }
    return NamespaceObjects(**{**found, **changes})


def seen(
    item: JsonObject, shared: NamespaceObjects | None = None, **changes: Any
) -> AppWrapperObjects:
    """Builds the view of the AppWrapper at NOW."""
    return AppWrapperObjects(now=NOW, appwrapper=item, world=shared or world(), **changes)
