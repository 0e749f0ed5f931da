"""Builds objects of every Kind with known pods, for the API server and Kueue to read."""

from typing import Any

from shared.api.objects import JsonObject
from tests.support.builders import jobs
from tests.support.builders.autopilot import GPU
from tests.support.builders.pods import SIMULATION, pod_of

NAME = "injected"


def template(gpus: int = 0, **spec: Any) -> JsonObject:
    """Builds a pod template; its pods run until they are deleted."""
    resources = {"limits": {GPU: str(gpus)}} if gpus else {"requests": {"cpu": "100m"}}
    return {
        "metadata": {"annotations": {f"{SIMULATION}hang": "running"}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pytorch", "image": "i", "resources": resources}],
            **spec,
        },
    }


def kind(api_version: str, kind: str, **spec: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def pod(gpus: int = 0, name: str = NAME) -> JsonObject:
    return pod_of(template(gpus), name=name)


def pytorch_job(**roles: JsonObject) -> JsonObject:
    return jobs.pytorch_job(NAME, **roles)


def ray(gpus: int = 0) -> JsonObject:
    group = {"groupName": "workers", "replicas": 2, "template": template(gpus)}
    return {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [group]}


SERVICE = {**kind("v1", "Service", ports=[{"port": 80}])}
DEPLOYMENT = kind(
    "apps/v1",
    "Deployment",
    replicas=2,
    selector={"matchLabels": {"app": NAME}},
    template=template(),
)
JOB_SET = kind(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    replicatedJobs=[
        {
            "name": "a",
            "replicas": 2,
            "template": {"spec": {"parallelism": 3, "template": template()}},
        },
        {"name": "b", "template": {"spec": {"template": template()}}},
    ],
)
LEADER_WORKER_SET = kind(
    "leaderworkerset.x-k8s.io/v1",
    "LeaderWorkerSet",
    replicas=2,
    leaderWorkerTemplate={
        "size": 3,
        "leaderTemplate": template(),
        "workerTemplate": template(8),
    },
)
GROUP = "template.spec.leaderWorkerTemplate"
MPI_ROLES = "template.spec.mpiReplicaSpecs"


def mpi_job(version: str) -> JsonObject:
    roles = {
        "Worker": {"replicas": 4, "template": template(8)},
        "Launcher": {"template": template()},
    }
    return kind(f"kubeflow.org/{version}", "MPIJob", mpiReplicaSpecs=roles)
