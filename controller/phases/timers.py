"""Change timers by actions, and convert them from and to `status.timers`."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, ClearTimer, MoveTo, StartTimer, Timer
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot, Timers
from shared.api.names import CONDITION_PODS_READY
from shared.api.objects import JsonObject
from shared.api.times import format_precise_time, parse_time

# The clocks of two replicas may differ by this much. A start further ahead comes from a clock that
# was set back since. If it counted as now in every pass, its period would last longer by that
# difference. It counts as missing instead, so the period begins now and is stored.
CLOCK_SKEW: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The state of the AppWrapper in which a timer was stored.

    Another operator that took over meanwhile changes one of these fields but not the timers. So a
    timer with another stamp counts as missing.
    """

    phase: str
    attempt: int
    retries: int


def decode_timers(stored: JsonObject, stamp: Stamp, now: datetime) -> Timers:
    """Return the timers of `status.timers` that belong to `stamp`.

    Unreadable timers, and timers that lie ahead of `now`, are missing.
    """
    return Timers(
        **{each.field: unless_ahead(_read(stored.get(each), stamp), now) for each in Timer}
    )


def unless_ahead(began: datetime | None, now: datetime) -> datetime | None:
    """Return None if the stored start lies in the future by more than CLOCK_SKEW."""
    return None if began is None or began > now + CLOCK_SKEW else began


def encode_timers(timers: Timers, stamp: Stamp) -> JsonObject:
    """Return `status.timers` without the periods that have not begun."""
    stored: JsonObject = {}
    for timer in Timer:
        began = getattr(timers, timer.field)
        if began is not None:
            stored[timer.value] = {
                "began": format_precise_time(began),
                "phase": stamp.phase,
                "attempt": stamp.attempt,
                "resettingCount": stamp.retries,
            }
    return stored


def _read(entry: object, stamp: Stamp) -> datetime | None:
    match entry:
        case {
            "began": str(began),
            "phase": stamp.phase,
            "attempt": stamp.attempt,
            "resettingCount": stamp.retries,
        }:
            try:
                return parse_time(began)
            except ValueError:
                return None
    return None


def evolve(timers: Timers, actions: Actions, now: datetime) -> Timers:
    """Return the timers after `actions`.

    A new phase clears every timer, with one exception: the admission and the warm-up period begin
    at Resuming and continue in Running. A StartTimer for the new phase must follow the MoveTo.

    A deletion under way still keeps its deadline when the AppWrapper is suspended or deleted
    meanwhile: taken_over.py reads its start from DeletingResources.
    """
    for action in actions:
        match action:
            case MoveTo(phase=Phase.RUNNING):
                timers = Timers(admission=timers.admission, warmup=timers.warmup)
            case MoveTo():
                timers = Timers()
            case StartTimer(timer):
                timers = replace(timers, **{timer.field: now})
            case ClearTimer(timer):
                timers = replace(timers, **{timer.field: None})
            case _:
                pass
    return timers


# Arithmetic of waiting periods, in one place so that all deadlines follow the same rule.

ZERO: Final = timedelta(0)


def remaining(began: datetime | None, period: timedelta, now: datetime) -> timedelta:
    """Return how long a period that began at `began` still lasts; zero from its deadline on.

    A period that has not begun has its full length. A start in the future counts as now;
    `decode_timers` removes a start that is more than CLOCK_SKEW ahead.
    """
    if began is None or began > now:
        return period
    return max(ZERO, began + period - now)


# The admission and the warm-up period of the pods of a deployed AppWrapper.
#
# They begin at Resuming. They begin again whenever the count of existing pods falls below the
# wanted one, or more pods are wanted, so that a replaced pod gets its whole warm-up. They do not
# run while PodsReady is True, or while all pods run that are wanted so far.

BEGIN: Final[Actions] = (StartTimer(Timer.ADMISSION), StartTimer(Timer.WARMUP))


def begin_anew(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Start both periods if their start is unknown, or if pods were lost or more are wanted."""
    unknown = snapshot.timers.admission is None or snapshot.timers.warmup is None
    if unknown or (snapshot.pods_fell and _too_soon_for(snapshot, now, config) == ZERO):
        return BEGIN
    return ()


def in_force(snapshot: Snapshot, now: datetime) -> Snapshot:
    """Return the snapshot with the effective periods: a start that is not written yet is now."""
    if not snapshot.pods_fell and CONDITION_PODS_READY not in snapshot.conditions:
        return snapshot
    return replace(snapshot, timers=replace(snapshot.timers, admission=now, warmup=now))


def next_deadlines(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> list[timedelta]:
    """Return the waits until these periods must be checked again while pods are not ready."""
    if snapshot.pods_fell and (left := _too_soon_for(snapshot, now, config)) > ZERO:
        return [left]
    timers = in_force(snapshot, now).timers
    deadlines = [remaining(timers.warmup, config.warmup_grace, now)]
    if snapshot.pods.existing < snapshot.pods.wanted:
        deadlines.append(remaining(timers.admission, config.admission_grace, now))
    if due := rejection_due_in(snapshot, now):
        deadlines.append(due)
    return deadlines


# Operators reject an invalid object when they first see it.
_REJECTED_WITHIN: Final = timedelta(seconds=5)


def rejection_due_in(snapshot: Snapshot, now: datetime) -> timedelta | None:
    """Return the wait until an Event shows whether an operator rejects a component.

    None if none does so by an Event alone, or if no pod is missing.
    """
    if snapshot.phase is not Phase.RUNNING or snapshot.pods.existing >= snapshot.pods.wanted:
        return None
    if not any(each.rejectable and each.terminal is None for each in snapshot.components):
        return None
    return remaining(snapshot.timers.admission, _REJECTED_WITHIN, now)


def _too_soon_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    began = snapshot.timers.admission
    return ZERO if began is None else remaining(began, config.flap_period, now)
