"""Read Kueue's evictions from an AppWrapper's Workloads. Pure."""

from collections.abc import Iterable
from typing import Any, Final

from controller.phases.snapshot import PodsReadyEviction
from shared.api.conditions import condition
from shared.api.objects import JsonObject
from shared.waits.workload import EVICTED

_PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
# After as many evictions as `requeuingStrategy.backoffLimitCount` allows. Kueue sets the
# Workload's spec.active to false, and never queues this Workload again (`gave_up`).
_GIVEN_UP: Final = "DeactivatedDueToRequeuingLimitExceeded"


def pods_ready_eviction(workloads: Iterable[JsonObject]) -> PodsReadyEviction | None:
    """Return the eviction in force among one AppWrapper's Workloads; None for other reasons.

    Kueue resets the condition at the next admission. Its statistics hold the counts, by reason
    and by the pods that were late (at the first start, or at a recovery).
    """
    for workload in workloads:
        status: dict[str, Any] = workload.get("status") or {}
        evicted = condition(status.get("conditions") or [], EVICTED)
        if not evicted or evicted.get("status") != "True":
            continue
        if evicted.get("reason") not in (_PODS_READY_TIMEOUT, _GIVEN_UP):
            continue
        count = sum(
            each.get("count") or 0
            for each in (status.get("schedulingStats") or {}).get("evictions") or ()
            if each.get("reason") == _PODS_READY_TIMEOUT
        )
        given_up = evicted["reason"] == _GIVEN_UP
        return PodsReadyEviction(workload["metadata"]["name"], count or 1, given_up)
    return None
