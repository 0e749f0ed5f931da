"""Report in the condition QuotaReserved why an AppWrapper waits in its queue."""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.snapshot import ConditionText, Queueing, Snapshot
from controller.phases.timers import ZERO, remaining
from controller.reports.quota_reserved import (
    AWAITS_POD_SET_INFOS,
    NOT_CONSIDERED,
    awaits_other_nodes,
    no_workload,
    queue_unusable,
    reserved,
    timed_out,
    waits_in_queue,
)
from controller.reports.report import ConditionReport
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.waits.queueing import without_kueues_reason

# Kueue admits within a second if quota is free. Until then no reason is written.
MOMENT: Final = timedelta(seconds=5)
# After that moment, a missing Workload is reported when this period is over: Kueue may be starting,
# or its leader changing. If Kueue's configuration proves the cause, the report does not wait.
WORKLOAD_PATIENCE: Final = timedelta(minutes=2)
# Between two writes of the reason: Kueue rewrites its own reason whenever quota becomes free.
REASON_INTERVAL: Final = timedelta(seconds=10)
# Between two reads of Kueue's configuration while a Workload is missing: no watch covers it.
UNMANAGED_INTERVAL: Final = timedelta(minutes=1)
# Before Kueue's silence is reported: Kueue considers the workloads of a queue one by one.
TURN: Final = timedelta(seconds=30)

_TROUBLES: Final = frozenset({Reason.QUEUE_UNUSABLE, Reason.NO_WORKLOAD})


def report_waiting(snapshot: Snapshot, now: datetime) -> Actions:
    """Report why the AppWrapper waits, and when to check again. Return () if nothing is known."""
    if (queueing := _queueing(snapshot, now)) is None:
        return ()
    moment = _moment(snapshot, now)
    if queueing.trouble and (queueing.certain or moment == ZERO):
        return _report(snapshot, queue_unusable(queueing.trouble), now)
    if not queueing.workload:
        return _without_workload(snapshot, queueing, moment, now)
    found: Actions = ()
    if snapshot.timers.no_workload is not None:
        found = (ClearTimer(Timer.NO_WORKLOAD),)
    if moment > ZERO:
        return (*found, *_trouble_is_over(snapshot), WakeAfter(moment))
    if over := _trouble_is_over(snapshot):
        return (*found, *over, WakeAfter(REASON_INTERVAL))
    waits = _kueues_reason(_current_text(snapshot), queueing)
    if not waits.text():
        return (*found, *_turn(snapshot, queueing, now))
    return (*found, *_report(snapshot, waits, now))


def _turn(snapshot: Snapshot, queueing: Queueing, now: datetime) -> Actions:
    """Report that Kueue has given no reason yet, as for all but the first few in a queue."""
    if queueing.considered or _current_text(snapshot).message:
        return ()
    if (left := remaining(snapshot.waits_since, TURN, now)) > ZERO and snapshot.waits_since:
        return (WakeAfter(left),)
    return _report(snapshot, NOT_CONSIDERED, now)


def report_unsuspended(snapshot: Snapshot, now: datetime) -> Actions:
    """Report why Kueue does not start a queued AppWrapper that is not suspended.

    Kueue suspends at once each AppWrapper that it manages, so it may not manage this one.
    """
    queueing, current = _queueing(snapshot, now), _current_text(snapshot)
    waits: Actions = (reporting(AWAITS_POD_SET_INFOS),)
    if queueing is None:
        return () if current.reason == Reason.NO_WORKLOAD else waits
    if queueing.workload:
        return waits
    actions = _without_workload(snapshot, queueing, _moment(snapshot, now), now)
    news = current.reason == Reason.NO_WORKLOAD or any(
        isinstance(each, SetCondition) for each in actions
    )
    return actions if news else (*waits, *actions)


def _queueing(snapshot: Snapshot, now: datetime) -> Queueing | None:
    """Read the queue and the Workload, and Kueue's configuration if the report needs it."""
    if snapshot.queued:
        snapshot.require(Need.QUEUE)
    if _needs_settings(snapshot, now):
        snapshot.require(Need.KUEUE_SETTINGS)
    return snapshot.queueing


def _needs_settings(snapshot: Snapshot, now: datetime) -> bool:
    """True if there is no Workload after a moment."""
    queueing = snapshot.queueing
    if queueing is None or queueing.workload or queueing.unmanaged is not None:
        return False
    return not (queueing.trouble and snapshot.suspend) and _moment(snapshot, now) == ZERO


def _moment(snapshot: Snapshot, now: datetime) -> timedelta:
    return remaining(snapshot.waits_since, MOMENT, now) if snapshot.waits_since else ZERO


def _without_workload(
    snapshot: Snapshot, queueing: Queueing, moment: timedelta, now: datetime
) -> Actions:
    began, current = snapshot.timers.no_workload, _current_text(snapshot)
    if began is None and moment > ZERO:
        return (*_trouble_is_over(snapshot), WakeAfter(moment))
    begin = (StartTimer(Timer.NO_WORKLOAD),) if began is None else ()
    if current.reason == Reason.NO_WORKLOAD and queueing.unmanaged is None:
        # The cause could not be determined this time, so the message remains.
        return (*begin, WakeAfter(UNMANAGED_INTERVAL))
    left = remaining(began, WORKLOAD_PATIENCE, now)
    if left > ZERO and not (queueing.unmanaged and queueing.certain):
        return (*_trouble_is_over(snapshot), *begin, WakeAfter(left))
    actions = (*begin, *_report(snapshot, no_workload(queueing.unmanaged), now))
    waits = any(isinstance(each, WakeAfter) for each in actions)
    return actions if waits else (*actions, WakeAfter(UNMANAGED_INTERVAL))


def _report(snapshot: Snapshot, report: ConditionReport, now: datetime) -> Actions:
    """Write `report` unless it is written already; wait if the last write is too recent."""
    if not snapshot.is_news(report):
        return ()
    last = snapshot.timers.queue_reason
    left = ZERO if last is None else remaining(last, REASON_INTERVAL, now)
    if left > ZERO:
        return (WakeAfter(left),)
    return (reporting(report), StartTimer(Timer.QUEUE_REASON))


def _trouble_is_over(snapshot: Snapshot) -> Actions:
    """Remove a problem, or a hold, that is over. If it still waits, the reason follows later.

    Kueue's Workload still reports the old problem for a moment.
    """
    reason = _current_text(snapshot).reason
    if reason not in _TROUBLES and not (reason == Reason.HELD and snapshot.suspend):
        return ()
    return (
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),
        StartTimer(Timer.QUEUE_REASON),
    )


def _kueues_reason(current: ConditionText, queueing: Queueing) -> ConditionReport:
    """Return Kueue's reasons: for an eviction, if any, then for the wait.

    An eviction that the controller explained stays explained.
    """
    if current.reason == Reason.REASSIGNMENT:
        return awaits_other_nodes(queueing.pending)
    if current.reason == Reason.PODS_READY_TIMEOUT:
        return timed_out(without_kueues_reason(current.message), queueing.pending)
    return waits_in_queue(queueing.evicted, queueing.pending)


def report_reserved(snapshot: Snapshot) -> Actions:
    """Report that the wait is over. An eviction that the controller explained stays explained.

    Its text is kept: when Kueue reserves the quota again, the Workload shows no eviction any more.
    """
    current = _current_text(snapshot)
    evicted = current.reason == Reason.PODS_READY_TIMEOUT
    eviction = without_kueues_reason(current.message) if evicted else ""
    return (reporting(reserved(eviction)),)


def _current_text(snapshot: Snapshot) -> ConditionText:
    return snapshot.text_of(CONDITION_QUOTA_RESERVED)
