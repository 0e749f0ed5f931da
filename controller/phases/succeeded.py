"""Succeeded: finished; the resources are kept for SuccessTTL."""

from datetime import datetime

from controller.phases import deletion
from controller.phases.actions import Actions, RequeueAfter, StartTimer, Timer
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_RESOURCES_DEPLOYED


def decide_succeeded(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Nothing until the TTL is over, then delete. Suspending what has ended changes nothing."""
    if CONDITION_RESOURCES_DEPLOYED not in snapshot.conditions:
        return ()
    left = remaining(snapshot.timers.success, config.success_ttl, now)
    if left > ZERO:
        start = (StartTimer(Timer.SUCCESS),) if snapshot.timers.success is None else ()
        return (*start, RequeueAfter(left))
    if not snapshot.gone:
        return deletion.proceed(snapshot, now, config)
    return deletion.finish(snapshot)
