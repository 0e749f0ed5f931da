"""What `kubectl apply` of each sample stores: the file, and beside it what admission adds."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from tests.kubectl import Kubectl
from tests.manifests import ROOT, SAMPLES, document

NAME = "workload.codeflare.dev/appwrapper"
USER, USERID = "workload.codeflare.dev/user", "workload.codeflare.dev/userid"
QUEUE = "kueue.x-k8s.io/queue-name"
DIGEST = "workload.codeflare.dev.appwrapper/submitted-digest"
COSCHEDULER = "scheduler-plugins-scheduler"
HEALTH = "autopilot.ibm.com/gpuhealth"
# What keeps a pod that asks for GPUs off nodes that Autopilot calls unfit.
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
FILES = sorted(
    file
    for file in SAMPLES.rglob("*.yaml")
    if document(file)["kind"] == "AppWrapper" and not file.name.startswith("rejected-")
)


def pod_templates(template: JsonObject) -> list[JsonObject]:
    """Written for the samples' Kinds alone, and not with the product's own table."""
    match template["kind"]:
        case "Pod":
            return [template]
        case "Job" | "Deployment" | "StatefulSet":
            return [template["spec"]["template"]]
        case "PyTorchJob":
            return [each["template"] for each in template["spec"]["pytorchReplicaSpecs"].values()]
        case "PodGroup" | "Service":
            return []
        case kind:
            pytest.fail(f"a sample wraps a {kind}: say where its pods are")


def asks_for_gpus(pod_template: JsonObject) -> bool:
    return "nvidia.com/gpu" in json.dumps(pod_template["spec"]["containers"])


def as_admitted(file: JsonObject, scheduler: str | None = COSCHEDULER) -> JsonObject:
    """The sample's spec with all that admission adds, the digest left out; Kueue suspends it.

    `scheduler` is the one that the operator's configuration names.
    """
    spec: dict[str, Any] = copy.deepcopy(file["spec"])
    for component in spec["components"]:
        for pod_template in pod_templates(component["template"]):
            labels = pod_template.setdefault("metadata", {}).setdefault("labels", {})
            labels[NAME] = file["metadata"]["name"]
            if scheduler is not None:
                pod_template["spec"].setdefault("schedulerName", scheduler)
            if asks_for_gpus(pod_template):
                pod_template["spec"]["affinity"] = AWAY_FROM_BAD_GPUS
    return {**spec, "suspend": True}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_a_sample_is_stored_with_what_admission_adds(
    cluster: LocalCluster, file: Path
) -> None:
    if "coscheduler" not in cluster.options.components:
        pytest.skip("needs --with training-operator,coscheduler, whose scheduler is injected")
    kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
    who = json.loads(await kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    path = str(file.relative_to(ROOT))
    sample = document(file)
    team = ["-n", sample["metadata"].get("namespace", "team1")]

    stored = json.loads(await kubectl("apply", "--dry-run=server", "-o", "json", "-f", path, *team))

    digests = [each.pop("annotations", {}).pop(DIGEST) for each in stored["spec"]["components"]]
    assert stored["spec"] == as_admitted(sample)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    assert stored["metadata"]["labels"] == {
        QUEUE: "default-queue",
        USER: who["username"],
        USERID: who.get("uid", ""),
        **sample["metadata"].get("labels", {}),
    }
