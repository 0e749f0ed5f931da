"""Suspended: nothing is deployed and no quota is held."""

from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, Reason, SetCondition
from controller.phases.deployment import deploy
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import PodSetInfos, Snapshot
from shared.api.names import CONDITION_QUOTA_RESERVED

# True as well once it is suspended again, so nobody needs to take it back.
_WAITING: Final = (
    "it starts when Kueue writes podSetInfos; if Kueue does not, it may not manage this namespace, "
    "or not AppWrappers"
)


def decide_suspended(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """Start when somebody lets it: at once without a queue, else when Kueue's choices are in.

    Kueue writes suspend and podSetInfos in one patch. Without them the pods would run where no
    quota was reserved, so an unsuspended AppWrapper of a queue waits for them, and says so: where
    Kueue does not manage the namespace they never come. Kueue's own ones pass through here
    suspended, and cost no write.
    """
    if snapshot.suspend:
        return ()
    if snapshot.queued and snapshot.pod_set_infos is not PodSetInfos.COMPLETE:
        return (SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED, _WAITING),)
    return deploy(snapshot, Reason.RESUMING)
