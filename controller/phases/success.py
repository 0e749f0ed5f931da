"""When an AppWrapper has done what it was for."""

from datetime import datetime

from controller.phases.actions import (
    Actions,
    DeleteComponents,
    DeletionMode,
    Reason,
    RecordEnds,
    RequeueAfter,
    StartTimer,
    Timer,
    Warn,
)
from controller.phases.deadlines import ZERO, remaining
from controller.phases.deletion import FORCE_AGAIN, LOOK_AGAIN
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Component, Presence, Snapshot, Terminal


def has_succeeded(snapshot: Snapshot) -> bool:
    """Every component that counts ended well, and nothing is left that has, or makes, pods."""
    return has_ended_well(snapshot) and not _pods_under_way(snapshot) and not _helpers(snapshot)


def has_ended_well(snapshot: Snapshot) -> bool:
    """Every component that counts ended well; pods may still run.

    A component whose Kind reports its end is believed, since its pods may have been cleaned up
    (cleanPodPolicy, a TTL). Of the others, as many pods as expected must have succeeded.
    """
    counting = _counting(snapshot)
    if not counting or snapshot.pods.failed:
        return False
    if any(each.reports and each.terminal is not Terminal.SUCCEEDED for each in counting):
        return False
    loose = sum(each.expected_pods for each in counting if not each.reports)
    return snapshot.pods.loose_succeeded >= loose


def remove_the_rest(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """What still runs after the end: helpers go at once, stragglers after FailureGracePeriod.

    The quota is held until they are gone (specification 4).
    """
    helpers = _helpers(snapshot)
    if any(each.presence is Presence.PRESENT for each in helpers):
        return (DeleteComponents(DeletionMode.HELPERS), RequeueAfter(LOOK_AGAIN))
    if helpers:
        return (RequeueAfter(LOOK_AGAIN),)
    left = remaining(snapshot.timers.stragglers, config.failure_grace, now)
    if left > ZERO:
        start = (StartTimer(Timer.STRAGGLERS),) if snapshot.timers.stragglers is None else ()
        return (*start, RequeueAfter(left))
    pods = snapshot.pods.pending + snapshot.pods.running
    told = (Warn(Reason.STRAGGLERS, f"{pods} pods outlived their component"),) if pods else ()
    return (DeleteComponents(DeletionMode.STRAGGLERS), *told, RequeueAfter(FORCE_AGAIN))


def record_ends(snapshot: Snapshot) -> Actions:
    """Remember which components ended well while others go on.

    Their objects may be gone (a TTL) before the last one ends, and this process may not be the one
    that saw it. With one component only there is nothing to wait for, and no write to spend.
    """
    if all(each.terminal for each in _counting(snapshot)):
        return ()
    indices = tuple(
        index
        for index, each in enumerate(snapshot.components)
        if each.terminal is Terminal.SUCCEEDED and not each.end_recorded
    )
    return (RecordEnds(indices),) if indices else ()


def _counting(snapshot: Snapshot) -> list[Component]:
    """The components whose end is the end of the AppWrapper."""
    return [each for each in snapshot.components if each.expected_pods and not each.helper]


def _helpers(snapshot: Snapshot) -> list[Component]:
    """Those that are still there."""
    return [each for each in snapshot.components if each.helper and each.exists]


def _pods_under_way(snapshot: Snapshot) -> int:
    return snapshot.pods.pending + snapshot.pods.running + snapshot.pods.deleting
