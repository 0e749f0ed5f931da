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
    SetCondition,
    WakeAfter,
)
from controller.phases.deletion import LOOK_AGAIN, is_reassigned
from controller.phases.needs import is_reassignment_overdue
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.names import CONDITION_UNHEALTHY

# The Workload may have changed while it was asked; then nobody has heard of it.
_ASK_AGAIN: Final = timedelta(seconds=1)


def ask_for_other_nodes(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Say it once, before Kueue is asked; then ask until Kueue has heard, and wait.

    Kueue answers by suspending the AppWrapper. () where the next attempt may begin.
    """
    found = snapshot.misplacement
    if found is None:
        return ()
    if found.evicted:
        late = is_reassignment_overdue(snapshot, now, config)
        return () if late else (WakeAfter(LOOK_AGAIN),)
    asked = (
        f"{found.message}; Kueue is asked to evict Workload {found.workload} and to assign other "
        "nodes: the quota is released for a moment, and another workload can get it"
    )
    unhealthy = SetCondition(CONDITION_UNHEALTHY, True, Reason.REASSIGNMENT, asked)
    said = () if is_reassigned(snapshot) else (unhealthy,)
    evict = EvictWorkload(found.workload, found.uid, found.version, found.message)
    return (*said, evict, WakeAfter(_ASK_AGAIN))


def unanswered(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> str:
    """What is said when the next attempt begins although Kueue was asked for other nodes."""
    if not (is_reassigned(snapshot) and is_reassignment_overdue(snapshot, now, config)):
        return ""
    return (
        f"Kueue did not evict Workload {snapshot.topology_workload} in time: the next attempt "
        "begins on the same nodes. Check that Kueue runs and that the controller may patch "
        "workloads/status"
    )
