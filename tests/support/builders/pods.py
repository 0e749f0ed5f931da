"""Builds Pods and pod templates for simulated kubelets."""

from collections.abc import Mapping, Sequence

from shared.api.objects import JsonObject

SIMULATION = "simulation.localcluster.dev/"


def pod_template(
    labels: Mapping[str, str] | None = None, /, *, container: str = "main", **simulation: str
) -> JsonObject:
    """Builds a template whose pods act out `simulation` (`run_for="1s"`)."""
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
                {"name": container, "image": "none", "resources": {"requests": {"cpu": "100m"}}}
            ],
        },
    }


def pod_of(template: JsonObject, **metadata: object) -> JsonObject:
    """Builds a Pod of a template; `metadata` replaces fields of the template's."""
    described = {**template.get("metadata", {}), **metadata}
    return {"apiVersion": "v1", "kind": "Pod", **template, "metadata": described}


def pod(name: str, **simulation: str) -> JsonObject:
    """Builds a Pod of one container."""
    return pod_of(pod_template(**simulation), name=name)


def pod_of_containers(
    name: str,
    namespace: str,
    annotations: Mapping[str, str] | None = None,
    *,
    restart_policy: str = "Never",
    containers: Sequence[JsonObject] = ({"name": "main", "image": "trainer:1"},),
    init_containers: Sequence[JsonObject] = (),
    labels: Mapping[str, str] | None = None,
) -> JsonObject:
    """Builds a Pod of these containers; the keys of `annotations` are without their prefix."""
    spec = {"restartPolicy": restart_policy, "containers": list(containers)}
    if init_containers:
        spec["initContainers"] = list(init_containers)
    simulation = {SIMULATION + key: value for key, value in (annotations or {}).items()}
    return pod_of(
        {"spec": spec},
        name=name,
        namespace=namespace,
        labels=dict(labels or {}),
        annotations=simulation,
    )
