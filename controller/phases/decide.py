"""The phase machine: `decide` is pure; `next_step` adds the request for a missing fact."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, DeleteComponents, DeletionMode
from controller.phases.ask import Ask, Need, NotRead
from controller.phases.empty import decide_empty
from controller.phases.failed import decide_failed
from controller.phases.phase import Phase
from controller.phases.resetting import decide_resetting
from controller.phases.resuming import decide_resuming, record_created, record_refusal
from controller.phases.running import decide_running
from controller.phases.snapshot import FaultTolerance, Snapshot
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


def next_step(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | Ask:
    """Return the next actions, or the one fact that is missing for them."""
    try:
        return decide(snapshot, now, config)
    except NotRead as missing:
        return Ask(missing.need)


def decide(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Return the next actions for one AppWrapper; () means nothing until something changes.

    Pure: equal arguments give equal actions. `now` must be timezone-aware (UTC). The actions have
    at most one `MoveTo` and at most one `WakeAfter`. In every phase the deletion of the AppWrapper
    takes precedence. Raises NotRead if a fact is missing.
    """
    if snapshot.deletion_requested and snapshot.phase is not Phase.TERMINATING:
        actions = terminate(snapshot)
    else:
        actions = BY_PHASE[snapshot.phase](snapshot, now, config)
    snapshot.require(Need.OBSERVED)
    problem = snapshot.create_problem
    recorded: Actions = ()
    if problem is not None:
        created = record_created(snapshot.components)
        recorded = (*created, *record_refusal(problem, snapshot.components))
    sweep = (DeleteComponents(DeletionMode.UNEXPECTED),) if snapshot.unexpected_due else ()
    return (*recorded, *actions, *sweep)
