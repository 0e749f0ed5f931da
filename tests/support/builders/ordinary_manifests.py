"""Collects ordinary features of each Kind that resemble tricks.

All GPUs in these objects are counted. Pods that are not counted (native sidecars, the submitter of
a RayJob) request cpu and memory alone.
"""

from typing import Any

from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import QUEUE, manifest
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job_of, pytorch_job
from tests.support.builders.pods import pod_of

HELPER = {"workload.codeflare.dev.appwrapper/helper": "true"}


def manifests() -> dict[str, JsonObject]:
    """Returns the manifests, by subject."""
    return {**_pods(), **_jobs(), **_trainings(), **_ray(), **_sets(), **_surroundings()}


def template(gpus: int = 0, container: str = "main", **spec: Any) -> JsonObject:
    """Builds a pod template; GPUs are limits, as most users write them."""
    amounts = {"requests": {"cpu": "1"}, "limits": {GPU: gpus} if gpus else {}}
    main = {"name": container, "image": "i", "resources": amounts}
    return {"spec": {"containers": [main], "restartPolicy": "Never", **spec}}


def with_sidecars(gpus: int, container: str = "main") -> JsonObject:
    """Builds native sidecars, and an init container that checks the GPUs before the main
    container.
    """
    amounts = {"requests": {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "1Gi"}}
    none = {"requests": {"cpu": "1", GPU: 0}, "limits": {"memory": "1Gi", GPU: "0"}}
    sidecar = {"image": "i", "restartPolicy": "Always"}
    init = [
        {"name": "logs", **sidecar, "resources": amounts},
        {"name": "no-gpus", **sidecar, "resources": none},
        {"name": "bare", **sidecar},
        {"name": "check", "image": "i", "resources": {"limits": {GPU: gpus}}},
    ]
    return template(gpus, container, initContainers=init)


def _named(api_version: str, kind: str, **fields: Any) -> JsonObject:
    metadata = {"name": f"my-{kind.lower()}", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _direct(made: JsonObject, **spec: Any) -> JsonObject:
    """Builds the same object without a wrapper, in the team's queue."""
    made["metadata"]["labels"] = dict(QUEUE)
    made["spec"] |= spec
    return made


def _wrapped(*components: Any, **fields: Any) -> JsonObject:
    return manifest(*components, **{"name": "mine", "labels": dict(QUEUE), **fields})


def _pods() -> dict[str, JsonObject]:
    null = pod_of(template(1), name="pod")
    null["metadata"]["creationTimestamp"] = None
    null["status"] = {}
    nothing = _wrapped(null)
    nothing["metadata"]["creationTimestamp"] = None
    return {
        "a pod with native sidecars": _wrapped(pod_of(with_sidecars(2), name="pod")),
        "what kubectl create --dry-run=client prints": nothing,
    }


def _jobs() -> dict[str, JsonObject]:
    indexed = job_of("indexed", template(1), pods=4)
    indexed["spec"] |= {
        "completionMode": "Indexed",
        "backoffLimit": None,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 2,
        "podReplacementPolicy": "Failed",
        "suspend": True,
        "activeDeadlineSeconds": 3600,
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
        },
    }
    many = job_of("many", template(1), pods=2)
    many["spec"]["completions"] = 100
    topology = template(8)
    topology["metadata"] = {
        "creationTimestamp": None,
        "annotations": {"kueue.x-k8s.io/podset-preferred-topology": "kubernetes.io/hostname"},
    }
    limited = {**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": "3600"}
    return {
        "an indexed job": _wrapped(indexed),
        "more completions than pods at once": _wrapped(many),
        "a job with native sidecars": _wrapped(job_of("sidecars", with_sidecars(4), pods=2)),
        "a topology": _wrapped(job_of("topology", topology, pods=2)),
        "a time limit of kueue": _wrapped(job_of("limited", template(1)), labels=limited),
        "eight pod sets": _wrapped(*(job_of(f"j{number}", template(1)) for number in range(8))),
    }


def _trainings() -> dict[str, JsonObject]:
    """Builds elastic PyTorchJobs: without metrics they get no autoscaler and keep their size."""

    def elastic() -> JsonObject:
        made = pytorch_job("elastic", "OnFailure", Worker=(2, template(8, "pytorch")))
        made["spec"] |= {
            "elasticPolicy": {
                "rdzvBackend": "c10d",
                "minReplicas": 1,
                "maxReplicas": 4,
                "maxRestarts": 3,
                "nProcPerNode": 8,
            },
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 3},
        }
        return made

    roles = {
        "Launcher": {"replicas": 1, "template": template(container="launcher")},
        "Worker": {"replicas": 4, "template": template(8)},
    }
    mpi = _named("kubeflow.org/v2beta1", "MPIJob")
    mpi["spec"] = {
        "slotsPerWorker": 8,
        "sshAuthMountPath": "/home/mpi/.ssh",
        "runPolicy": {"cleanPodPolicy": "Running", "ttlSecondsAfterFinished": 600},
        "mpiReplicaSpecs": roles,
    }
    return {
        "an elastic pytorchjob": _wrapped(elastic()),
        "a direct elastic pytorchjob": _direct(elastic()),
        "a direct pytorchjob with sidecars": _direct(
            pytorch_job("sidecars", Master=with_sidecars(1, "pytorch")), runPolicy={"suspend": True}
        ),
        "an mpijob": _wrapped(mpi),
    }


def _ray_group(gpus: int, container: str) -> JsonObject:
    made = template(gpus, container, restartPolicy="Always")
    return {"rayStartParams": {}, "template": made}


def ray_spec(gpus: int = 0, group: JsonObject | None = None, **spec: Any) -> JsonObject:
    """Builds a head, and workers as in KubeRay's own samples, which no autoscaler changes."""
    counts = {"groupName": "workers", "replicas": 2, "minReplicas": 1, "maxReplicas": 5}
    workers = {**counts, "numOfHosts": 1, **_ray_group(gpus, "ray-worker"), **(group or {})}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": _ray_group(0, "ray-head"),
        "workerGroupSpecs": [workers],
        **spec,
    }


def _ray_job(**spec: Any) -> JsonObject:
    made = {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True}
    return _named("ray.io/v1", "RayJob", spec={**made, "rayClusterSpec": ray_spec(1), **spec})


def _ray() -> dict[str, JsonObject]:
    options = {"upscalingMode": "Default", "resources": {"limits": {"cpu": "500m"}}}
    scaled = ray_spec(autoscalerOptions=options, enableInTreeAutoscaling=True)
    still = ray_spec(4, autoscalerOptions=options)
    submitter = template(container="ray-job-submitter")
    submitter["spec"]["containers"][0]["resources"] |= {"limits": {"memory": "1Gi", GPU: 0}}

    def cluster(spec: JsonObject) -> JsonObject:
        return _named("ray.io/v1", "RayCluster", spec=spec)

    return {
        "a ray cluster with unused autoscaler options": _wrapped(cluster(still)),
        "the same, direct": _direct(cluster(still)),
        "a ray cluster of cpus that scales": _wrapped(cluster(scaled)),
        "a ray cluster of cpus with several hosts": _wrapped(
            cluster(ray_spec(0, {"numOfHosts": 4}))
        ),
        "a rayjob with kuberay's own submitter": _wrapped(_ray_job()),
        "a direct rayjob with kuberay's own submitter": _direct(_ray_job(), suspend=True),
        "a rayjob with a submitter of cpus": _wrapped(
            _ray_job(submitterPodTemplate=submitter, submitterConfig={"backoffLimit": 2})
        ),
        "a rayjob that submits by http": _wrapped(_ray_job(submissionMode="HTTPMode")),
    }


def _sets() -> dict[str, JsonObject]:
    depends = [{"name": "driver", "status": "Ready"}]
    jobs = [
        {"name": "driver", "template": {"spec": {"template": template()}}},
        {
            "name": "workers",
            "replicas": 2,
            "dependsOn": depends,
            "template": {"spec": {"parallelism": 2, "completions": 2, "template": template(8)}},
        },
    ]
    job_set = _named("jobset.x-k8s.io/v1alpha2", "JobSet", spec={"replicatedJobs": jobs})
    job_set["spec"] |= {
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["workers"]},
        "failurePolicy": {"maxRestarts": 3},
        "network": {"enableDNSHostnames": True},
    }
    alike = {"size": 3, "workerTemplate": template(8, restartPolicy="Always")}
    led = {**alike, "leaderTemplate": template(container="leader", restartPolicy="Always")}

    def groups(of: JsonObject) -> JsonObject:
        spec = {"replicas": 2, "leaderWorkerTemplate": of}
        return _named("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec=spec)

    labels = {"app": "mine"}
    served = {**template(1, restartPolicy="Always"), "metadata": {"labels": labels}}
    one = {"requests": {"storage": "1Gi"}}
    volume = {"accessModes": ["ReadWriteOnce"], "resources": one}
    claim = {"metadata": {"name": "data"}, "spec": volume}
    scaled = {"replicas": 2, "selector": {"matchLabels": labels}, "template": served}
    stateful = {**scaled, "serviceName": "mine", "volumeClaimTemplates": [claim]}
    return {
        "a jobset with dependencies": _wrapped(job_set),
        "a leaderworkerset": _wrapped(groups(led)),
        "a leaderworkerset without leaders": _wrapped(groups(alike)),
        "a deployment": _wrapped(_named("apps/v1", "Deployment", spec=scaled)),
        "a statefulset": _wrapped(_named("apps/v1", "StatefulSet", spec=stateful)),
    }


def _surroundings() -> dict[str, JsonObject]:
    """Builds a job with all that it needs, and a TensorBoard beside it."""
    board = _named("apps/v1", "Deployment")
    labels = {"app": "board"}
    pods = {**template(restartPolicy="Always"), "metadata": {"labels": labels}}
    board["spec"] = {"selector": {"matchLabels": labels}, "template": pods}
    # As the repository's own samples and MLBatch's tools write them.
    needed = [
        _named("v1", "ServiceAccount", imagePullSecrets=[{"name": "registry"}]),
        _named("v1", "Secret", type="Opaque", stringData={"id_rsa": "x"}),
        _named("v1", "ConfigMap", data={"known_hosts": "x"}),
        _named("v1", "Service", spec={"clusterIP": "None", "selector": labels}),
    ]
    others = {f"a direct {each['kind'].lower()}": each for each in needed[1:]}
    job = job_of("job", template(1, serviceAccountName="my-serviceaccount"))
    helper = {"template": board, "annotations": HELPER}
    file = _named("v1", "ConfigMap", data={"a": "b"})
    files = [file | {"metadata": {"name": f"file-{number}"}} for number in range(99)]
    return {
        "a job with its surroundings": _wrapped(*needed, job, helper),
        "a hundred components": _wrapped(*files, job),
        **others,
    }
