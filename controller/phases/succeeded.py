"""Succeeded: the resources are kept for SuccessTTL.

Wait until the TTL is over, then delete the components. Suspending has no effect.
"""

from datetime import datetime
from typing import Final

from controller.phases.actions import Actions, StartTimer, Timer, WakeAfter
from controller.phases.deletion import end_deletion, nothing_deployed, something_is_left
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import ZERO, remaining


def kept(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """SuccessTTL is not over: nothing, even if it is suspended."""
    left = remaining(snapshot.timers.success, config.success_ttl, now)
    if left == ZERO:
        return None
    start = (StartTimer(Timer.SUCCESS),) if snapshot.timers.success is None else ()
    return (*start, WakeAfter(left))


def all_is_gone(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """All is gone: ResourcesDeployed False."""
    return end_deletion(snapshot)


ROWS: Final[tuple[Row, ...]] = (nothing_deployed, kept, something_is_left, all_is_gone)
