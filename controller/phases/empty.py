"""No phase yet: the controller has written nothing about this AppWrapper.

Record the pod sets and wait; or start it, if Kueue admits it within a moment.

Kueue needs no status to admit it: from the spec it computes the same pod sets. Usually quota is
free, and then the first write is the one that starts it.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.phases import suspended
from controller.phases.actions import (
    Actions,
    MoveTo,
    Reason,
    RecordPodSets,
    SetCondition,
    WakeAfter,
)
from controller.phases.phase import Phase
from controller.phases.rows import Row, first_of
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.names import CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED

# Kueue admits an AppWrapper in less if quota is free. No user waits for the first status longer.
MOMENT: Final = timedelta(milliseconds=100)


def may_be_admitted(snapshot: Snapshot, now: datetime, _config: FaultTolerance) -> Actions | None:
    """It is suspended in a queue and was first seen less than 100 ms ago: nothing yet."""
    if not (snapshot.suspend and snapshot.queued) or snapshot.waits_since is None:
        return None
    left = remaining(snapshot.waits_since, MOMENT, now)
    return (WakeAfter(left),) if left > ZERO else None


def starts(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """It would start from Suspended at once: Resuming, in one write."""
    if snapshot.suspend:
        return None
    actions = first_of(suspended.ROWS, snapshot, now, config)
    return actions if any(isinstance(each, MoveTo) for each in actions) else None


def waits(_snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """Otherwise it waits: componentStatus gets the pod sets; Suspended."""
    return (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        RecordPodSets(),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),
        SetCondition(CONDITION_RESOURCES_DEPLOYED, False, Reason.SUSPENDED),
    )


ROWS: Final[tuple[Row, ...]] = (may_be_admitted, starts, waits)
