"""What a reconcile may say about its key. An exception means: a failure, try again later."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Look again after `delay`, or earlier if something changes."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class Retry:
    """Not possible now; try again with growing delays. `reason` is logged, not as an error."""

    reason: str


Outcome = Done | RequeueAfter | Retry
