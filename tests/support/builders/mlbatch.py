"""Builds an AppWrapper as MLBatch's generator of PyTorchJobs writes it, with every option used."""

from shared.api.objects import JsonObject
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import QUEUE, manifest
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.jobs import pytorch_job
from tests.support.team import NAMESPACE

NAME = "training"
CUSTOM = {"project": "llm"}
GENERATOR = "workload.codeflare.dev.mlbatch/pytorchGeneratorVersion"


def training() -> JsonObject:
    """Builds one master and three workers of eight GPUs."""
    periods = prefixed(
        admissionGracePeriodDuration="60s",
        warmupGracePeriodDuration="300s",
        failureGracePeriodDuration="60s",
        retryPausePeriodDuration="90s",
        retryLimit="3",
        forcefulDeletionGracePeriodDuration="600s",
        deletionOnFailureGracePeriodDuration="0s",
        successTTLDuration="604800s",
    )
    job = pytorch_job(NAME, "Never", Master=_template(), Worker=(3, _template()))
    job["metadata"]["labels"] = CUSTOM
    return manifest(
        job,
        name=NAME,
        namespace=NAMESPACE,
        labels={**QUEUE, **CUSTOM},
        annotations={GENERATOR: "1.1.12", **periods},
    )


def _template() -> JsonObject:
    return {
        "metadata": {
            "labels": {**CUSTOM, "autopilot": "", "gpu-pcie": ""},
            "annotations": {"k8s.v1.cni.cncf.io/networks": "multi-nic"},
        },
        "spec": {
            "serviceAccountName": "gdr",
            "imagePullSecrets": [{"name": "registry"}],
            "initContainers": [{"name": "init", "image": "i", "command": ["true"]}],
            "terminationGracePeriodSeconds": 0,
            "schedulerName": "scheduler-plugins-scheduler",
            "priorityClassName": "default-priority",
            "affinity": _affinity(),
            "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [_container()],
            "volumes": _volumes(),
        },
    }


def _affinity() -> JsonObject:
    """Builds the generator's affinity, which also excludes hosts that the user names."""
    expressions = [
        {"key": HEALTH, "operator": "NotIn", "values": ["ERR", "TESTING", "EVICT"]},
        {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n1"]},
    ]
    terms = [{"matchExpressions": expressions}]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}


def _container() -> JsonObject:
    amounts = {"cpu": 8, "memory": "64Gi", GPU: 8, "nvidia.com/roce_gdr": 0}
    return {
        "name": "pytorch",
        "image": "i:latest",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "nccl"}}],
        "env": [
            {"name": "EPOCHS", "value": "10"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "URL", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        ],
        "volumeMounts": [
            {"name": "topology", "mountPath": "/var/run/nvidia-topologyd"},
            {"name": "data", "mountPath": "/data"},
            {"name": "ssh", "mountPath": "/tmp/.ssh/keys", "readOnly": True},
            {"name": "scratch", "mountPath": "/workspace/scratch"},
            {"name": "shm", "mountPath": "/dev/shm"},
        ],
        "resources": {"requests": amounts, "limits": amounts},
        "command": ["sh", "-c", "echo hello\ntorchrun --nnodes=${WORLD_SIZE} main.py\n"],
    }


def _volumes() -> list[JsonObject]:
    claim = {
        "storageClassName": "odf-lvm-vg1",
        "volumeMode": "Filesystem",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "100Gi"}},
    }
    return [
        {"name": "topology", "configMap": {"name": "t"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "d"}},
        {"name": "ssh", "secret": {"secretName": "key", "optional": False}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
    ]
