"""No phase yet: the controller sees this AppWrapper for the first time."""

from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, MoveTo, Reason, RecordPodSets, SetCondition
from controller.phases.phase import Phase
from controller.phases.rows import Row, first_of
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.names import CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED


def decide_empty(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Record the pod sets, from which Kueue computes its Workload, and wait."""
    return first_of(ROWS, snapshot, now, config)


def is_new(_snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """It is new: componentStatus gets the pod sets; Suspended."""
    return (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        RecordPodSets(),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),
        SetCondition(CONDITION_RESOURCES_DEPLOYED, False, Reason.SUSPENDED),
    )


ROWS: Final[tuple[Row, ...]] = (is_new,)
