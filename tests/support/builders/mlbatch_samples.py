"""Rewrites the contents of MLBatch's samples, tutorial and generator of PyTorchJobs.

They follow its chart 1.1.12. Each has one feature that a rule could read.
"""

import copy
from typing import Any

from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import QUEUE, manifest
from tests.support.builders.autopilot import GPU, HEALTH, REQUIRED
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.mlbatch import GENERATOR, training
from tests.support.builders.pods import pod_of

ROCE = "nvidia.com/roce_gdr"
_PREFIX = "workload.codeflare.dev.appwrapper/"


def samples() -> dict[str, JsonObject]:
    """Returns the samples, by subject."""
    return {**_samples(), **_tutorial(), **_generated()}


def _template(name: str = "busybox", /, requests: Any = None, **spec: Any) -> JsonObject:
    amounts = {"requests": requests or {"cpu": "100m"}}
    container = {"name": name, "image": "i", "command": ["sh", "-c", "sleep 5"]}
    return {"spec": {**spec, "containers": [{**container, "resources": amounts}]}}


def _job(name: str, template: JsonObject, **spec: Any) -> JsonObject:
    template["spec"].setdefault("restartPolicy", "Never")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**spec, "template": template},
    }


def _pytorch_job(name: str) -> JsonObject:
    roles = {"Master": _template("pytorch"), "Worker": _template("pytorch")}
    return pytorch_job(name, "OnFailure", **roles)


def _samples() -> dict[str, JsonObject]:
    """Builds the samples. None of the wrapped ones names a queue."""
    two = _template(requests={"cpu": 1})
    two["metadata"] = {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}
    direct = _pytorch_job("direct")
    direct["metadata"]["labels"] = dict(QUEUE)
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"minMember": 2},
    }
    return {
        "a pod": manifest(pod_of(_template(restartPolicy="Never"), name="pod"), name="pod"),
        "a job": manifest(_job("job", _template()), name="job"),
        "a job with a priority": manifest(
            _job("job", _template(priorityClassName="high-priority")), name="job"
        ),
        "a job with a pod group": manifest(
            group, _job("gang", two, parallelism=2, completions=2), name="gang"
        ),
        "a pytorchjob": manifest(_pytorch_job("train"), name="train"),
        "a direct pytorchjob": direct,
    }


def _tutorial() -> dict[str, JsonObject]:
    """Builds generated names, GPUs as limits alone or as text, several containers, a claim."""
    burst = _job("", {"spec": {}}, completions=2, parallelism=2)
    burst["metadata"] = {"generateName": "burst"}
    burst["spec"]["template"]["spec"] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "priorityClassName": "high-priority",
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {GPU: 4}}}],
    }
    # As Kubeflow's own SDK writes it.
    amounts = {"limits": {GPU: "2"}, "requests": {GPU: "2"}}
    role = {
        "metadata": {"annotations": {"sidecar.istio.io/inject": "false"}},
        "spec": {"containers": [{"name": "pytorch", "image": "i", "resources": amounts}]},
    }
    mnist = pytorch_job("mnist", Master=role, Worker=(1, copy.deepcopy(role)))
    mnist["spec"] |= {"nprocPerNode": "2", "runPolicy": {"suspend": False}}
    return {
        "generated names": manifest(burst, generateName="burst", labels=dict(QUEUE)),
        "kubeflow's sdk": manifest(mnist, name="mnist", labels=dict(QUEUE)),
        "a server beside a load generator": manifest(_inference(), name="inference"),
        "a ray cluster without bounds": manifest(_tuning(), name="tuning"),
        "a claim": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "claim"},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "50Gi"}},
                "storageClassName": "nfs-client",
            },
        },
    }


def _inference() -> JsonObject:
    one = {"cpu": 4, "memory": "64Gi", GPU: 1}
    mounts = [{"name": "cache", "mountPath": "/.cache"}, {"name": "config", "mountPath": "/.c"}]
    server = {
        "name": "vllm",
        "image": "i",
        "ports": [{"containerPort": 8000}],
        "resources": {"requests": one, "limits": one},
        "volumeMounts": mounts,
    }
    load = {"name": "load-generator", "image": "i", "volumeMounts": mounts}
    template = _template()
    template["metadata"] = {"labels": {"app": "inference"}}
    template["spec"]["containers"] = [server, load]
    template["spec"]["volumes"] = [
        {"name": "cache", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "config", "emptyDir": {}},
    ]
    return _job("inference", template)


def _tuning() -> JsonObject:
    """Builds a RayCluster without minReplicas and maxReplicas; a GPU for head and each worker."""

    def group(container: str) -> JsonObject:
        amounts = {"cpu": "16", "memory": "256G", GPU: "1"}
        template = _template(container)
        template["metadata"] = {}
        template["spec"]["containers"][0]["resources"] = {"limits": amounts, "requests": amounts}
        start = {"block": "true", "num-gpus": "1", "resources": '"{}"'}
        return {"rayStartParams": start, "template": template}

    workers = {"groupName": "small", "replicas": 7, "scaleStrategy": {}, **group("worker")}
    head = {"enableIngress": False, "serviceType": "ClusterIP", **group("ray-head")}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "tuning"},
        "spec": {"rayVersion": "2.35.0", "headGroupSpec": head, "workerGroupSpecs": [workers]},
    }


def _generated() -> dict[str, JsonObject]:
    """Builds the generator's output: with every option, with none, and with options in own files.

    It writes `nvidia.com/gpu: 0` and `nvidia.com/roce_gdr: 0` for pods without them, empty lists,
    and periods in days.
    """
    least = _one_pod({"cpu": 1, "memory": "1Gi", GPU: 0, ROCE: 0})
    rdma = training()
    for role in rdma["spec"]["components"][0]["template"]["spec"]["pytorchReplicaSpecs"].values():
        (container,) = role["template"]["spec"]["containers"]
        amounts = {"cpu": 8, "memory": "64Gi", GPU: 8, ROCE: 2}
        container["resources"] = {"requests": amounts, "limits": amounts}
    days = copy.deepcopy(least)
    days["metadata"]["annotations"][f"{_PREFIX}successTTLDuration"] = "7d"
    days["metadata"]["annotations"][f"{_PREFIX}retryLimit"] = "0"
    return {
        "every option of the generator": training(),
        "no option of the generator": least,
        "rdma": rdma,
        "days": days,
        "sakkara": _for_sakkara(),
    }


def _one_pod(amounts: JsonObject) -> JsonObject:
    """Builds a PyTorchJob with only a Master."""
    container = {
        "name": "pytorch",
        "image": "i",
        "imagePullPolicy": "IfNotPresent",
        "env": [],
        "volumeMounts": [],
        "resources": {"requests": amounts, "limits": amounts},
        "command": ["sh", "-c", "torchrun main.py"],
    }
    keep_off = {"key": HEALTH, "operator": "NotIn", "values": ["ERR", "TESTING", "EVICT"]}
    terms = [{"matchExpressions": [keep_off]}]
    spec = {
        "imagePullSecrets": [],
        "priorityClassName": "default-priority",
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}},
        "volumes": [],
        "containers": [container],
    }
    job = pytorch_job("least", "Never", Master={"spec": spec})
    return manifest(job, name="least", labels=dict(QUEUE), annotations={GENERATOR: "1.1.12"})


def _for_sakkara() -> JsonObject:
    made = _one_pod({"cpu": "500m", "memory": "1Gi", GPU: 8, ROCE: 0})
    inner = made["spec"]["components"][0]["template"]
    role = inner["spec"]["pytorchReplicaSpecs"]["Master"]
    group = {"sakkara.group.name": "my-group"}
    for labelled in (made, inner):
        labelled["metadata"]["labels"] = {**labelled["metadata"].get("labels", {}), **group}
    role["template"]["metadata"] = {"labels": group}
    role["template"]["spec"]["schedulerName"] = "sakkara"
    rank = {"fieldRef": {"fieldPath": "metadata.labels['sakkara.member.rank']"}}
    role["template"]["spec"]["containers"][0]["env"] = [{"name": "SAKKARA_RANK", "valueFrom": rank}]
    return made
