"""When an AppWrapper has done what it was for."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from controller.phases.actions import (
    Actions,
    DeleteComponents,
    DeletionMode,
    Reason,
    RecordEnds,
    StartTimer,
    Timer,
    WakeAfter,
    Warn,
)
from controller.phases.deletion import FORCE_AGAIN, LOOK_AGAIN, continue_deletion, end_deletion
from controller.phases.snapshot import Component, FaultTolerance, PodCounts, Presence, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.conditions import Terminal
from shared.api.names import CONDITION_RESOURCES_DEPLOYED

# What components say of themselves, and what failed, for the messages that people read.


def words_of(components: Iterable[Component]) -> str:
    """Each by its Kind and name, with its message."""
    return "; ".join(f"{each.kind} {each.name}: {each.message}" for each in components)


def words_of_failed(pods: PodCounts) -> str:
    """How many pods failed, and which. Only where some did."""
    number = "1 failed pod" if pods.failed == 1 else f"{pods.failed} failed pods"
    return f"{number}: {pods.failed_named}" if pods.failed_named else number


def with_trouble(message: str, snapshot: Snapshot) -> str:
    """`message`, which is about pods, and what those that make pods say is in their way."""
    in_trouble = [
        each
        for each in snapshot.components
        if each.message and each.terminal is None and not each.helper
    ]
    return f"{message}; {words_of(in_trouble)}" if in_trouble else message


def has_succeeded(snapshot: Snapshot) -> bool:
    """Every component that counts ended well, and nothing is left that has, or makes, pods."""
    return has_ended_well(snapshot) and not snapshot.pods.under_way and not _helpers(snapshot)


def has_ended_well(snapshot: Snapshot) -> bool:
    """Every component that counts ended well; pods may still run.

    A component whose Kind reports its end is believed, since its pods may have been cleaned up
    (cleanPodPolicy, a TTL). Of the others, as many pods as expected must have succeeded.
    """
    counting = _counting(snapshot)
    if not counting or snapshot.pods.failed:
        return False
    going_on = [each for each in counting if each.terminal is not Terminal.SUCCEEDED]
    if any(each.reports for each in going_on):
        return False
    return snapshot.pods.loose_succeeded >= sum(each.expected_pods for each in going_on)


def remove_the_rest(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """What still runs after the end: helpers go at once, stragglers after FailureGracePeriod.

    The quota is held until they are gone (specification 4). What says of itself that it ended is
    remembered first: a TTL may remove it meanwhile, and a restart must not take it for missing.
    """
    ends = _unrecorded(snapshot, _reported(snapshot))
    helpers = _helpers(snapshot)
    if any(each.presence is Presence.PRESENT for each in helpers):
        return (*ends, DeleteComponents(DeletionMode.HELPERS), WakeAfter(LOOK_AGAIN))
    if helpers:
        return (*ends, *_see_off(helpers, now, config))
    began = snapshot.timers.stragglers
    start = (StartTimer(Timer.STRAGGLERS),) if began is None else ()
    left = remaining(began, config.failure_grace, now)
    if left > ZERO:
        return (*ends, *start, WakeAfter(left))
    return (*ends, *start, *_remove_stragglers(snapshot, now, config), WakeAfter(FORCE_AGAIN))


def awaits_stragglers(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """Pods are seen under way after the end, and have time to end by themselves."""
    began = snapshot.timers.stragglers
    waits = began is not None and remaining(began, config.failure_grace, now) > ZERO
    return waits and snapshot.pods.under_way > 0


def _see_off(helpers: Sequence[Component], now: datetime, config: FaultTolerance) -> Actions:
    """They are on their way out. What does not come to its end is forced, as in any deletion."""
    grace = config.forceful_deletion_grace
    overdue = [
        f"{each.kind} {each.name}"
        for each in helpers
        if each.leaves is not None and remaining(each.leaves, grace, now) == ZERO
    ]
    if not overdue:
        return (WakeAfter(LOOK_AGAIN),)
    said = f"helpers are not deleted in time: {', '.join(overdue)}; their pods are forced"
    leaving = DeleteComponents(DeletionMode.FORCE_LEAVING)
    return (leaving, Warn(Reason.STRAGGLERS, said), WakeAfter(FORCE_AGAIN))


def _remove_stragglers(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Pods alone where their component ended; it stays for its logs and its own words.

    A component that did not say that it ended, or of which something is left that makes new pods
    for those that are removed, goes as a whole. That it ended well is written down first: the
    object that says so, or the pods that showed it, will be gone. What does not go within
    ForcefulDeletionGracePeriod is forced.
    """
    pods = snapshot.pods
    if pods.stragglers and not _came_back(snapshot, config):
        told = Warn(Reason.STRAGGLERS, f"{pods.stragglers} pods outlived their component")
        mode = DeletionMode.OUTLIVED if _would_come_back(snapshot) else DeletionMode.STRAGGLERS
        return (DeleteComponents(mode), told)
    if left := pods.stragglers or pods.pending + pods.running:
        told = Warn(
            Reason.STRAGGLERS, f"{left} pods outlived success; their components are deleted"
        )
        silent = [each for each in _counting(snapshot) if each.terminal is None]
        ends = _unrecorded(snapshot, silent)
        return (*ends, DeleteComponents(DeletionMode.OUTLIVED), told)
    patience = config.failure_grace + config.forceful_deletion_grace
    if remaining(snapshot.timers.stragglers, patience, now) > ZERO:
        return ()  # all are on their way out
    said = f"{pods.under_way} pods are not deleted in time; they are forced"
    told = Warn(Reason.STRAGGLERS, said)
    return (DeleteComponents(DeletionMode.FORCE_LEAVING), told)


def _came_back(snapshot: Snapshot, config: FaultTolerance) -> bool:
    """Some were made after the removal was due. The API server tells creations to the second."""
    began, newest = snapshot.timers.stragglers, snapshot.pods.newest_straggler
    if began is None or newest is None:
        return False
    return newest >= (began + config.failure_grace).replace(microsecond=0)


def _would_come_back(snapshot: Snapshot) -> bool:
    """Pods that are removed by themselves would, as far as is known of what made them.

    In the moment between two of them nothing runs, and success must not be concluded from that.
    """
    return any(
        each.outlived and each.exists and each.terminal is Terminal.SUCCEEDED
        for each in snapshot.components
    )


def record_ends(snapshot: Snapshot) -> Actions:
    """Remember which components ended well while others go on.

    Their objects may be gone (a TTL) before the last one ends, and this process may not be the one
    that saw it. With one component only there is nothing to wait for, and no write to spend.
    """
    if all(each.terminal for each in _counting(snapshot)):
        return ()
    return _unrecorded(snapshot, _reported(snapshot))


def _unrecorded(snapshot: Snapshot, ended: Collection[Component]) -> Actions:
    indices = tuple(
        index
        for index, each in enumerate(snapshot.components)
        if each in ended and not each.end_recorded
    )
    return (RecordEnds(indices),) if indices else ()


def _reported(snapshot: Snapshot) -> list[Component]:
    """Those that say themselves that they ended well."""
    return [each for each in snapshot.components if each.terminal is Terminal.SUCCEEDED]


def _counting(snapshot: Snapshot) -> list[Component]:
    """The components whose end is the end of the AppWrapper."""
    return [each for each in snapshot.components if each.expected_pods and not each.helper]


def _helpers(snapshot: Snapshot) -> list[Component]:
    """Those that are still there."""
    return [each for each in snapshot.components if each.helper and each.exists]


# Succeeded: finished; the resources are kept for SuccessTTL.


def decide_succeeded(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Wait until the TTL is over, then delete the components. Suspending has no effect."""
    if CONDITION_RESOURCES_DEPLOYED not in snapshot.conditions:
        return ()
    left = remaining(snapshot.timers.success, config.success_ttl, now)
    if left > ZERO:
        start = (StartTimer(Timer.SUCCESS),) if snapshot.timers.success is None else ()
        return (*start, WakeAfter(left))
    if not snapshot.gone:
        return continue_deletion(snapshot, now, config)
    return end_deletion(snapshot)
