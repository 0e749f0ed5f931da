"""Builds the objects that codeflare-sdk 0.33.1 submits: RayClusters, AppWrappers, RayJobs.

Not its code: the fields that it writes, with the values that a rule could read. It always writes
`autoscalerOptions` with resources, beside `enableInTreeAutoscaling: false`. minReplicas and
maxReplicas equal the replicas. A submitter's pod names no resources. A RayJob with its own cluster
begins suspended.
"""

import copy
from typing import Any

from shared.api.objects import JsonObject, JsonValue
from tests.support.builders.appwrappers import QUEUE, manifest
from tests.support.builders.autopilot import GPU

# `get_cluster` removes these from a stored object, at any depth, before it is applied again.
_TAKEN_OUT = {
    "creationTimestamp", "resourceVersion", "uid", "selfLink", "managedFields", "finalizers",
    "generation", "status", "suspend", "podSetInfos",
    "workload.codeflare.dev/user", "workload.codeflare.dev/userid",
}  # fmt: skip
_STOP = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "ray stop"]}}}
_PORTS = [
    {"name": "gcs", "containerPort": 6379},
    {"name": "dashboard", "containerPort": 8265},
    {"name": "client", "containerPort": 10001},
]
_USAGE = {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}
_VERSION = "2.52.1"
_BUNDLE = "odh-trusted-ca-bundle"
_FILES = {"name": "ray-job-files", "mountPath": "/files"}
_UNZIPPED = {"name": "unzipped-working-dir", "mountPath": "/tmp/rayjob-working-dir"}


def _amounts(cpu: JsonValue, memory: str, more: JsonObject) -> JsonObject:
    """Builds resources: CPUs are integers, memory has a unit, requests equal limits."""
    return {
        "requests": {"cpu": cpu, "memory": memory, **more},
        "limits": {"cpu": cpu, "memory": memory, **more},
    }


def _authorities() -> tuple[list[JsonObject], list[JsonObject]]:
    """Builds volumes and mounts of the certificates that Open Data Hub trusts; they may be
    absent.
    """
    volumes, mounts = [], []
    for name, key in (("odh-trusted-ca-cert", "ca-bundle.crt"), ("odh-ca-cert", "odh-ca.crt")):
        items = [{"key": key, "path": f"{name}.crt"}]
        source = {"name": _BUNDLE, "items": items, "optional": True}
        volumes.append({"name": name, "configMap": source})
        for folder in ("/etc/pki/tls/certs", "/etc/ssl/certs"):
            path = f"{folder}/{name}.crt"
            mounts.append({"name": name, "mountPath": path, "subPath": f"{name}.crt"})
    return volumes, mounts


def _cluster_template(container: JsonObject, options: JsonObject) -> JsonObject:
    volumes, mounts = _authorities()
    shared = {
        "image": "quay.io/modh/ray:2.52.1",
        "imagePullPolicy": "Always",
        "lifecycle": _STOP,
        "env": [_USAGE, *options.get("env", [])],
        "volumeMounts": options.get("volumeMounts", []) + mounts,
    }
    spec: JsonObject = {
        "containers": [container | shared],
        "volumes": options.get("volumes", []) + volumes,
        **options.get("pod", {}),
    }
    annotated = options.get("annotations")
    return {"metadata": {"annotations": annotated}, "spec": spec} if annotated else {"spec": spec}


def ray_cluster(
    name: str,
    workers: int = 1,
    *,
    head_gpus: int = 0,
    worker_gpus: int = 0,
    queue: bool = True,
    spec: JsonObject | None = None,
    **options: Any,
) -> JsonObject:
    """Builds `Cluster(ClusterConfiguration(…))` without an AppWrapper; `queue`: with a LocalQueue.

    `options`: `annotations`, `env`, `volumes` and `volumeMounts` that the user gives, `pod` for
    tolerations and imagePullSecrets.
    """
    head, worker = ({GPU: gpus} if gpus else {} for gpus in (head_gpus, worker_gpus))
    labels = {"controller-tools.k8s.io": "1.0", "ray.io/cluster": name}
    started = {"block": "true", "resources": '"{}"'}
    group = {
        "groupName": f"small-group-{name}",
        "replicas": workers,
        "minReplicas": workers,
        "maxReplicas": workers,
        "rayStartParams": {**started, "num-gpus": str(worker_gpus)},
        "template": _cluster_template(
            {"name": "machine-learning", "resources": _amounts(1, "6G", worker)}, options
        ),
    }
    head_group = {
        "serviceType": "ClusterIP",
        "enableIngress": False,
        "rayStartParams": {
            **started,
            "dashboard-host": "0.0.0.0",
            "num-gpus": str(head_gpus),
        },
        "template": _cluster_template(
            {"name": "ray-head", "ports": _PORTS, "resources": _amounts(2, "8G", head)}, options
        ),
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "labels": {**labels, **(QUEUE if queue else {})}},
        "spec": {
            "rayVersion": _VERSION,
            "enableInTreeAutoscaling": False,
            "autoscalerOptions": {
                "upscalingMode": "Default",
                "idleTimeoutSeconds": 60,
                "resources": _amounts("500m", "512Mi", {}),
            },
            "headGroupSpec": head_group,
            "workerGroupSpecs": [group],
            **(spec or {}),
        },
    }


def wrapped(cluster: JsonObject, *, queue: bool = True) -> JsonObject:
    """Builds `appwrapper=True`: the AppWrapper has the RayCluster's name, and the queue label."""
    inner = copy.deepcopy(cluster)
    for key in QUEUE:
        inner["metadata"]["labels"].pop(key, None)
    labels = {"labels": dict(QUEUE)} if queue else {}
    return manifest(inner, name=cluster["metadata"]["name"], **labels)


def fetched(stored: JsonValue) -> Any:
    """Returns the result of `get_cluster`, to be applied again or written to a file."""
    if isinstance(stored, dict):
        return {key: fetched(each) for key, each in stored.items() if key not in _TAKEN_OUT}
    return [fetched(each) for each in stored] if isinstance(stored, list) else stored


def with_tls_of_its_operator(cluster: JsonObject) -> JsonObject:
    """Builds a RayCluster after codeflare-operator's webhook: mutual TLS, and a proxy at its head.

    An init container in every pod makes the certificate and writes it into an emptyDir.
    """
    made = copy.deepcopy(cluster)
    name = made["metadata"]["name"]
    groups = [made["spec"]["headGroupSpec"], *made["spec"]["workerGroupSpecs"]]
    mounts = [
        {"name": "ca-vol", "mountPath": "/tls/ca", "readOnly": True},
        {"name": "server-cert", "mountPath": "/tls/own"},
    ]
    for group in groups:
        spec = group["template"]["spec"]
        spec["volumes"] += [
            {"name": "ca-vol", "secret": {"secretName": f"{name}-ca"}},
            {"name": "server-cert", "emptyDir": {}},
        ]
        spec["containers"][0]["env"] += [
            {"name": "MY_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "RAY_USE_TLS", "value": "1"},
        ]
        spec["containers"][0]["volumeMounts"] += mounts
        spec["initContainers"] = [
            {
                "name": "create-cert",
                "image": "registry/ray",
                "command": ["sh", "-c", "openssl req"],
                "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False},
                "volumeMounts": mounts,
            }
        ]
    head = groups[0]["template"]["spec"]
    head["serviceAccountName"] = f"{name}-oauth-proxy"
    head["containers"].append({"name": "oauth-proxy", "image": "registry/proxy", "ports": []})
    return made


def ray_job(
    name: str,
    workers: int = 1,
    *,
    worker_gpus: int = 0,
    files: str = "",
    existing: str = "",
    queue: bool = True,
    spec: JsonObject | None = None,
    priority: str = "",
) -> JsonObject:
    """Builds `RayJob(…).submit()`: with a `ManagedClusterConfig`, or on an `existing` RayCluster.

    `files`: `script` or `zip`, local files that a Secret brings to the pod that submits. `queue`:
    without one the SDK writes the queue `default`.
    """
    body: JsonObject = {
        "entrypoint": "python train.py",
        "ttlSecondsAfterFinished": 0,
        "shutdownAfterJobFinishes": not existing,
        **(spec or {}),
    }
    metadata: JsonObject = {"name": name}
    if existing:
        body["clusterSelector"] = {"ray.io/cluster": existing}
    else:
        named = dict(QUEUE) if queue else dict.fromkeys(QUEUE, "default")
        chosen = {"kueue.x-k8s.io/priority-class": priority} if priority else {}
        metadata["labels"] = named | chosen
        body |= {"suspend": True, "rayClusterSpec": _managed(name, workers, worker_gpus, files)}
    if files:
        folder = _UNZIPPED if files == "zip" else _FILES
        body["runtimeEnvYAML"] = f"working_dir: {folder['mountPath']}\npip:\n- numpy\n"
        body["submitterPodTemplate"] = _submitter(name, zipped=files == "zip")
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": body}


def _managed(name: str, workers: int, gpus: int, files: str) -> JsonObject:
    """Builds a managed cluster: it has no autoscalerOptions, and empty lists are written."""
    worker = {GPU: gpus} if gpus else {}
    volumes = [{"name": _FILES["name"], "secret": {"secretName": f"{name}-files"}}]

    def template(container: JsonObject) -> JsonObject:
        shared = {
            "image": "quay.io/modh/ray:2.52.1",
            "imagePullPolicy": "IfNotPresent",
            "lifecycle": _STOP,
            "volumeMounts": [_FILES] if files else [],
            "env": [_USAGE],
        }
        spec = {
            "containers": [container | shared],
            "volumes": volumes if files else [],
            "restartPolicy": "Never",
        }
        return {"metadata": {"annotations": {}}, "spec": spec}

    group = {
        "groupName": f"worker-group-{name}-cluster",
        "replicas": workers,
        "minReplicas": workers,
        "maxReplicas": workers,
        "rayStartParams": {"block": "true", **({"num-gpus": str(gpus)} if gpus else {})},
        "template": template({"name": "ray-worker", "resources": _amounts(1, "2G", worker)}),
    }
    head = {"name": "ray-head", "ports": _PORTS, "resources": _amounts(2, "8G", {})}
    return {
        "rayVersion": _VERSION,
        "enableInTreeAutoscaling": False,
        "headGroupSpec": {
            "serviceType": "ClusterIP",
            "enableIngress": False,
            "rayStartParams": {"dashboard-host": "0.0.0.0", "block": "true"},
            "template": template(head),
        },
        "workerGroupSpecs": [group],
    }


def _submitter(name: str, *, zipped: bool) -> JsonObject:
    """Builds the submitter; an init container unzips a working directory."""
    key = "working_dir.zip" if zipped else "train.py"
    secret = {"secretName": f"{name}-files", "items": [{"key": key, "path": key}]}
    spec: JsonObject = {
        "restartPolicy": "Never",
        "containers": [{"name": "ray-job-submitter", "image": "r", "volumeMounts": [_FILES]}],
        "volumes": [{"name": _FILES["name"], "secret": secret}],
    }
    if zipped:
        spec["containers"][0]["volumeMounts"] = [_FILES, _UNZIPPED]
        spec["volumes"].append({"name": _UNZIPPED["name"], "emptyDir": {}})
        spec["initContainers"] = [
            {
                "name": "unzip-working-dir",
                "image": "r",
                "command": ["/bin/sh", "-c"],
                "args": ["python3 -m zipfile -e /tmp/working_dir.zip /tmp"],
                "volumeMounts": [_FILES, _UNZIPPED],
            }
        ]
    return {"spec": spec}


def file_secret(job: JsonObject) -> JsonObject:
    """Builds the Secret of a RayJob's files, whose controller is the existing RayJob."""
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": job["metadata"]["name"]}
    owner |= {"uid": job["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": f"{owner['name']}-files", "ownerReferences": [owner]},
        "stringData": {"train.py": "pass"},
    }
