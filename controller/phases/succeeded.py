"""Succeeded: the resources are kept for SuccessTTL."""

from datetime import datetime

from controller.phases.actions import Actions, StartTimer, Timer, WakeAfter
from controller.phases.deletion import continue_deletion, end_deletion, is_gone
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.names import CONDITION_RESOURCES_DEPLOYED


def decide_succeeded(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Wait until the TTL is over, then delete the components. Suspending has no effect."""
    if CONDITION_RESOURCES_DEPLOYED not in snapshot.conditions:
        return ()
    left = remaining(snapshot.timers.success, config.success_ttl, now)
    if left > ZERO:
        start = (StartTimer(Timer.SUCCESS),) if snapshot.timers.success is None else ()
        return (*start, WakeAfter(left))
    if not is_gone(snapshot):
        return continue_deletion(snapshot, now, config)
    return end_deletion(snapshot)
