"""The phase machine: `decide` is pure; `next_step` adds the request for a missing fact."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from controller.phases import (
    empty,
    failed,
    resetting,
    resuming,
    running,
    succeeded,
    suspended,
    suspending,
    terminating,
)
from controller.phases.actions import Actions, DeleteComponents, DeletionMode
from controller.phases.ask import Ask, Need, NotRead
from controller.phases.phase import Phase
from controller.phases.resuming import record_created, record_refusal
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.terminating import terminate

DecidePhase = Callable[[Snapshot, datetime, FaultTolerance], Actions]

# One entry per phase; a test fails if one is missing.
BY_PHASE: Final[dict[Phase, DecidePhase]] = {
    Phase.EMPTY: empty.decide_empty,
    Phase.SUSPENDED: suspended.decide_suspended,
    Phase.RESUMING: resuming.decide_resuming,
    Phase.RUNNING: running.decide_running,
    Phase.RESETTING: resetting.decide_resetting,
    Phase.SUSPENDING: suspending.decide_suspending,
    Phase.SUCCEEDED: succeeded.decide_succeeded,
    Phase.FAILED: failed.decide_failed,
    Phase.TERMINATING: terminating.decide_terminating,
}
ROWS: Final[dict[Phase, tuple[Row, ...]]] = {
    Phase.EMPTY: empty.ROWS,
    Phase.SUSPENDED: suspended.ROWS,
    Phase.RESUMING: resuming.ROWS,
    Phase.RUNNING: running.ROWS,
    Phase.RESETTING: resetting.ROWS,
    Phase.SUSPENDING: suspending.ROWS,
    Phase.SUCCEEDED: succeeded.ROWS,
    Phase.FAILED: failed.ROWS,
    Phase.TERMINATING: terminating.ROWS,
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
