"""An AppWrapper as Kueue's integration reads and writes it.

Facts of Kueue 0.19.2: pkg/controller/jobs/appwrapper/appwrapper_controller.go, and of the library
of the Go operator 1.2.2 that it calls (pkg/utils/utils.go).
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.api.conditions import is_true
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    LABEL_MAX_EXEC_TIME,
    LABEL_QUEUE_NAME,
)
from shared.api.objects import APPWRAPPERS, JsonObject, label
from shared.kinds.kind import PodSetPathError, template_at
from shared.kinds.table import component_pod_sets
from shared.waits.workload import ADMITTED, LABEL_OWNER, WORKLOADS
from tests.simulation.actors.kueue.workloads import (
    FINALIZER,
    PODS_READY,
    Reason,
    conditions,
    has,
    name_of,
    reason,
)

_LABEL_PRIORITY: Final = "kueue.x-k8s.io/priority-class"
_NOT_READY: Final = "Not all pods are ready or succeeded"
_RECOVERING: Final = "At least one pod has failed, waiting for recovery"
_READY: Final = "All pods reached readiness and the workload is running"

# The fields that Kueue's Go types know. Others are lost when Kueue rewrites a component.
_COMPONENT: Final = ("annotations", "podSets", "podSetInfos", "template")
_POD_SET: Final = ("replicas", "path", "annotations")
_INFO: Final = ("annotations", "labels", "nodeSelector", "tolerations", "schedulingGates")


class PodSetInfoMismatch(Exception):
    """The numbers of pod sets and of assignments differ. Kueue never tries again."""


def queue_of(appwrapper: JsonObject) -> str:
    return label(appwrapper, LABEL_QUEUE_NAME) or ""


def is_suspended(appwrapper: JsonObject) -> bool:
    return appwrapper["spec"].get("suspend") is True


def holds_resources(appwrapper: JsonObject) -> bool:
    """True if the AppWrapper reports QuotaReserved: Kueue then regards it as active."""
    return is_true(conditions(appwrapper), CONDITION_QUOTA_RESERVED)


def are_pods_ready(appwrapper: JsonObject) -> bool:
    return is_true(conditions(appwrapper), CONDITION_PODS_READY)


def end_of(appwrapper: JsonObject) -> tuple[str, str] | None:
    """Return reason and message of the end; None while it may still use its quota.

    A failed AppWrapper has ended only when it reports that its resources are gone.
    """
    match (appwrapper.get("status") or {}).get("phase"):
        case "Succeeded":
            return "Succeeded", "AppWrapper finished successfully"
        case "Failed" if not is_true(conditions(appwrapper), CONDITION_RESOURCES_DEPLOYED):
            return "Failed", "AppWrapper failed"
    return None


def longest_time(appwrapper: JsonObject) -> int | None:
    """Return the label's number of seconds."""
    text = label(appwrapper, LABEL_MAX_EXEC_TIME)
    return int(text) if text else None


def _declared(appwrapper: JsonObject) -> list[list[JsonObject]]:
    """Return the pod sets of each component: from the status once it is complete, else inferred."""
    components = appwrapper["spec"]["components"]
    recorded = (appwrapper.get("status") or {}).get("componentStatus") or []
    if len(recorded) == len(components):
        return [each.get("podSets") or [] for each in recorded]
    return [[one.as_json() for one in component_pod_sets(each)] for each in components]


def pod_sets_of(appwrapper: JsonObject) -> list[JsonObject]:
    """Return the Workload's pod sets, reduced to what admission and comparison read."""
    found: list[JsonObject] = []
    components = appwrapper["spec"]["components"]
    for component, declared in zip(components, _declared(appwrapper), strict=True):
        for each in declared:
            try:
                template = template_at(component["template"], each["path"])
            except PodSetPathError:
                continue
            name = f"{appwrapper['metadata']['name']}-{len(found)}".lower()
            count = each["replicas"] if each.get("replicas") is not None else 1
            found.append({"name": name, "count": count, "template": _reduced(template)})
    return found


def _reduced(template: JsonObject) -> JsonObject:
    spec, found = template["spec"], {}
    for field in ("initContainers", "containers"):
        if spec.get(field):
            found[field] = [
                {key: each[key] for key in ("name", "image", "resources") if key in each}
                for each in spec[field]
            ]
    if spec.get("priorityClassName"):
        found["priorityClassName"] = spec["priorityClassName"]
    return {"spec": found}


def start(appwrapper: JsonObject, infos: list[JsonObject]) -> None:
    """Unsuspend it, and write one assignment for each pod set. Raise PodSetInfoMismatch.

    Go leaves a false `suspend` out, so the merge patch removes the field. The array of components
    is patched as a whole.
    """
    declared = _declared(appwrapper)
    wanted = sum(len(each) for each in declared)
    if wanted != len(infos):
        raise PodSetInfoMismatch(f"expecting {wanted} podsets, got {len(infos)}")
    rest = iter(infos)
    for component, pod_sets in zip(appwrapper["spec"]["components"], declared, strict=True):
        component["podSetInfos"] = [_known(next(rest), _INFO) for _ in pod_sets]
    _rewrite(appwrapper)
    appwrapper["spec"].pop("suspend", None)


def stop(appwrapper: JsonObject, *, restore: bool) -> None:
    """Suspend it. `restore`: remove the assignments too; without a Workload Kueue leaves them."""
    appwrapper["spec"]["suspend"] = True
    if restore and any(each.get("podSetInfos") for each in appwrapper["spec"]["components"]):
        for each in appwrapper["spec"]["components"]:
            each.pop("podSetInfos", None)
        _rewrite(appwrapper)


def _rewrite(appwrapper: JsonObject) -> None:
    """Write the components as Kueue's Go types render them: unknown and empty fields are gone."""
    spec: dict[str, Any] = appwrapper["spec"]
    spec["components"] = [_rendered(each) for each in spec["components"]]


def _rendered(component: JsonObject) -> JsonObject:
    found = _known(component, _COMPONENT)
    if "podSets" in found:
        found["podSets"] = [_known(each, _POD_SET) for each in found["podSets"]]
    return found


def _known(item: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    empty: tuple[object, ...] = (None, {}, [])
    return {field: item[field] for field in fields if item.get(field) not in empty}


def new_workload(appwrapper: JsonObject, priorities: Mapping[str, int]) -> JsonObject:
    """Return the Workload that Kueue makes. `priorities`: the classes of workloads and of pods."""
    metadata = appwrapper["metadata"]
    pod_sets = pod_sets_of(appwrapper)
    classes = [each["template"]["spec"].get("priorityClassName") for each in pod_sets]
    priority = label(appwrapper, _LABEL_PRIORITY) or next(filter(None, classes), "")
    spec: JsonObject = {
        "queueName": queue_of(appwrapper),
        "podSets": pod_sets,
        "priority": priorities.get(priority, 0),
        "active": True,
    }
    if (longest := longest_time(appwrapper)) is not None:
        spec["maximumExecutionTimeSeconds"] = longest
    owner = {
        "apiVersion": APPWRAPPERS.gvk.api_version,
        "kind": APPWRAPPERS.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": WORKLOADS.gvk.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": name_of(appwrapper),
            "namespace": metadata["namespace"],
            "labels": {LABEL_OWNER: metadata["uid"]},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def pods_condition(appwrapper: JsonObject, workload: JsonObject) -> tuple[bool, str, str]:
    """Return status, reason and message of PodsReady (generatePodsReadyCondition)."""
    if not has(workload, ADMITTED):
        return False, Reason.WAIT_FOR_START, _NOT_READY
    once = reason(workload, PODS_READY)
    before = once or reason(workload, PODS_READY, "False")
    if are_pods_ready(appwrapper):
        recovered = before in (Reason.WAIT_FOR_RECOVERY, Reason.RECOVERED)
        return True, Reason.RECOVERED if recovered else Reason.STARTED, _READY
    if once or before == Reason.WAIT_FOR_RECOVERY:
        return False, Reason.WAIT_FOR_RECOVERY, _RECOVERING
    return False, Reason.WAIT_FOR_START, _NOT_READY
