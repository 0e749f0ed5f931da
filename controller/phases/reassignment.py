"""Under a topology of Kueue's: nodes that Kueue assigned and that take no pods now.

Kueue pins the pods of each attempt to the nodes that it assigned when it admitted the workload, and
a reset keeps both quota and assignment. So before the next attempt of a reset the assignment is
looked at. Where a node of it is cordoned, or has a label that keeps these pods off, Kueue is asked
to evict the workload: it suspends the AppWrapper, takes the quota back and assigns nodes anew. The
quota stays reserved until then, through the deletion and the pause.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    EvictWorkload,
    Reason,
    RequeueAfter,
    SetCondition,
)
from controller.phases.deletion import LOOK_AGAIN, is_reassigned
from controller.phases.needs import REASSIGNMENT_PATIENCE
from controller.phases.snapshot import FaultTolerance, Misplacement, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.names import CONDITION_UNHEALTHY

# The Workload may have changed while it was asked; then nobody has heard of it.
_ASK_AGAIN: Final = timedelta(seconds=1)


def ask_for_other_nodes(snapshot: Snapshot, found: Misplacement) -> Actions:
    """Say it once, before Kueue is asked; then ask until Kueue has heard, and wait.

    Kueue answers by suspending the AppWrapper.
    """
    asked = (
        f"{found.message}; Kueue is asked to evict Workload {found.workload} and to assign other "
        "nodes: the quota is given back for a moment, and another workload can get it"
    )
    unhealthy = SetCondition(CONDITION_UNHEALTHY, True, Reason.REASSIGNMENT, asked)
    said = () if is_reassigned(snapshot) else (unhealthy,)
    if found.evicted:
        return (*said, RequeueAfter(LOOK_AGAIN))
    evict = EvictWorkload(found.workload, found.uid, found.version, found.message)
    return (*said, evict, RequeueAfter(_ASK_AGAIN))


def unanswered(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> str:
    """What is said when the next attempt begins although Kueue was asked for other nodes."""
    began = snapshot.timers.retry_pause
    if (
        not is_reassigned(snapshot)
        or remaining(began, config.retry_pause + REASSIGNMENT_PATIENCE, now) > ZERO
    ):
        return ""
    return (
        f"Kueue did not evict Workload {snapshot.topology_workload} in time: the next attempt "
        "begins on the same nodes. Does Kueue run, and may the controller patch workloads/status?"
    )
