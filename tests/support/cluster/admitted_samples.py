"""Computes a sample's spec after admission."""

import copy
import json
from typing import Any

import pytest

from shared.api.objects import JsonObject
from tests.support.builders.autopilot import HEALTH

NAME = "workload.codeflare.dev/appwrapper"
USER, USERID = "workload.codeflare.dev/user", "workload.codeflare.dev/userid"
QUEUE = "kueue.x-k8s.io/queue-name"
DIGEST = "workload.codeflare.dev.appwrapper/submitted-digest"
COSCHEDULER = "scheduler-plugins-scheduler"
# Keeps a GPU pod off nodes that Autopilot reports as unfit.
AWAY_FROM_BAD_GPUS = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": HEALTH, "operator": "NotIn", "values": ["ERR", "TESTING", "EVICT"]}
                    ]
                }
            ]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 50,
                "preference": {
                    "matchExpressions": [{"key": HEALTH, "operator": "NotIn", "values": ["WARN"]}]
                },
            }
        ],
    }
}


def pod_templates(template: JsonObject) -> list[JsonObject]:
    """Returns the pod templates of the samples' Kinds, without the product's own table."""
    match template["kind"]:
        case "Pod":
            return [template]
        case "Job" | "Deployment" | "StatefulSet":
            return [template["spec"]["template"]]
        case "PyTorchJob":
            return [each["template"] for each in template["spec"]["pytorchReplicaSpecs"].values()]
        case "PodGroup" | "Service" | "ConfigMap" | "PersistentVolumeClaim" | "TrainJob":
            return []
        case "JobSet" | "TrainingRuntime":
            jobs = template["spec"].get("template", template)["spec"]["replicatedJobs"]
            return [each["template"]["spec"]["template"] for each in jobs]
        case "MPIJob":
            return [each["template"] for each in template["spec"]["mpiReplicaSpecs"].values()]
        case "LeaderWorkerSet":
            return [template["spec"]["leaderWorkerTemplate"]["workerTemplate"]]
        case "RayCluster" | "RayJob":
            spec = template["spec"].get("rayClusterSpec", template["spec"])
            groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
            return [each["template"] for each in groups]
        case kind:
            pytest.fail(f"a sample wraps a {kind}: say where its pods are")


_TAS = "workload.codeflare.dev.appwrapper/tas"
# The pod sets that the webhook writes: Kueue does not infer them for these Kinds.
_DECLARED: dict[str, list[JsonObject]] = {
    "MPIJob": [
        {"path": "template.spec.mpiReplicaSpecs.Launcher.template", "replicas": 1},
        {"path": "template.spec.mpiReplicaSpecs.Worker.template", "replicas": 2},
    ],
    "TrainingRuntime": [
        {
            "path": "template.spec.template.spec.replicatedJobs[0].template.spec.template",
            "replicas": 2,
            "annotations": {
                f"{_TAS}-pod-index-label": "batch.kubernetes.io/job-completion-index",
                f"{_TAS}-sub-group-index-label": "jobset.sigs.k8s.io/job-index",
                f"{_TAS}-sub-group-count": "1",
            },
        }
    ],
    "LeaderWorkerSet": [
        {"path": "template.spec.leaderWorkerTemplate.workerTemplate", "replicas": 6}
    ],
}


def asks_for_gpus(pod_template: JsonObject) -> bool:
    return "nvidia.com/gpu" in json.dumps(pod_template["spec"]["containers"])


def as_admitted(file: JsonObject, scheduler: str | None = COSCHEDULER) -> JsonObject:
    """Returns the sample's spec with all additions of admission except the digest; suspended.

    `scheduler` is the scheduler in the operator's configuration.
    """
    spec: dict[str, Any] = copy.deepcopy(file["spec"])
    for component in spec["components"]:
        if pod_sets := _DECLARED.get(component["template"]["kind"]):
            component["podSets"] = pod_sets
        for pod_template in pod_templates(component["template"]):
            labels = pod_template.setdefault("metadata", {}).setdefault("labels", {})
            labels[NAME] = file["metadata"]["name"]
            if scheduler is not None:
                pod_template["spec"].setdefault("schedulerName", scheduler)
            if asks_for_gpus(pod_template):
                pod_template["spec"]["affinity"] = AWAY_FROM_BAD_GPUS
    return {**spec, "suspend": True}
