"""What a reconcile may say about its key. An exception means: a failure, try again later."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Done:
    """There is no such object, or it is none of ours; nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Look again after `delay`, or earlier if something changes; None: if something changes.

    `acted`: this pass did more than wait. Where nothing but a resync woke it, that was a repair.
    """

    delay: timedelta | None = None
    acted: bool = False


Outcome = Done | RequeueAfter
