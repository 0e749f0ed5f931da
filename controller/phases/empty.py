"""No phase yet: the controller sees this AppWrapper for the first time.

Record the pod sets, from which Kueue computes its Workload, and wait.
"""

from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, MoveTo, Reason, RecordPodSets, SetCondition
from controller.phases.phase import Phase
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.names import CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED


def is_new(_snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """It is new: componentStatus gets the pod sets; Suspended."""
    return (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        RecordPodSets(),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),
        SetCondition(CONDITION_RESOURCES_DEPLOYED, False, Reason.SUSPENDED),
    )


ROWS: Final[tuple[Row, ...]] = (is_new,)
