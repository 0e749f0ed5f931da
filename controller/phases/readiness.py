"""PodsReady: as many pods run, or ended well, as the AppWrapper has."""

from datetime import datetime

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.deadlines import ZERO
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.flapping import not_ready_for
from controller.phases.periods import BEGIN, begin_anew
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_PODS_READY


def is_ready(snapshot: Snapshot) -> bool:
    """As many pods run or succeeded as there should be."""
    return snapshot.pods.ready >= snapshot.pods.expected


def report_readiness(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, *, bad_news: bool = False
) -> Actions:
    """PodsReady if it changed, with the periods that depend on it.

    They are cleared together with PodsReady, which costs no write of its own. With `bad_news`
    something bad is told anyhow, so that this may be told with it.
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
    if not was_ready:
        return begin_anew(snapshot, now, config)
    if not bad_news and not_ready_for(snapshot, now, config) > ZERO:
        return ()
    return (
        SetCondition(
            CONDITION_PODS_READY, False, Reason.INSUFFICIENT_PODS_READY, crash_loops(snapshot)
        ),
        *BEGIN,
        *(() if bad_news else (StartTimer(Timer.UNREADY),)),
    )


def crash_loops(snapshot: Snapshot) -> str:
    """Says what can be seen nowhere else: such pods are in phase Running. May be empty."""
    match snapshot.pods.unstable:
        case 0:
            return ""
        case 1:
            return "1 pod crashes again and again"
        case unstable:
            return f"{unstable} pods crash again and again"
