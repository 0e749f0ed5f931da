"""Report PodsReady, so that pods that start and stop repeatedly do not cost a write each.

Every status write notifies all watchers, and a pod may change every second. Two periods of the
configuration limit the writes:

- Recovery is reported at once: PodsReady turns True, Unhealthy turns False.
- A problem is reported at most once in flapPeriod, in one write: PodsReady turns False, or
  Unhealthy turns True again after it healed, with the periods that these begin. A later problem is
  checked again when the period is over; if it has healed by then it is not reported. The first
  time in an attempt that Unhealthy turns True, the report does not wait.
- A problem that ends within settlePeriod and returns within settlePeriod counts as the same
  problem. So "failed", "replaced", "runs" within seconds are not three writes.
- The admission and warm-up periods begin again when pods are lost or more pods are wanted, at most
  once in flapPeriod. Until that is written they count as beginning now (timers.py).
- They begin again, too, if one of them is over when all components exist: the controller slept.
- They end when all pods run that the components want so far, even if more pods follow: a JobSet
  whose Jobs depend on each other, a StatefulSet that creates one pod after the other.

So a period begins late by less than flapPeriod, and a reset is late by no more than that. No period
is cut short, and none begins again without a reason. flapPeriod does not delay a failure grace
period of zero: the reset then needs no earlier report.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    reporting,
)
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import BEGIN, ZERO, begin_anew, remaining
from controller.reports.pods_ready import PodsMissing
from shared.api.names import CONDITION_PODS_READY, CONDITION_UNHEALTHY


def not_ready_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """Return how long PodsReady must not turn False yet."""
    began = snapshot.timers.unready
    return ZERO if began is None else remaining(began, config.flap_period, now)


def unhealthy_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """Return how long Unhealthy must not turn True yet."""
    healed = snapshot.text_of(CONDITION_UNHEALTHY).reason == Reason.NO_FAILED_PODS
    return not_ready_for(snapshot, now, config) if healed else ZERO


def settling_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """Return how long Unhealthy must not turn False yet."""
    began = snapshot.timers.failure
    return ZERO if began is None else remaining(began, config.settle_period, now)


def is_ready(snapshot: Snapshot) -> bool:
    """True if as many pods run or succeeded as expected."""
    return snapshot.pods.ready >= snapshot.pods.expected


def runs_as_wanted(snapshot: Snapshot) -> bool:
    """True if as many pods run or succeeded as the components want so far."""
    return snapshot.pods.ready >= snapshot.pods.wanted


def none_is_missing(snapshot: Snapshot) -> bool:
    """True if the same holds with the pods on nodes that do not answer.

    Only the rule for such nodes moves these pods, so that the evacuation breaker, pauseResets and a
    period of zero hold them. The admission and warm-up periods do not run meanwhile: a pod whose
    node answers again, or that is replaced, has them whole.
    """
    return snapshot.pods.ready + snapshot.pods.unreachable >= snapshot.pods.wanted


def report_readiness(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, *, bad_news: bool = False
) -> Actions:
    """PodsReady: as many pods run, or succeeded, as the AppWrapper has.

    Return the report if it changed, with the periods that depend on it, in one write. With
    `bad_news` another problem is reported in any case, and PodsReady with it.
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
        return (*_periods(snapshot, now, config), *_news(snapshot, now))
    # A node that falls silent is reported at once: it needs most of a minute to do so again.
    urgent = bad_news or snapshot.unreachable is not None
    if not urgent and not_ready_for(snapshot, now, config) > ZERO:
        return ()
    return (
        reporting(pods_missing(snapshot)),
        *(() if none_is_missing(snapshot) else BEGIN),
        *(() if bad_news else (StartTimer(Timer.UNREADY),)),
    )


def _periods(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """End the periods while no wanted pod is missing; start them when pods are missing.

    Stages that follow each other within flapPeriod do not cost two writes each.
    """
    ended = snapshot.timers.admission is None and snapshot.timers.warmup is None
    if none_is_missing(snapshot):
        end = ClearTimer(Timer.ADMISSION), ClearTimer(Timer.WARMUP), StartTimer(Timer.UNREADY)
        return () if ended else end
    if ended and not_ready_for(snapshot, now, config) > ZERO:
        return ()
    return begin_anew(snapshot, now, config)


# The message of PodsReady while it is False: how many pods run, and what the others wait for.
#
# Pods that start soon cost no write. A message is written soon if the scheduler or the kubelet
# rejects a pod or a pod crashes repeatedly, and later if pods only start slowly.

_FIRST: Final = timedelta(seconds=5)  # after the warm-up period began
_SLOW: Final = timedelta(seconds=30)  # the same while there is no problem
_OTHER_OBSTACLE: Final = timedelta(seconds=10)
_OTHER_COUNT: Final = timedelta(minutes=2)


def pods_missing(
    snapshot: Snapshot, reason: Reason = Reason.INSUFFICIENT_PODS_READY
) -> PodsMissing:
    """Return the report of PodsReady while pods do not run."""
    pods = snapshot.pods
    return PodsMissing(
        reason=reason,
        expected=pods.expected,
        wanted=pods.wanted,
        existing=pods.existing,
        ready=pods.ready,
        succeeded=pods.succeeded,
        ignored_by_scheduler=pods.ignored_by_scheduler,
        obstacles=_obstacles(snapshot),
    )


def message_due_in(snapshot: Snapshot, now: datetime) -> timedelta | None:
    """Return how soon the message may be written; None if there is nothing to write."""
    timers, report = snapshot.timers, _missing_now(snapshot)
    if CONDITION_PODS_READY in snapshot.conditions or not snapshot.is_news(report):
        return None
    if not snapshot.text_of(CONDITION_PODS_READY).message:
        began = timers.warmup
        if snapshot.pods.too_large or snapshot.unreachable is not None:
            return ZERO  # the first does not change later; the other is reported at once
        if began is None or (not report.obstacles and CONDITION_UNHEALTHY in snapshot.conditions):
            return None  # Unhealthy reports their number
        return remaining(began, _FIRST if report.obstacles else _SLOW, now)
    last = snapshot.reported.get(CONDITION_PODS_READY)
    known = last.obstacles if isinstance(last, PodsMissing) else None
    # A reported problem includes the message, and starts the timer `unready`.
    written = max(filter(None, [timers.pods_reported, timers.unready]), default=None)
    period = _OTHER_COUNT if report.obstacles in ((), known) else _OTHER_OBSTACLE
    return ZERO if written is None else remaining(written, period, now)


def _missing_now(snapshot: Snapshot) -> PodsMissing:
    """Return the report with the present reason: only a lost pod is a problem."""
    lost = snapshot.text_of(CONDITION_PODS_READY).reason == Reason.INSUFFICIENT_PODS_READY
    return pods_missing(snapshot, Reason.INSUFFICIENT_PODS_READY if lost else Reason.RESUMING)


def _news(snapshot: Snapshot, now: datetime) -> Actions:
    if message_due_in(snapshot, now) != ZERO:
        return ()
    return (reporting(_missing_now(snapshot)), StartTimer(Timer.PODS_REPORTED))


def _obstacles(snapshot: Snapshot) -> tuple[str, ...]:
    pods, nodes = snapshot.pods, filter(None, (snapshot.unreachable, snapshot.lost))
    found = [*(each.message for each in nodes), pods.too_large, pods.rejected]
    return tuple(filter(None, [*found, crash_loops(snapshot)]))


def crash_loops(snapshot: Snapshot) -> str:
    """Return how many pods crash repeatedly; empty if none. Their phase is still Running."""
    match snapshot.pods.unstable:
        case 0:
            return ""
        case 1:
            return "1 pod crashes again and again"
        case unstable:
            return f"{unstable} pods crash again and again"
