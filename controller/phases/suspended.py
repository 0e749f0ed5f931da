"""Suspended: nothing is deployed and no quota is held.

Start: without a queue when suspend is false, else when Kueue has also written podSetInfos.

Kueue writes suspend and podSetInfos in one patch. An AppWrapper that Kueue admits within a
moment costs no write.
"""

from datetime import datetime
from typing import Final

from controller.phases import hold
from controller.phases.actions import Actions, Reason
from controller.phases.ask import Need
from controller.phases.resuming import deploy, old_objects_remain
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, PodSetInfos, Snapshot
from controller.phases.waiting import report_reserved, report_unsuspended, report_waiting


def waits(snapshot: Snapshot, now: datetime, _config: FaultTolerance) -> Actions | None:
    """It is suspended: QuotaReserved reports why it waits in its queue."""
    return report_waiting(snapshot, now) if snapshot.suspend else None


def lacks_pod_set_infos(
    snapshot: Snapshot, now: datetime, _config: FaultTolerance
) -> Actions | None:
    """It has a queue, and podSetInfos are not complete: QuotaReserved reports that it waits.

    Without podSetInfos the pods would run where no quota was reserved. Kueue never writes them if
    it does not manage the namespace.
    """
    if not snapshot.queued or snapshot.pod_set_infos is PodSetInfos.COMPLETE:
        return None
    # Rare: Kueue suspends a queued AppWrapper when it is created. KUEUE may end `queued`.
    snapshot.require(Need.KUEUE)
    return report_unsuspended(snapshot, now)


def starts(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """Otherwise it starts: finalizer; QuotaReserved and ResourcesDeployed True; Resuming."""
    return deploy(snapshot, Reason.RESUMING, report_reserved(snapshot))


ROWS: Final[tuple[Row, ...]] = (
    hold.held,
    hold.released,
    waits,
    lacks_pod_set_infos,
    old_objects_remain,
    starts,
)
