"""Resetting: delete every component, pause, then deploy again. The quota is held throughout."""

from datetime import datetime

from controller.phases.actions import Actions, Reason, StartTimer, Timer, WakeAfter, Warn, reporting
from controller.phases.ask import Need
from controller.phases.deletion import LOOK_AGAIN, continue_deletion, end_deletion, is_gone
from controller.phases.reassignment import ask_for_other_nodes, nodes_unchanged
from controller.phases.resuming import deploy
from controller.phases.retries import report_pause
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.suspending import suspend
from controller.phases.timers import ZERO, remaining
from controller.reports.quota_reserved import NodesUnchanged, Reserved
from shared.api.names import CONDITION_QUOTA_RESERVED


def decide_resetting(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Delete the components, then begin the pause: a slow deletion does not shorten the pause."""
    if snapshot.suspend:
        return suspend(snapshot)
    if snapshot.timers.retry_pause is None:
        if not is_gone(snapshot):
            return continue_deletion(snapshot, now, config)
        return (
            *end_deletion(snapshot),
            *report_pause(snapshot, now + config.retry_pause, config),
            StartTimer(Timer.RETRY_PAUSE),
            WakeAfter(config.retry_pause),
        )
    left = remaining(snapshot.timers.retry_pause, config.retry_pause, now)
    if left > ZERO:
        return (WakeAfter(left),)
    if asking := ask_for_other_nodes(snapshot, now, config):
        return asking
    snapshot.require(Need.OBSERVED)
    if snapshot.unexpected_alive:  # two attempts never run at once
        return (WakeAfter(LOOK_AGAIN),)
    if unchanged := nodes_unchanged(snapshot, now, config):
        report = reporting(unchanged)
        warning = Warn(Reason.REASSIGNMENT, report.message)
        return (warning, *deploy(snapshot, Reason.RETRY_PAUSE_OVER, (report,)))
    return deploy(snapshot, Reason.RETRY_PAUSE_OVER, _keep_quota(snapshot))


def _keep_quota(snapshot: Snapshot) -> Actions:
    """Keep QuotaReserved, unless it reports another attempt's nodes or has another reason."""
    told = snapshot.told.get(CONDITION_QUOTA_RESERVED)
    last = snapshot.reported.get(CONDITION_QUOTA_RESERVED)
    holds = CONDITION_QUOTA_RESERVED in snapshot.conditions
    if holds and told and told.reason == Reason.RESUMING and not isinstance(last, NodesUnchanged):
        return ()
    return (reporting(Reserved()),)
