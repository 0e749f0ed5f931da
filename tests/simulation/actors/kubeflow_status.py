"""The status of a PyTorchJob: conditions and counts. Pure.

Facts of the Training Operator 1.9.3: pkg/util/status.go and pkg/core/status.go.
"""

from datetime import datetime
from typing import Final

from shared.api.conditions import condition, is_true
from shared.api.objects import JsonObject, is_being_deleted, label
from shared.api.times import format_time
from tests.simulation.actors.objects import phase_of

ROLE: Final = "training.kubeflow.org/replica-type"
ENDS: Final = ("Succeeded", "Failed")


def put(status: JsonObject, kind: str, value: bool, why: str, text: str, now: datetime) -> None:
    """Set a condition as the kubeflow operators do (setCondition, filterOutCondition).

    After Failed nothing changes. Running and Restarting replace each other. An end sets Running to
    False. A changed condition moves to the end of the list.
    """
    old: list[JsonObject] = status.setdefault("conditions", [])
    if is_true(old, "Failed"):
        return
    wanted = "True" if value else "False"
    current = condition(old, kind)
    if current and (current["status"], current["reason"]) == (wanted, why):
        return
    at = format_time(now)
    since = current["lastTransitionTime"] if current and current["status"] == wanted else at
    replaced = {"Running": "Restarting", "Restarting": "Running"}.get(kind)
    kept = [dict(each) for each in old if each["type"] not in (kind, replaced)]
    for each in kept:
        if kind in ENDS and each["type"] == "Running":
            each["status"] = "False"
    new = {"type": kind, "status": wanted, "reason": why, "message": text}
    status["conditions"] = [*kept, {**new, "lastTransitionTime": since, "lastUpdateTime": at}]


def role_of(pod: JsonObject) -> str:
    return label(pod, ROLE) or ""


def is_of(pod: JsonObject, role: str) -> bool:
    return role_of(pod) == role.lower()


def count(counts: dict[str, int], pod: JsonObject) -> None:
    """Count a pod in the role's status. A running pod that is being deleted counts as failed."""
    field = {"Succeeded": "succeeded", "Failed": "failed"}.get(phase_of(pod))
    if phase_of(pod) == "Running":
        field = "failed" if is_being_deleted(pod) else "active"
    if field:
        counts[field] = counts.get(field, 0) + 1
