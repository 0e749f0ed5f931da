"""Builds objects with a pod template: Jobs, PyTorchJobs, Deployments and StatefulSets."""

from typing import Any

from shared.api.objects import JsonObject
from tests.support.builders.pods import pod_template


def job(name: str, pods: int = 2, **simulation: str) -> JsonObject:
    """Builds a Job of `pods` pods at once, which gives up at the first failure."""
    return job_of(name, pod_template(**simulation), pods)


def job_of(name: str, template: JsonObject, pods: int = 1) -> JsonObject:
    """Builds such a Job of a pod template."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": template,
        },
    }


def restarted_job(name: str, pods: int = 2, **simulation: str) -> JsonObject:
    """Builds a Job whose containers the kubelet restarts without limit."""
    body = job(name, pods, **simulation)
    body["spec"]["backoffLimit"] = 1000
    body["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    return body


def pytorch_job(
    name: str, restart: str = "", /, **roles: JsonObject | tuple[int, JsonObject]
) -> JsonObject:
    """Builds a PyTorchJob of a pod template for each role, or of a number of pods and a template.

    `restart` is each role's restartPolicy; the container must have the name `pytorch`.
    """
    says = {"restartPolicy": restart} if restart else {}
    specs = {}
    for role, given in roles.items():
        replicas, template = given if isinstance(given, tuple) else (1, given)
        specs[role] = {"replicas": replicas, **says, "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": specs},
    }


def master_and_workers(name: str, **simulation: str) -> JsonObject:
    """Builds a master that succeeds soon, and two workers that simulate `simulation`."""
    return pytorch_job(
        name,
        Master=pod_template(container="pytorch", run_for="500ms"),
        Worker=(2, pod_template(container="pytorch", **simulation)),
    )


def bare_job(template: Any) -> JsonObject:
    """Builds a Job of only its pod template."""
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}


def bare_pytorch_job(**roles: JsonObject) -> JsonObject:
    """Builds a PyTorchJob of only the pod templates of its roles."""
    specs = {role: {"template": template} for role, template in roles.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "spec": {"pytorchReplicaSpecs": specs},
    }


def scaled(kind: str, name: str, replicas: int = 2) -> JsonObject:
    """Builds a Deployment or a StatefulSet, whose pods run until they are deleted."""
    template = pod_template({"app": name}, hang="running")
    template["spec"]["restartPolicy"] = "Always"
    body: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }
    if kind == "StatefulSet":
        body["spec"]["serviceName"] = name
        body["spec"]["podManagementPolicy"] = "Parallel"
    return body
