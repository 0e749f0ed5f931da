"""Why an AppWrapper still waits in its queue, as the condition QuotaReserved says it."""

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
)
from controller.phases.snapshot import ConditionText, Queueing, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.waits.queueing import with_kueues_reason, without_kueues_reason

# Kueue admits within a second if quota is free. Until then no reason is written.
MOMENT: Final = timedelta(seconds=5)
# From when there is no Workload after that moment. Kueue may be starting, or its leader changing.
WORKLOAD_PATIENCE: Final = timedelta(minutes=2)
# Between two writes of the reason: Kueue rewrites its own whenever quota becomes free.
REASON_INTERVAL: Final = timedelta(seconds=10)
# How often it is looked up anew why Kueue makes no Workload: no watch shows its configuration.
UNMANAGED_INTERVAL: Final = timedelta(minutes=10)
LONGEST_MESSAGE: Final = 1024  # bytes

_POSSIBLE_CAUSES: Final = (
    "Kueue makes no Workload for it, so nothing starts it. Possible causes: the namespace lacks a"
    " label that managedJobsNamespaceSelector in Kueue's configuration asks for;"
    " integrations.frameworks there lacks workload.codeflare.dev/appwrapper; or Kueue does not run."
    " Ask an admin, or run: appwrapper explain"
)
# They stay ahead of Kueue's reason.
_EVICTIONS: Final = frozenset({Reason.PODS_READY_TIMEOUT, Reason.REASSIGNMENT})
_TROUBLES: Final = frozenset({Reason.QUEUE_UNUSABLE, Reason.NO_WORKLOAD})


def report_waiting(snapshot: Snapshot, now: datetime) -> Actions:
    """Say why nothing starts it, and when to look again. Return no action if nothing is known."""
    queueing = snapshot.queueing
    if queueing is None:
        return ()
    moment = remaining(snapshot.waits_since, MOMENT, now) if snapshot.waits_since else ZERO
    if queueing.trouble and (queueing.certain or moment == ZERO):
        text = _bounded(queueing.trouble)
        new = SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.QUEUE_UNUSABLE, text)
        return _say(snapshot, new, now)
    if not queueing.workload:
        return _without_workload(snapshot, queueing, moment, now)
    found: Actions = ()
    if snapshot.timers.no_workload is not None:
        found = (ClearTimer(Timer.NO_WORKLOAD),)
    if moment > ZERO:
        return (*found, *_trouble_is_over(snapshot), WakeAfter(moment))
    if over := _trouble_is_over(snapshot):
        return (*found, *over, WakeAfter(REASON_INTERVAL))
    waits = _kueues_reason(queueing, _told(snapshot))
    return found if waits is None else (*found, *_say(snapshot, waits, now))


def looks_for_settings(snapshot: Snapshot, now: datetime) -> bool:
    """True if Kueue's configuration decides what is said: there was no Workload for long enough."""
    queueing = snapshot.queueing
    if queueing is None or queueing.workload or queueing.trouble or queueing.unmanaged:
        return False
    return _is_unmanaged(snapshot, now)


def _is_unmanaged(snapshot: Snapshot, now: datetime) -> bool:
    began = snapshot.timers.no_workload
    return began is not None and remaining(began, WORKLOAD_PATIENCE, now) == ZERO


def _without_workload(
    snapshot: Snapshot, queueing: Queueing, moment: timedelta, now: datetime
) -> Actions:
    began = snapshot.timers.no_workload
    if began is None and moment > ZERO:
        return (*_trouble_is_over(snapshot), WakeAfter(moment))
    if began is None:
        begin = StartTimer(Timer.NO_WORKLOAD)
        return (*_trouble_is_over(snapshot), begin, WakeAfter(WORKLOAD_PATIENCE))
    if not _is_unmanaged(snapshot, now):
        left = remaining(began, WORKLOAD_PATIENCE, now)
        return (*_trouble_is_over(snapshot), WakeAfter(left))
    why = _POSSIBLE_CAUSES
    if queueing.unmanaged:
        why = f"{queueing.unmanaged}. Until an admin changes that, nothing starts it"
    told = _told(snapshot)
    if told.reason == Reason.NO_WORKLOAD and not queueing.unmanaged:
        # It could not be read this time, which changes nothing.
        return (WakeAfter(UNMANAGED_INTERVAL),)
    new = SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.NO_WORKLOAD, _bounded(why))
    said = _say(snapshot, new, now)
    waits = any(isinstance(each, WakeAfter) for each in said)
    return said if waits else (*said, WakeAfter(UNMANAGED_INTERVAL))


def _say(snapshot: Snapshot, new: SetCondition, now: datetime) -> Actions:
    """Write it, unless it is written already, or something else was a moment ago."""
    if ConditionText(new.reason, new.message) == _told(snapshot):
        return ()
    last = snapshot.timers.queue_reason
    left = ZERO if last is None else remaining(last, REASON_INTERVAL, now)
    if left > ZERO:
        return (WakeAfter(left),)
    return (new, StartTimer(Timer.QUEUE_REASON))


def _trouble_is_over(snapshot: Snapshot) -> Actions:
    """Take back what is true no longer. The next reason follows a little later, if it still waits.

    Kueue needs a moment as well: until then its Workload repeats what was wrong.
    """
    if _told(snapshot).reason not in _TROUBLES:
        return ()
    return (
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),
        StartTimer(Timer.QUEUE_REASON),
    )


def _kueues_reason(queueing: Queueing, told: ConditionText) -> SetCondition | None:
    """Return what to say of Kueue's reasons: why the quota went, if it did, then why it waits."""
    evicted, pending = queueing.evicted, queueing.pending
    # Just after an eviction Kueue gives it as the reason of both.
    repeated = bool(pending) and evicted.partition(": ")[2].startswith(pending)
    before = ""
    if told.reason in _EVICTIONS:
        before = without_kueues_reason(told.message)
    elif evicted and not repeated:
        before = f"Kueue evicted it ({evicted})."
    text = _bounded(with_kueues_reason(before, pending) if pending else before)
    if not text:
        return None
    match told.reason:
        case Reason.PODS_READY_TIMEOUT:
            return SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.PODS_READY_TIMEOUT, text)
        case Reason.REASSIGNMENT:
            return SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.REASSIGNMENT, text)
    return SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED, text)


def _told(snapshot: Snapshot) -> ConditionText:
    return snapshot.told.get(CONDITION_QUOTA_RESERVED, ConditionText(""))


def _bounded(message: str) -> str:
    text = message.encode()
    if len(text) <= LONGEST_MESSAGE:
        return message
    return f"{text[: LONGEST_MESSAGE - 3].decode(errors='ignore')}…"
