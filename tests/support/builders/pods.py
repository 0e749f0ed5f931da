"""Builds Pods and pod templates that simulated kubelets act out."""

from collections.abc import Mapping

from shared.api.json import JsonObject

SIMULATION = "simulation.localcluster.dev/"


def pod_template(labels: Mapping[str, str] | None = None, /, **simulation: str) -> JsonObject:
    """A pod template whose pods do what `simulation` says (`run_for="1s"`)."""
    return {
        "metadata": {
            "labels": dict(labels or {}),
            "annotations": {
                SIMULATION + key.replace("_", "-"): value for key, value in simulation.items()
            },
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
            ],
        },
    }


def pod(name: str, **simulation: str) -> JsonObject:
    """A Pod."""
    template = pod_template(**simulation)
    template["metadata"]["name"] = name
    return {"apiVersion": "v1", "kind": "Pod", **template}
