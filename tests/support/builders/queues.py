"""Builds Kueue's objects, nodes and pods, as the API server shows them to `appwrapper check`."""

from typing import Any

from shared.api.objects import JsonObject

GPU = "nvidia.com/gpu"
FLAVOR = "default-flavor"


def cluster_queue(
    name: str,
    gpus: int,
    used: int = 0,
    *,
    admitted: int = 0,
    pending: int = 0,
    borrowed: int = 0,
    cohort: str = "default-cohort",
    active: str = "",
    **limits: Any,
) -> JsonObject:
    """Builds one with GPUs only. `limits`: borrowingLimit, lendingLimit; `active`: why it is
    not.
    """
    quota = {"name": GPU, "nominalQuota": gpus, **limits}
    usage = {"name": GPU, "total": str(used), "borrowed": str(borrowed)}
    condition = {"type": "Active", "status": "False" if active else "True", "message": active}
    return {
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {
            "cohortName": cohort,
            "resourceGroups": [
                {"coveredResources": [GPU], "flavors": [{"name": FLAVOR, "resources": [quota]}]}
            ],
        },
        "status": {
            "conditions": [condition],
            "admittedWorkloads": admitted,
            "pendingWorkloads": pending,
            "flavorsUsage": [{"name": FLAVOR, "resources": [usage]}],
        },
    }


def local_queue(namespace: str, cluster_queue_name: str, name: str = "default-queue") -> JsonObject:
    """Builds a team's LocalQueue."""
    return {
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": cluster_queue_name},
        "status": {"admittedWorkloads": 1, "pendingWorkloads": 2},
    }


def gpu_node(name: str, gpus: int = 8, **changes: Any) -> JsonObject:
    """Builds a node with 80 CPUs, 1100Gi, 2 adapters. `changes`: labels, spec, allocatable."""
    amounts = {"cpu": "80", "memory": "1100Gi", GPU: str(gpus), "nvidia.com/roce_gdr": "2"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": changes.get("labels", {})},
        "spec": changes.get("spec", {}),
        "status": {
            "capacity": amounts,
            "allocatable": amounts | changes.get("allocatable", {}),
        },
    }


def workload(name: str, namespace: str = "team1", **changes: Any) -> JsonObject:
    """Builds a Workload of AppWrapper `name`, with one pod of 8 GPUs. `changes` replace fields.

    `requests`, `count`, `scheduler` are the pod set's; `conditions` maps a type to its status, or
    to a whole condition; everything else is a field of the spec.
    """
    requests = changes.pop("requests", {GPU: "8"})
    container = {"name": "main", "resources": {"requests": requests}}
    pod_set = {
        "name": "main",
        "count": changes.pop("count", 1),
        "template": {
            "spec": {
                "containers": [container],
                "schedulerName": changes.pop("scheduler", "default-scheduler"),
            }
        },
    }
    owner = {"kind": "AppWrapper", "name": name, "uid": "u", "controller": True}
    conditions = [
        {"type": kind, "lastTransitionTime": "2026-01-02T03:00:00Z"}
        | (found if isinstance(found, dict) else {"status": found})
        for kind, found in changes.pop("conditions", {}).items()
    ]
    return {
        "kind": "Workload",
        "metadata": {
            "name": f"appwrapper-{name}",
            "namespace": namespace,
            "creationTimestamp": changes.pop("created", "2026-01-02T02:00:00Z"),
            "ownerReferences": [changes.pop("owner", owner)],
        },
        "spec": {"queueName": "default-queue", "priority": 5, "podSets": [pod_set], **changes},
        "status": {"conditions": conditions},
    }


def bound_pod(namespace: str, name: str, node: str, gpus: int) -> JsonObject:
    """Builds a running pod."""
    return {
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"limits": {GPU: str(gpus)}}}],
        },
        "status": {"phase": "Running"},
    }


def default_priority(value: int = 5) -> JsonObject:
    """Builds the PriorityClass of pods that name none."""
    return {
        "kind": "PriorityClass",
        "metadata": {"name": "default-priority"},
        "value": value,
        "globalDefault": True,
    }


def operator_config(text: str = "", namespace: str = "appwrapper-system") -> JsonObject:
    """Builds the operator's ConfigMap."""
    return {
        "kind": "ConfigMap",
        "metadata": {"name": "appwrapper-operator-config", "namespace": namespace},
        "data": {"config.yaml": text},
    }
