"""The phase machine as one pure function."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from controller.phases.actions import Actions
from controller.phases.empty import decide_empty
from controller.phases.failed import decide_failed
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.refusal import record_refusal
from controller.phases.resetting import decide_resetting
from controller.phases.resuming import decide_resuming
from controller.phases.running import decide_running
from controller.phases.snapshot import Snapshot
from controller.phases.succeeded import decide_succeeded
from controller.phases.suspended import decide_suspended
from controller.phases.suspending import decide_suspending
from controller.phases.terminating import decide_terminating, terminate

DecidePhase = Callable[[Snapshot, datetime, FaultTolerance], Actions]

# One entry per phase; a test fails if one is missing.
BY_PHASE: Final[dict[Phase, DecidePhase]] = {
    Phase.EMPTY: decide_empty,
    Phase.SUSPENDED: decide_suspended,
    Phase.RESUMING: decide_resuming,
    Phase.RUNNING: decide_running,
    Phase.RESETTING: decide_resetting,
    Phase.SUSPENDING: decide_suspending,
    Phase.SUCCEEDED: decide_succeeded,
    Phase.FAILED: decide_failed,
    Phase.TERMINATING: decide_terminating,
}


def decide(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """What to do next for one AppWrapper; () means nothing until something changes.

    Purely computational: equal arguments give equal actions. `now` must be timezone-aware (UTC).
    Returns at most one `MoveTo` and at most one `RequeueAfter`. Deletion of the AppWrapper comes
    before everything else, in every phase.
    """
    refused = record_refusal(snapshot)
    if snapshot.deletion_requested and snapshot.phase is not Phase.TERMINATING:
        return (*refused, *terminate(snapshot))
    return (*refused, *BY_PHASE[snapshot.phase](snapshot, now, config))
