"""Beginning a deployment: the one way into Resuming, for the first attempt and for every retry."""

from controller.phases.actions import (
    Actions,
    AddFinalizer,
    CreateComponents,
    MoveTo,
    PlanDeployment,
    Reason,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.deadlines import ZERO
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)


def deploy(snapshot: Snapshot, reason: Reason) -> Actions:
    """Reserve the quota, write ahead what will be created, and create it.

    QuotaReserved is True no later than the first resource (kueue.md 1.3). Unhealthy is False, since
    it speaks of the current execution only.
    """
    finalizer = () if snapshot.finalizer else (AddFinalizer(),)
    return (
        *finalizer,
        MoveTo(Phase.RESUMING, reason),
        PlanDeployment(),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        SetCondition(CONDITION_QUOTA_RESERVED, True, Reason.RESUMING),
        SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.RESUMING),
        SetCondition(CONDITION_PODS_READY, False, Reason.RESUMING),
        SetCondition(CONDITION_UNHEALTHY, False, Reason.RESUMING),
        CreateComponents(),
        RequeueAfter(ZERO),
    )
