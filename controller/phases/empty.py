"""No phase yet: the controller sees this AppWrapper for the first time."""

from datetime import datetime

from controller.phases.actions import Actions, MoveTo, Reason, RecordPodSets, SetCondition
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.names import CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED


def decide_empty(_snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """Record the pod sets, from which Kueue computes its Workload, and wait."""
    return (
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        RecordPodSets(),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),
        SetCondition(CONDITION_RESOURCES_DEPLOYED, False, Reason.SUSPENDED),
    )
