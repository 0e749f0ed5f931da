"""Objects reduced to what the controller reads of them, without names, times and versions."""

from typing import Any

from shared.api.objects import NODES, PODS, JsonObject, Resource
from shared.kinds.job import JOBS

_JOB_FIELDS = ("active", "ready", "terminating", "succeeded", "failed", "completedIndexes")


def projected(resource: Resource, item: JsonObject) -> JsonObject:
    """Return the fields that matter, equal for equal states."""
    metadata = item["metadata"]
    status: JsonObject = item.get("status") or {}
    found: dict[str, Any] = {
        "going": "deletionTimestamp" in metadata,
        "finalizers": sorted(metadata.get("finalizers") or ()),
        "owners": [each["uid"] for each in metadata.get("ownerReferences") or ()],
        "conditions": _conditions(resource, status),
    }
    if resource == PODS:
        found |= _pod(item, status)
    elif resource == JOBS:
        found |= _job(status)
    elif resource == NODES:
        spec = item.get("spec") or {}
        taints = [(each["key"], each["effect"]) for each in spec.get("taints") or ()]
        found |= {"taints": sorted(taints), "unschedulable": bool(spec.get("unschedulable"))}
    return found


_CONDITIONS = {
    "Pod": ("PodScheduled", "DisruptionTarget"),
    "Job": ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"),
    "Node": ("Ready",),
}


def _conditions(resource: Resource, status: JsonObject) -> list[tuple[str, str, str]]:
    read = _CONDITIONS.get(resource.kind, ())
    return sorted(
        (each["type"], each["status"], "" if resource == NODES else each.get("reason") or "")
        for each in status.get("conditions") or ()
        if each["type"] in read
    )


def _pod(item: JsonObject, status: JsonObject) -> JsonObject:
    return {
        "labels": _labels(item),
        "node": item["spec"].get("nodeName") or "",
        "grace": item["metadata"].get("deletionGracePeriodSeconds"),
        "phase": status.get("phase") or "Pending",
        "reason": status.get("reason") or "",
        "containers": [_container(each) for each in status.get("containerStatuses") or ()],
    }


def _labels(item: JsonObject) -> JsonObject:
    return dict(sorted((item["metadata"].get("labels") or {}).items()))


def _container(status: JsonObject) -> list[Any]:
    return [status["name"], status["restartCount"], *map(_state, (status, _last(status)))]


def _last(status: JsonObject) -> JsonObject:
    return {"state": status.get("lastState") or {}}


def _state(holder: JsonObject) -> list[Any]:
    """Return the kind of a container's state, with its exit code and reason."""
    for kind, state in (holder.get("state") or {}).items():
        return [kind, (state or {}).get("exitCode"), (state or {}).get("reason") or ""]
    return []


def _job(status: JsonObject) -> JsonObject:
    uncounted = status.get("uncountedTerminatedPods") or {}
    counts = {key: status.get(key) or 0 for key in _JOB_FIELDS}
    return counts | {kind + " uids": sorted(uids) for kind, uids in uncounted.items()}
