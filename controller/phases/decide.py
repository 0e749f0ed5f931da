"""The phase machine: `decide` is pure; `next_step` adds the request for a missing fact."""

from datetime import datetime
from types import ModuleType
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
from controller.phases.rows import Row, first_of
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.terminating import release_foreign, terminate

# One entry per phase; a test fails if one is missing.
PHASES: Final[dict[Phase, ModuleType]] = {
    Phase.EMPTY: empty,
    Phase.SUSPENDED: suspended,
    Phase.RESUMING: resuming,
    Phase.RUNNING: running,
    Phase.RESETTING: resetting,
    Phase.SUSPENDING: suspending,
    Phase.SUCCEEDED: succeeded,
    Phase.FAILED: failed,
    Phase.TERMINATING: terminating,
}
ROWS: Final[dict[Phase, tuple[Row, ...]]] = {phase: each.ROWS for phase, each in PHASES.items()}


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
    if snapshot.foreign:
        return release_foreign(snapshot)
    if snapshot.deletion_requested and snapshot.phase is not Phase.TERMINATING:
        actions = terminate(snapshot)
    else:
        actions = first_of(ROWS[snapshot.phase], snapshot, now, config)
        if snapshot.phase is Phase.RUNNING:
            actions = running.with_reports(snapshot, actions, now, config)
    snapshot.require(Need.OBSERVED)
    problem = snapshot.create_problem
    recorded: Actions = ()
    if problem is not None:
        created = record_created(snapshot.components)
        recorded = (*created, *record_refusal(problem, snapshot.components))
    sweep = (DeleteComponents(DeletionMode.UNEXPECTED),) if snapshot.unexpected_due else ()
    return (*recorded, *actions, *sweep)
