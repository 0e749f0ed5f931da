"""Reduces a generated AppWrapper to facts, which golden files compare with the chart's.

Values that are equal for Kubernetes are equal here: empty lists and absent ones, 4 and "4", 1Gi and
1024Mi. The script counts by its commands, not by its output.
"""

import shlex
from typing import Any

from shared.api.objects import JsonObject
from shared.api.quantities import parse_quantity

VERSION = "workload.codeflare.dev.mlbatch/pytorchGeneratorVersion"


def facts(appwrapper: JsonObject) -> JsonObject:
    """Returns the facts, without empty values."""
    metadata = appwrapper["metadata"]
    (component,) = appwrapper["spec"]["components"]
    job = component["template"]
    replicas = job["spec"]["pytorchReplicaSpecs"]
    templates = [each["template"] for each in replicas.values()]
    assert all(each == templates[0] for each in templates)
    assert len({each["restartPolicy"] for each in replicas.values()}) == 1
    assert job["metadata"]["name"] == metadata["name"]
    annotations = dict(metadata["annotations"])
    assert annotations.pop(VERSION)
    return _present(
        {
            "name": metadata["name"],
            "namespace": metadata.get("namespace"),
            "annotations": {key.split("/")[1]: text for key, text in annotations.items()},
            "labels": metadata.get("labels"),
            "jobLabels": job["metadata"].get("labels"),
            "replicas": {role: each["replicas"] for role, each in replicas.items()},
            "restartPolicy": replicas["Master"]["restartPolicy"],
            **_pod(templates[0]),
        }
    )


def _pod(template: JsonObject) -> JsonObject:
    metadata, spec = template.get("metadata") or {}, template["spec"]
    (container,) = spec["containers"]
    assert container["name"] == "pytorch"
    assert container["command"][:2] == ["sh", "-c"]
    return {
        "podLabels": metadata.get("labels"),
        "podAnnotations": metadata.get("annotations"),
        "account": spec.get("serviceAccountName"),
        "pullSecrets": [each["name"] for each in spec.get("imagePullSecrets") or []],
        "init": [
            " ".join([each["name"], each["image"], *each["command"]])
            for each in spec.get("initContainers") or []
        ],
        "graceSeconds": spec.get("terminationGracePeriodSeconds"),
        "scheduler": spec.get("schedulerName"),
        "priority": spec["priorityClassName"],
        "avoids": _avoided(spec.get("affinity") or {}),
        "volumes": {each["name"]: _volume(each) for each in spec.get("volumes") or []},
        "image": container["image"],
        "pull": container["imagePullPolicy"],
        "capabilities": (container.get("securityContext") or {}).get("capabilities", {}).get("add"),
        "envFrom": container.get("envFrom"),
        "env": [_variable(each) for each in container.get("env") or []],
        "mounts": {each["name"]: _mount(each) for each in container.get("volumeMounts") or []},
        "requests": _amounts(container["resources"]["requests"]),
        "limits": _amounts(container["resources"]["limits"]),
        **_script(container["command"][2]),
    }


def _avoided(affinity: JsonObject) -> JsonObject:
    if not affinity:
        return {}
    required = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert {each["operator"] for each in term["matchExpressions"]} == {"NotIn"}
    return {each["key"]: each["values"] for each in term["matchExpressions"]}


def _volume(volume: JsonObject) -> JsonObject:
    return {key: value for key, value in volume.items() if key != "name"}


def _mount(mount: JsonObject) -> str:
    return str(mount["mountPath"]) + (" (read-only)" if mount.get("readOnly") else "")


def _variable(each: JsonObject) -> Any:
    return {each["name"]: each["value"] if "value" in each else each["valueFrom"]}


def _amounts(amounts: JsonObject) -> JsonObject:
    return {name: f"{parse_quantity(amount):f}" for name, amount in amounts.items()}


def _script(text: str) -> JsonObject:
    """Returns the user's commands, torchrun's arguments, and the generator's additions."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "echo "))]
    setup = [line for line in lines if not line.startswith(("torchrun ", "export RANK=", "set "))]
    torchrun = [shlex.split(line)[1:] for line in lines if line.startswith("torchrun ")]
    return {
        "setup": setup,
        "torchrun": torchrun[0] if torchrun else [],
        "takesRankOfSakkara": any(line.startswith("export RANK=") for line in lines) or None,
        "stopsAtFailure": "set -e" in lines or None,
    }


def _present(given: JsonObject) -> JsonObject:
    return {name: value for name, value in given.items() if value not in (None, {}, [])}
