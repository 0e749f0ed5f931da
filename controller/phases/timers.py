"""How timers change when actions are applied, and how they stand in `status.timers`."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, ClearTimer, MoveTo, StartTimer
from controller.phases.phase import Phase
from controller.phases.snapshot import Timers
from shared.api.json import JsonObject
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


def decode(stored: JsonObject, stamp: Stamp, now: datetime) -> Timers:
    """The timers of `status.timers` that belong to `stamp`.

    Whatever cannot be read, or lies ahead of `now`, is missing.
    """
    read = {field: _read(stored.get(key), stamp) for field, key in _KEYS.items()}
    return Timers(**{field: unless_ahead(began, now) for field, began in read.items()})


def unless_ahead(began: datetime | None, now: datetime) -> datetime | None:
    """None for a start that no clock which goes right can have written."""
    return None if began is None or began > now + CLOCK_SKEW else began


def encode(timers: Timers, stamp: Stamp) -> JsonObject:
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
