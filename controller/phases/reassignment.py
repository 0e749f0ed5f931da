"""Ask Kueue for other nodes if an assigned node accepts no pods, under a Kueue topology.

Kueue pins the pods of each attempt to the nodes that it assigned at admission. A reset keeps both
the quota and the assignment. So the controller checks the assignment before the next attempt. If a
node is cordoned, or has a label that rejects these pods, the controller makes Kueue evict the
Workload. Kueue then suspends the AppWrapper, releases the quota and assigns other nodes. The quota
stays reserved until then, through the deletion and the pause.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    EvictWorkload,
    WakeAfter,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.deletion import LOOK_AGAIN
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining
from controller.reports.reason import Reason
from controller.reports.unhealthy import other_nodes_needed
from shared.api.names import CONDITION_UNHEALTHY

# The Workload may have changed before the eviction was written; then Kueue has not seen it.
_ASK_AGAIN: Final = timedelta(seconds=1)
# Kueue answers within a second; a new replica of Kueue takes over within half a minute. After this
# period the next attempt begins on the assigned nodes.
REASSIGNMENT_PATIENCE: Final = timedelta(minutes=2)


def is_reassignment_overdue(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """True if Kueue's time to assign other nodes is over."""
    period = config.retry_pause + REASSIGNMENT_PATIENCE
    return remaining(snapshot.timers.retry_pause, period, now) == ZERO


def is_reassigned(snapshot: Snapshot) -> bool:
    """True if Unhealthy reports that the controller asked Kueue to assign other nodes."""
    return snapshot.text_of(CONDITION_UNHEALTHY).reason == Reason.REASSIGNMENT


def ask_for_other_nodes(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Report the reassignment once, request the eviction until it is written, then wait.

    Kueue answers by suspending the AppWrapper. Return () if the next attempt may begin. If Kueue's
    time is over before the first request, Kueue is still asked once.
    """
    overdue = is_reassignment_overdue(snapshot, now, config)
    if snapshot.topology_workload and not (overdue and is_reassigned(snapshot)):
        snapshot.require(Need.ASSIGNMENT)
    found = snapshot.misplacement
    if found is None:
        return ()
    if found.evicted:
        return () if overdue else (WakeAfter(LOOK_AGAIN),)
    needed = reporting(other_nodes_needed(found.message, found.workload))
    report = () if is_reassigned(snapshot) else (needed,)
    return (*report, EvictWorkload(found), WakeAfter(_ASK_AGAIN))
