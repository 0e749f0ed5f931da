"""Resetting: remove every component, pause, then deploy again. The quota is kept throughout."""

from datetime import datetime

from controller.phases import deletion
from controller.phases.actions import Actions, Reason, RequeueAfter, StartTimer, Timer
from controller.phases.deadlines import ZERO, remaining
from controller.phases.deployment import deploy
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Snapshot
from controller.phases.suspending import suspend


def decide_resetting(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Pause only once everything is gone, so that slow deletion does not eat the pause."""
    if snapshot.suspend:
        return suspend(snapshot)
    if snapshot.timers.retry_pause is None:
        if not snapshot.gone:
            return deletion.proceed(snapshot, now, config)
        return (
            *deletion.finish(snapshot),
            StartTimer(Timer.RETRY_PAUSE),
            RequeueAfter(config.retry_pause),
        )
    left = remaining(snapshot.timers.retry_pause, config.retry_pause, now)
    if left > ZERO:
        return (RequeueAfter(left),)
    return deploy(snapshot, Reason.RETRY_PAUSE_OVER)
