"""Suspended: nothing is deployed and no quota is held."""

from datetime import datetime

from controller.phases.actions import Actions, Reason, WakeAfter
from controller.phases.ask import Need
from controller.phases.deletion import LOOK_AGAIN
from controller.phases.resuming import deploy
from controller.phases.snapshot import FaultTolerance, PodSetInfos, Snapshot
from controller.phases.waiting import report_reserved, report_unsuspended, report_waiting


def decide_suspended(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Start: without a queue when suspend is false, else when Kueue has also written podSetInfos.

    Kueue writes suspend and podSetInfos in one patch. Without podSetInfos the pods would run where
    no quota was reserved. So an unsuspended AppWrapper of a queue waits for podSetInfos and reports
    that. Kueue never writes them if it does not manage the namespace. An AppWrapper that Kueue
    admits within a moment costs no write.
    """
    if snapshot.suspend:
        return report_waiting(snapshot, now, config)
    if snapshot.queued and snapshot.pod_set_infos is not PodSetInfos.COMPLETE:
        # Rare: Kueue suspends a queued AppWrapper when it is created. KUEUE may end `queued`.
        snapshot.require(Need.KUEUE)
        return report_unsuspended(snapshot, now)
    snapshot.require(Need.OBSERVED)
    if snapshot.unexpected_alive:  # two attempts never run at once
        return (WakeAfter(LOOK_AGAIN),)
    return deploy(snapshot, Reason.RESUMING, report_reserved(snapshot, config))
