"""PodsReady, and how often its bad news is told: pods that come and go do not cost a write each.

Every status write wakes whoever watches, and a pod may change every second. The rule, with two
periods of the configuration:

- Good news is told at once: PodsReady turns True, Unhealthy turns False.
- Bad news is told at most once in flapPeriod, in one write: PodsReady turns False, Unhealthy turns
  True again after it healed, with the periods that these begin. What cannot be told yet is looked
  at again when it can be; what healed until then was no news. The first time in an attempt that
  Unhealthy turns True it waits for nothing.
- Trouble that goes within settlePeriod of its beginning and comes back within it is the same
  trouble, so that "failed", "replaced", "runs" within seconds are not three writes.
- The admission and warm-up periods, which begin anew when pods are lost or more are wanted, do so
  at most once in flapPeriod. Until that is written they count as beginning now (timers.py).
- They end when all pods run that the components want so far, though others are to come: a JobSet
  whose Jobs depend on each other, a StatefulSet that makes one pod after the other.

So a period only ever begins late, by less than flapPeriod, and a reset comes late by no more than
that. No period is cut short, and none begins anew but for a reason. A failure grace period of zero
knows no flapping: then a reset needs no earlier news.
"""

from datetime import datetime, timedelta

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import BEGIN, ZERO, begin_anew, remaining
from shared.api.names import CONDITION_PODS_READY, CONDITION_UNHEALTHY


def not_ready_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """How long it must not yet be told that pods are missing."""
    began = snapshot.timers.unready
    return ZERO if began is None else remaining(began, config.flap_period, now)


def unhealthy_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """How long it must not yet be told that it is unhealthy."""
    said = snapshot.told.get(CONDITION_UNHEALTHY)
    healed = said is not None and said.reason == Reason.NO_FAILED_PODS
    return not_ready_for(snapshot, now, config) if healed else ZERO


def settling_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """How long it must not yet be told that the trouble is over."""
    began = snapshot.timers.failure
    return ZERO if began is None else remaining(began, config.settle_period, now)


def is_ready(snapshot: Snapshot) -> bool:
    """As many pods run or succeeded as there should be."""
    return snapshot.pods.ready >= snapshot.pods.expected


def runs_as_wanted(snapshot: Snapshot) -> bool:
    """As many pods run or succeeded as its components want so far."""
    return snapshot.pods.ready >= snapshot.pods.wanted


def report_readiness(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, *, bad_news: bool = False
) -> Actions:
    """PodsReady: as many pods run, or ended well, as the AppWrapper has.

    It is told if it changed, with the periods that depend on it.

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
        return _periods(snapshot, now, config)
    if not bad_news and not_ready_for(snapshot, now, config) > ZERO:
        return ()
    return (
        SetCondition(
            CONDITION_PODS_READY, False, Reason.INSUFFICIENT_PODS_READY, crash_loops(snapshot)
        ),
        *(() if runs_as_wanted(snapshot) else BEGIN),
        *(() if bad_news else (StartTimer(Timer.UNREADY),)),
    )


def _periods(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Their end while nothing is missing that is wanted so far, and their beginning where it is.

    Stages that follow each other within flapPeriod are not two writes each.
    """
    ended = snapshot.timers.admission is None and snapshot.timers.warmup is None
    if runs_as_wanted(snapshot):
        end = ClearTimer(Timer.ADMISSION), ClearTimer(Timer.WARMUP), StartTimer(Timer.UNREADY)
        return () if ended else end
    if ended and not_ready_for(snapshot, now, config) > ZERO:
        return ()
    return begin_anew(snapshot, now, config)


def crash_loops(snapshot: Snapshot) -> str:
    """Says what can be seen nowhere else: such pods are in phase Running. May be empty."""
    match snapshot.pods.unstable:
        case 0:
            return ""
        case 1:
            return "1 pod crashes again and again"
        case unstable:
            return f"{unstable} pods crash again and again"
