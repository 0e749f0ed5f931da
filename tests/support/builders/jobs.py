"""Builds what has a pod template: Jobs, PyTorchJobs, Deployments and StatefulSets."""

from shared.api.json import JsonObject
from tests.support.builders.pods import pod_template


def pytorch_job(name: str, worker: JsonObject) -> JsonObject:
    """A master that succeeds soon, and two workers."""
    replicas = {
        "Master": {"replicas": 1, "template": pod_template(run_for="500ms")},
        "Worker": {"replicas": 2, "template": worker},
    }
    for replica in replicas.values():
        replica["template"]["spec"]["containers"][0]["name"] = "pytorch"
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def job(name: str, pods: int = 2, **simulation: str) -> JsonObject:
    """A Job of `pods` pods at once, which gives up at the first failure."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": pod_template(**simulation),
        },
    }


def scaled(kind: str, name: str, replicas: int = 2) -> JsonObject:
    """A Deployment or a StatefulSet, whose pods run until they are deleted."""
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
