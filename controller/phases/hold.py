"""A user holds the AppWrapper: nothing starts, and its Workload is out of Kueue's queue.

Kueue releases the quota of a deactivated Workload at once, whatever its pods do. So the controller
deactivates the Workload only after the suspension has proved that all is gone. The reason of
QuotaReserved is written before that: after a crash it shows that the Workload may be deactivated.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    ActivateWorkload,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.deletion import LOOK_AGAIN
from controller.phases.snapshot import FaultTolerance, OwnWorkload, PodSetInfos, Snapshot
from controller.reports.quota_reserved import HELD, RELEASED
from shared.api.names import CONDITION_QUOTA_RESERVED

# The Workload may have changed before the write, which then changed nothing.
_ASK_AGAIN: Final = timedelta(seconds=1)


def held(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """A user holds it: its Workload is deactivated, again whenever Kueue makes a new one."""
    if not (snapshot.held or _awaits_kueue(snapshot)):
        return None
    report = HELD if snapshot.held else RELEASED
    news = (reporting(report),) if snapshot.is_news(report) else ()
    active = [each for each in _workloads(snapshot) if each.active]
    return (*news, *_activate(active, False))


def released(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """A user released it: its Workload is activated, if the controller deactivated it."""
    was_held = _was_held(snapshot)
    if not was_held and not _is_deactivated(snapshot):
        return None
    own = [each for each in _workloads(snapshot) if each.deactivated]
    if any(each.has_quota for each in own):
        # Kueue has not finished the eviction: its count of the quota lags behind.
        return (WakeAfter(LOOK_AGAIN),)
    over = (SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED),) if was_held else ()
    if own:
        # Kueue may admit it at once. If the write fails, the Workload's annotation remains. Kueue's
        # reason follows later: the cache may still have the deactivated Workload.
        return (*over, StartTimer(Timer.QUEUE_REASON), *_activate(own, True))
    # With a queue, the report of why it waits replaces the report of the hold.
    return None if snapshot.queued or not snapshot.suspend else over


def _was_held(snapshot: Snapshot) -> bool:
    return snapshot.text_of(CONDITION_QUOTA_RESERVED).reason == Reason.HELD


def _awaits_kueue(snapshot: Snapshot) -> bool:
    """True if Kueue started it before the hold, and has not suspended it yet.

    The quota may be another workload's by now. So the hold is completed before the release: Kueue
    suspends the AppWrapper, and admits it again.
    """
    started = not snapshot.suspend and snapshot.pod_set_infos is PodSetInfos.COMPLETE
    if not (_was_held(snapshot) and started and snapshot.queued):
        return False
    snapshot.require(Need.WORKLOADS)  # the answer may end `queued`
    return True


def _is_deactivated(snapshot: Snapshot) -> bool:
    """True if a write of an earlier hold took effect late: its process crashed meanwhile."""
    if not (snapshot.suspend and snapshot.queued):
        return False
    snapshot.require(Need.QUEUE)
    return snapshot.queueing is not None and snapshot.queueing.deactivated


def _workloads(snapshot: Snapshot) -> Sequence[OwnWorkload]:
    if not snapshot.queued:
        return ()
    snapshot.require(Need.WORKLOADS)
    return snapshot.workloads


def _activate(workloads: Sequence[OwnWorkload], active: bool) -> Actions:
    if not workloads:
        return ()
    return (*(ActivateWorkload(each, active) for each in workloads), WakeAfter(_ASK_AGAIN))
