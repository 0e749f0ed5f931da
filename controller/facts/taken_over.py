"""When a period began under another operator: its conditions show it, as it keeps no timers.

The controller writes a condition and its timer together. If the status has a timer, periods
without a timer do not run: between the stages of a JobSet PodsReady is False without a period.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from controller.phases.phase import Phase
from controller.phases.snapshot import Timers
from controller.phases.timers import unless_ahead
from controller.reports.reason import Reason
from shared.api.conditions import condition, transition_time
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.api.objects import JsonObject

_DELETION_PAUSED: Final = "DeletionPaused"  # the Go operator's, while it waits in Failed


def as_taken_over(
    timers: Timers, phase: Phase, conditions: Sequence[JsonObject], now: datetime
) -> Timers:
    """Return the timers; without any, those that the conditions imply."""
    if timers != Timers():
        return timers
    implied = {
        name: began
        for name, began in _implied_by_conditions(phase, conditions).items()
        if unless_ahead(began, now) is not None
    }
    return Timers(**implied)


def _implied_by_conditions(
    phase: Phase, conditions: Sequence[JsonObject]
) -> dict[str, datetime | None]:
    def since(kind: str, status: str, reason: str = "") -> datetime | None:
        found = condition(conditions, kind) or {}
        right = found.get("status") == status and reason in ("", found.get("reason"))
        return transition_time(conditions, kind) if right else None

    deletion = {"forceful_deletion": since(CONDITION_DELETING_RESOURCES, "True")}
    deployed = since(CONDITION_RESOURCES_DEPLOYED, "True")
    match phase:
        case Phase.RESUMING:
            return {"admission": deployed, "warmup": deployed}
        case Phase.RUNNING:
            unready = since(CONDITION_PODS_READY, "False")
            # If pods were lost since, the periods begin then. While pods are ready none runs.
            begins = max(deployed, unready) if deployed and unready else None
            failure = since(CONDITION_UNHEALTHY, "True", Reason.FAILED_PODS)
            return {"admission": begins, "warmup": begins, "failure": failure}
        case Phase.RESETTING:
            # All was gone then, which is when this controller's pause begins.
            return {**deletion, "retry_pause": since(CONDITION_RESOURCES_DEPLOYED, "False")}
        case Phase.FAILED:
            # The first may be of an earlier attempt: the Go operator does not update it.
            paused = since(CONDITION_DELETING_RESOURCES, "False", _DELETION_PAUSED)
            failed = since(CONDITION_UNHEALTHY, "True")
            begins = max(paused, failed) if paused and failed else paused
            return {**deletion, "deletion_on_failure": begins}
        case Phase.SUCCEEDED:
            # The quota was released at the success. The Go operator counts from the deployment.
            released = since(CONDITION_QUOTA_RESERVED, "False", Reason.SUCCEEDED)
            return {**deletion, "success": released or deployed}
        case Phase.SUSPENDING | Phase.TERMINATING:
            return {**deletion}
    return {}
