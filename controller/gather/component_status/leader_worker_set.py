"""leaderworkerset.x-k8s.io/v1 LeaderWorkerSet."""

from controller.gather.component_status.report import (
    UNFINISHED,
    Report,
    conditions_of,
    words_of,
)
from shared.api.conditions import condition
from shared.api.json import JsonObject


def leader_worker_set_report(item: JsonObject) -> Report:
    """It never ends: it serves until it is deleted, and its controller never gives up.

    A group that fails is made anew as a whole. Until all groups are there Available is False, which
    says no more than that, so the number of groups is told: pods do not show to which they belong.
    """
    status = item.get("status") or {}
    conditions = conditions_of(status)
    available = condition(conditions, "Available")
    if available is None or available.get("status") == "True":
        return UNFINISHED
    spec = item.get("spec") or {}
    wanted = 1 if (replicas := spec.get("replicas")) is None else replicas
    groups = f"{status.get('readyReplicas') or 0} of {wanted} groups are ready"
    why = "Available is False" if not available.get("reason") else words_of(conditions, "Available")
    return Report(message=f"{why} ({groups})")
