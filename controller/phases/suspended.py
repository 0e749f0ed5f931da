"""Suspended: nothing is deployed and no quota is held."""

from datetime import datetime

from controller.phases.actions import Actions, Reason
from controller.phases.deployment import deploy
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import PodSetInfos, Snapshot


def decide_suspended(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """Start when somebody lets it: at once without a queue, else when Kueue's choices are in.

    Kueue writes suspend and podSetInfos in one patch. Without them the pods would run where no
    quota was reserved, so an unsuspended AppWrapper of a queue waits for them.
    """
    if snapshot.suspend:
        return ()
    if snapshot.queued and snapshot.pod_set_infos is not PodSetInfos.COMPLETE:
        return ()
    return deploy(snapshot, Reason.RESUMING)
