"""Objects that an operator makes for another object, and their ownership."""

from collections.abc import Mapping
from typing import Any

from shared.api.objects import JsonObject, Resource
from tests.simulation.actors.objects import owner_uid
from tests.simulation.api.store import Store, copied


def owner_reference(resource: Resource, owner: JsonObject) -> JsonObject:
    """Return the reference of the controlling owner."""
    return {
        "apiVersion": resource.gvk.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def from_template(
    template: JsonObject,
    resource: Resource,
    owner: JsonObject,
    labels: Mapping[str, str],
    **metadata: Any,
) -> JsonObject:
    """Return the body of a pod, or of another object with metadata and spec, from a template."""
    about = template.get("metadata") or {}
    return {
        "metadata": {
            "labels": {**(about.get("labels") or {}), **labels},
            "annotations": dict(about.get("annotations") or {}),
            "ownerReferences": [owner_reference(resource, owner)],
            **metadata,
        },
        "spec": copied(template["spec"]),
    }


def owned(store: Store, resource: Resource, owner: JsonObject) -> list[JsonObject]:
    """Return the objects that `owner` controls, oldest first."""
    return [
        each
        for each in store.items(resource, owner["metadata"]["namespace"])
        if owner_uid(each) == owner["metadata"]["uid"]
    ]


def restarts(pod: JsonObject) -> int:
    """Return how often the pod's containers restarted."""
    status = pod.get("status") or {}
    every = (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or [])
    return sum(each.get("restartCount") or 0 for each in every)
