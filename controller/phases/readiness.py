"""PodsReady: as many pods run, or ended well, as the AppWrapper has."""

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_PODS_READY


def is_ready(snapshot: Snapshot) -> bool:
    """As many pods run or succeeded as there should be."""
    return snapshot.pods.ready >= snapshot.pods.expected


def report_readiness(snapshot: Snapshot) -> Actions:
    """PodsReady if it changed, with the periods that depend on it.

    A fall below the expected count starts both periods anew, so that a replaced pod gets its whole
    warm-up; so does a period whose start is not known (an AppWrapper that was taken over). They are
    cleared together with PodsReady, which costs no write of its own.
    """
    was_ready = CONDITION_PODS_READY in snapshot.conditions
    if is_ready(snapshot):
        if was_ready:
            return ()
        return (
            SetCondition(CONDITION_PODS_READY, True, Reason.SUFFICIENT_PODS_READY),
            ClearTimer(Timer.ADMISSION),
            ClearTimer(Timer.WARMUP),
        )
    fallen = (
        (SetCondition(CONDITION_PODS_READY, False, Reason.INSUFFICIENT_PODS_READY),)
        if was_ready
        else ()
    )
    if was_ready or snapshot.timers.warmup is None or snapshot.timers.admission is None:
        return (*fallen, StartTimer(Timer.ADMISSION), StartTimer(Timer.WARMUP))
    return ()
