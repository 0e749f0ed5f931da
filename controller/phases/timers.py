"""How timers change when actions are applied, and how they stand in `status.timers`."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, ClearTimer, MoveTo, StartTimer, Timer
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot, Timers
from shared.api.names import CONDITION_PODS_READY
from shared.api.objects import JsonObject
from shared.api.times import format_precise_time, parse_time

# Field of `Timers` -> key in `status.timers`.
_KEYS: Final = {
    "admission": "admission",
    "warmup": "warmup",
    "failure": "failure",
    "deletion_on_failure": "deletionOnFailure",
    "forceful_deletion": "forcefulDeletion",
    "retry_pause": "retryPause",
    "success": "successTTL",
    "stragglers": "stragglers",
    "unready": "unready",
    "records": "records",
    "store": "errorStore",
    "no_workload": "noWorkload",
    "queue_reason": "queueReason",
    "pods_told": "podsTold",
}


# By so much the clocks of two replicas may differ. A start further ahead is of a clock that was set
# back since. Counting it as now again and again would prolong its period by as much; as missing it
# begins once more, now, and is stored so.
CLOCK_SKEW: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The moment in an AppWrapper's life that a stored timer belongs to.

    Another operator that took over meanwhile changes one of these and leaves our timers standing;
    so a timer with another stamp counts as missing (specification 4).
    """

    phase: str
    attempt: int
    retries: int


def decode_timers(stored: JsonObject, stamp: Stamp, now: datetime) -> Timers:
    """The timers of `status.timers` that belong to `stamp`.

    Whatever cannot be read, or lies ahead of `now`, is missing.
    """
    read = {field: _read(stored.get(key), stamp) for field, key in _KEYS.items()}
    return Timers(**{field: unless_ahead(began, now) for field, began in read.items()})


def unless_ahead(began: datetime | None, now: datetime) -> datetime | None:
    """None for a start that no clock which goes right can have written."""
    return None if began is None or began > now + CLOCK_SKEW else began


def encode_timers(timers: Timers, stamp: Stamp) -> JsonObject:
    """As `status.timers`; periods that have not begun are left out."""
    stored: JsonObject = {}
    for field, key in _KEYS.items():
        began = getattr(timers, field)
        if began is not None:
            stored[key] = {
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
    """The timers after `actions`.

    A new phase clears every timer except those that run across it: the admission and the warm-up
    period begin at Resuming and go on in Running, and a deletion under way keeps its deadline when
    the AppWrapper is suspended or deleted meanwhile. What a phase starts of its own it says with
    StartTimer, after its MoveTo.
    """
    for action in actions:
        match action:
            case MoveTo(phase=Phase.RUNNING):
                timers = Timers(admission=timers.admission, warmup=timers.warmup)
            case MoveTo(phase=Phase.SUSPENDING | Phase.TERMINATING):
                timers = Timers(forceful_deletion=timers.forceful_deletion)
            case MoveTo():
                timers = Timers()
            case StartTimer(timer):
                timers = replace(timers, **{timer.value: now})
            case ClearTimer(timer):
                timers = replace(timers, **{timer.value: None})
            case _:
                pass
    return timers


# Arithmetic of waiting periods, in one place so that every deadline is exact in the same way.

ZERO: Final = timedelta(0)


def remaining(began: datetime | None, period: timedelta, now: datetime) -> timedelta:
    """How long a period that began at `began` still lasts; zero from its deadline on.

    A period that has not begun lasts whole. A start in the future counts as now (specification 4);
    one that is more than a little ahead does not get here (timers.decode).
    """
    if began is None or began > now:
        return period
    return max(ZERO, began + period - now)


# The admission and the warm-up period of the pods of a deployed AppWrapper.
#
# They begin at Resuming, and anew whenever the count of existing pods falls below the wanted one,
# or more are wanted, so that a pod that is replaced gets its whole warm-up. While PodsReady is
# True they do not run, nor while all pods run that are wanted so far.

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
    if snapshot.pods.existing < snapshot.pods.wanted:
        deadlines.append(remaining(timers.admission, config.admission_grace, now))
    return deadlines


def _too_soon_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    began = snapshot.timers.admission
    return ZERO if began is None else remaining(began, config.flap_period, now)
