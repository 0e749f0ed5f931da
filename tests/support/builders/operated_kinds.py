"""Objects of Kinds whose operators are installed beside Kueue, or stand for one that is not."""

from typing import Any

from shared.api.objects import JsonObject, Resource
from tests.support.builders.pods import pod_template
from tests.support.cluster.resources import JOB_SETS, RAY_CLUSTERS, RAY_JOBS


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


def leader_worker_set(name: str) -> JsonObject:
    pod = {"spec": {"containers": [{"name": "main", "image": "none"}]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 1, "workerTemplate": pod}},
    }
