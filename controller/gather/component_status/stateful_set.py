"""apps/v1 StatefulSet."""

from controller.gather.component_status.report import UNFINISHED, Report
from shared.api.json import JsonObject


def stateful_set_report(item: JsonObject) -> Report:
    """It never ends: it serves until it is deleted, and its controller never gives up.

    It sets no condition. What its pods do not show is why the next of them is not made: unless told
    otherwise it makes one after the other, and waits until all before are ready.
    """
    spec, status = item.get("spec") or {}, item.get("status") or {}
    wanted = 1 if (replicas := spec.get("replicas")) is None else replicas
    made = status.get("replicas") or 0
    ready = status.get("readyReplicas") or 0
    if spec.get("podManagementPolicy") == "Parallel" or made >= wanted or ready >= made:
        return UNFINISHED
    return Report(
        message=f"{ready} of the {made} pods that it made are ready, and the next waits for them"
    )
