"""Builds objects of Kinds with operators beside Kueue, and objects of an absent operator."""

from typing import Any

from shared.api.objects import JsonObject, Resource
from tests.support.builders.pods import pod_template
from tests.support.cluster.resources import (
    JOB_SETS,
    LEADER_WORKER_SETS,
    MPI_JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
)


def job_set(name: str, /, *, policies: JsonObject | None = None, **jobs: JsonObject) -> JsonObject:
    """Builds one Job of one pod for each pod template in `jobs`; none of them retries by itself."""
    replicated = [
        {"name": role, "template": {"spec": {"backoffLimit": 0, "template": template}}}
        for role, template in jobs.items()
    ]
    return {
        "apiVersion": JOB_SETS.gvk.api_version,
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": replicated, **(policies or {})},
    }


def _ray_spec(workers: int) -> JsonObject:
    """Builds a head and its workers, which run until they are deleted."""

    def group(container: str) -> JsonObject:
        template = pod_template(hang="running")
        template["spec"]["restartPolicy"] = "Always"
        template["spec"]["containers"][0]["name"] = container
        amounts = {"cpu": "100m", "memory": "256Mi"}
        template["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
        return {"rayStartParams": {}, "template": template}

    counts = {"replicas": workers, "minReplicas": workers, "maxReplicas": workers}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": group("ray-head"),
        "workerGroupSpecs": [{"groupName": "workers", **counts, **group("ray-worker")}],
    }


def ray_cluster(name: str, workers: int = 1) -> JsonObject:
    return {
        "apiVersion": RAY_CLUSTERS.gvk.api_version,
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": _ray_spec(workers),
    }


def ray_job(name: str, workers: int = 1, **spec: Any) -> JsonObject:
    """Builds a RayJob. Its operator submits by HTTP, and no simulated head answers: it stays there.

    Kueue requires that its cluster is removed after the end; here, an hour later.
    """
    return {
        "apiVersion": RAY_JOBS.gvk.api_version,
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "entrypoint": "python train.py",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "ttlSecondsAfterFinished": 3600,
            "rayClusterSpec": _ray_spec(workers),
            **spec,
        },
    }


def made_by(owner: JsonObject, resource: Resource, template: JsonObject) -> JsonObject:
    """Builds, as stored, the object that an absent operator would make of a template in `owner`."""
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference |= {"name": metadata["name"], "uid": metadata["uid"], "blockOwnerDeletion": True}
    made = {"apiVersion": resource.gvk.api_version, "kind": resource.kind, **template}
    made["metadata"] = template["metadata"] | {"ownerReferences": [reference]}
    return made


def leader_worker_set(
    name: str,
    *,
    leader: JsonObject | None = None,
    worker: JsonObject | None = None,
    replicas: int = 1,
    size: int = 1,
    **spec: Any,
) -> JsonObject:
    """Builds groups of `size` pods, all of them from `worker` if there is no `leader`.

    `restartPolicy` of a group, if given, is among `spec`.
    """
    group: JsonObject = {"size": size, "workerTemplate": worker or _least_template()}
    if leader is not None:
        group["leaderTemplate"] = leader
    if restart_policy := spec.pop("restartPolicy", ""):
        group["restartPolicy"] = restart_policy
    return {
        "apiVersion": LEADER_WORKER_SETS.gvk.api_version,
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": group, **spec},
    }


def _least_template() -> JsonObject:
    return {"spec": {"containers": [{"name": "main", "image": "none"}]}}


def always(template: JsonObject) -> JsonObject:
    """Changes `template` for a StatefulSet, which makes the pods of a LeaderWorkerSet."""
    template["spec"]["restartPolicy"] = "Always"
    return template


def mpi_job(
    name: str,
    *,
    launcher: JsonObject | None = None,
    worker: JsonObject | None = None,
    workers: int = 1,
    version: str = MPI_JOBS.version,
    **policy: Any,
) -> JsonObject:
    """Builds a launcher without retries, and its workers; all run until they are deleted.

    `policy` replaces fields of its runPolicy.
    """
    roles = {
        "Launcher": {
            "replicas": 1,
            "restartPolicy": "Never",
            "template": launcher or pod_template(hang="running"),
        },
        "Worker": {"replicas": workers, "template": worker or pod_template(hang="running")},
    }
    return {
        "apiVersion": f"{MPI_JOBS.group}/{version}",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "mpiReplicaSpecs": roles,
            "runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "None", **policy},
        },
    }


def runtime_job(
    name: str, template: JsonObject | None = None, *, step: str = "", **fields: Any
) -> JsonObject:
    """Builds one of a runtime's Jobs without retries. `fields` are beside its name and template."""
    template = template or _least_template()
    template["spec"]["containers"][0]["name"] = "node" if step == "trainer" else step or "main"
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step} if step else {}
    spec = {"backoffLimit": 0, "template": template}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": spec}, **fields}


def training_runtime(name: str, *jobs: JsonObject, nodes: int = 1, **spec: Any) -> JsonObject:
    """Builds the runtime of a TrainJob. `spec` is that of its JobSet."""
    return {
        "apiVersion": TRAINING_RUNTIMES.gvk.api_version,
        "kind": TRAINING_RUNTIMES.kind,
        "metadata": {"name": name},
        "spec": {
            "mlPolicy": {"numNodes": nodes},
            "template": {"spec": {"replicatedJobs": list(jobs), **spec}},
        },
    }


def train_job(name: str, **spec: Any) -> JsonObject:
    """Builds a TrainJob on the TrainingRuntime of its own name."""
    ref = {"apiGroup": TRAIN_JOBS.group, "kind": TRAINING_RUNTIMES.kind, "name": name}
    return {
        "apiVersion": TRAIN_JOBS.gvk.api_version,
        "kind": TRAIN_JOBS.kind,
        "metadata": {"name": name},
        "spec": {"runtimeRef": ref, **spec},
    }
