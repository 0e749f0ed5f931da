"""Resetting: delete every component, pause, then deploy again. The quota is held throughout.

Delete the components, then begin the pause: a slow deletion does not shorten the pause.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import Actions, Reason, StartTimer, Timer, WakeAfter, Warn, reporting
from controller.phases.deletion import end_deletion, something_is_left
from controller.phases.reassignment import (
    ask_for_other_nodes,
    is_reassigned,
    is_reassignment_overdue,
)
from controller.phases.reset_or_fail import pause_after, report_pause
from controller.phases.resuming import deploy, old_objects_remain
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.suspending import suspended
from controller.phases.timers import ZERO, remaining
from controller.reports.quota_reserved import nodes_unchanged, reserved
from shared.api.names import CONDITION_QUOTA_RESERVED, CONDITION_UNHEALTHY


def resources_are_left(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """Something is left: delete it, gracefully until the deadline, then by force."""
    if snapshot.timers.retry_pause is not None:
        return None
    return something_is_left(snapshot, now, config)


def all_is_gone(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """All is gone: ResourcesDeployed False; RetryPausePeriod begins."""
    if snapshot.timers.retry_pause is not None:
        return None
    return (
        *end_deletion(snapshot),
        *report_pause(snapshot, now + _pause(snapshot, config), config),
        StartTimer(Timer.RETRY_PAUSE),
        WakeAfter(_pause(snapshot, config)),
    )


def pauses(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """RetryPausePeriod is not over: nothing. After a node's silence there is no pause."""
    left = remaining(snapshot.timers.retry_pause, _pause(snapshot, config), now)
    return (WakeAfter(left),) if left > ZERO else None


def nodes_are_unusable(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """An assigned node accepts no pods: ask Kueue for other nodes, and wait for a time."""
    return ask_for_other_nodes(snapshot, now, config) or None


def runs_again(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Otherwise the next attempt begins: ResourcesDeployed True, Unhealthy False; Resuming."""
    if is_reassigned(snapshot) and is_reassignment_overdue(snapshot, now, config):
        report = reporting(nodes_unchanged(snapshot.topology_workload))
        warning = Warn(Reason.REASSIGNMENT, report.message)
        return (warning, *deploy(snapshot, Reason.RETRY_PAUSE_OVER, (report,)))
    return deploy(snapshot, Reason.RETRY_PAUSE_OVER, _keep_quota(snapshot))


ROWS: Final[tuple[Row, ...]] = (
    suspended,
    resources_are_left,
    all_is_gone,
    pauses,
    nodes_are_unusable,
    old_objects_remain,
    runs_again,
)


def _pause(snapshot: Snapshot, config: FaultTolerance) -> timedelta:
    """Return the pause of this reset. Unhealthy reports why it began, after a restart, too.

    The controller asks for other nodes only after the pause.
    """
    if is_reassigned(snapshot):
        return ZERO
    return pause_after(snapshot.text_of(CONDITION_UNHEALTHY).reason, config.retry_pause)


def _keep_quota(snapshot: Snapshot) -> Actions:
    """Keep QuotaReserved, unless it reports another attempt's nodes or has another reason."""
    current = snapshot.text_of(CONDITION_QUOTA_RESERVED)
    holds = CONDITION_QUOTA_RESERVED in snapshot.conditions
    about_nodes = not snapshot.is_news(nodes_unchanged(snapshot.topology_workload))
    if holds and current.reason == Reason.RESUMING and not about_nodes:
        return ()
    return (reporting(reserved()),)
