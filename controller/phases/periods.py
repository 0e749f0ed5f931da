"""The admission and the warm-up period of the pods of a deployed AppWrapper.

They begin at Resuming, and anew whenever the count of existing pods falls below the expected one,
so that a pod that is replaced gets its whole warm-up. While PodsReady is True they do not run.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, StartTimer, Timer
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_PODS_READY

BEGIN: Final[Actions] = (StartTimer(Timer.ADMISSION), StartTimer(Timer.WARMUP))


def begin_anew(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Their beginning, where it is due: it was not known, or pods were lost meanwhile."""
    unknown = snapshot.timers.admission is None or snapshot.timers.warmup is None
    if unknown or (snapshot.pods_fell and _too_soon_for(snapshot, now, config) == ZERO):
        return BEGIN
    return ()


def in_force(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The same with the periods that count: they begin now where that is yet to be written."""
    if not snapshot.pods_fell and CONDITION_PODS_READY not in snapshot.conditions:
        return snapshot
    return replace(snapshot, timers=replace(snapshot.timers, admission=now, warmup=now))


def next_deadlines(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> list[timedelta]:
    """When these periods are to be looked at again, of an AppWrapper whose pods are not ready."""
    if snapshot.pods_fell and (left := _too_soon_for(snapshot, now, config)) > ZERO:
        return [left]
    timers = in_force(snapshot, now).timers
    deadlines = [remaining(timers.warmup, config.warmup_grace, now)]
    if snapshot.pods.existing < snapshot.pods.expected:
        deadlines.append(remaining(timers.admission, config.admission_grace, now))
    return deadlines


def _too_soon_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    began = snapshot.timers.admission
    return ZERO if began is None else remaining(began, config.flap_period, now)
