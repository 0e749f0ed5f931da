"""Objects of Kinds whose operators are installed beside Kueue, or stand for one that is not."""

from typing import Any

from shared.api.objects import JsonObject, Resource
from tests.support.builders.pods import pod_template
from tests.support.cluster.resources import (
    JOB_SETS,
    LEADER_WORKER_SETS,
    MPI_JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
)


def job_set(name: str, /, *, policies: JsonObject | None = None, **jobs: JsonObject) -> JsonObject:
    """One Job of one pod for each pod template in `jobs`; none of them tries again by itself."""
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
    """A head and its workers, which run until they are deleted."""

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
    """Its operator submits by HTTP, which no simulated head answers: so it gets no further.

    Kueue insists that its cluster is removed when it has ended; here, an hour later.
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
    """What an operator that is not there would make of a template in `owner`, as stored."""
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
    """Groups of `size` pods, all of them from `worker` where there is no `leader`.

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
    """`template`, as a StatefulSet takes it, which makes the pods of a LeaderWorkerSet."""
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
    """A launcher, which is not tried again by itself, and its workers; all run until they are told.

    `policy` is laid over its runPolicy.
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
