"""Decide when an AppWrapper has succeeded, and remove the pods that still run."""

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
from controller.phases.ask import Need
from controller.phases.deletion import FORCE_AGAIN, LOOK_AGAIN
from controller.phases.snapshot import Component, FaultTolerance, PodCounts, Presence, Snapshot
from controller.phases.timers import ZERO, remaining
from shared.api.conditions import Terminal
from shared.api.names import ANNOTATION_HELPER
from shared.waits.words import few

# Texts about components and failed pods, for messages to users.


def words_of(components: Iterable[Component]) -> str:
    """Format components as `Kind name: message`."""
    return "; ".join(f"{each.kind} {each.name}: {each.message}" for each in components)


def words_of_failed(pods: PodCounts) -> str:
    """Return the number and the names of the failed pods. At least one must have failed."""
    number = "1 failed pod" if pods.failed == 1 else f"{pods.failed} failed pods"
    return f"{number}: {pods.failed_named}" if pods.failed_named else number


def with_trouble(message: str, snapshot: Snapshot) -> str:
    """Append to `message`, which is about pods, the problems that unfinished components report."""
    in_trouble = [
        each
        for each in snapshot.components
        if each.message and each.terminal is None and not each.helper
    ]
    return f"{message}; {words_of(in_trouble)}" if in_trouble else message


def has_succeeded(snapshot: Snapshot) -> bool:
    """True if all components that count succeeded, no pod is unfinished and no helper exists.

    Unfinished pods of earlier attempts count too, because success releases the quota.
    """
    over = has_ended_well(snapshot) and not snapshot.pods.under_way and not _helpers(snapshot)
    return over and not snapshot.unexpected_alive


def has_ended_well(snapshot: Snapshot) -> bool:
    """True if all components that count succeeded; pods may still run.

    If a component's Kind reports its end, the report decides: its pods may have been deleted
    (cleanPodPolicy, a TTL). The other components need as many succeeded pods as expected.
    """
    counting = _counting(snapshot)
    if not counting or snapshot.pods.failed:
        return False
    going_on = [each for each in counting if each.terminal is not Terminal.SUCCEEDED]
    if any(each.reports for each in going_on):
        return False
    return snapshot.pods.loose_succeeded >= sum(each.expected_pods for each in going_on)


def remove_the_rest(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """After success delete helpers at once, and stragglers after FailureGracePeriod.

    The quota is held until they are gone.
    """
    helpers = _helpers(snapshot)
    if any(each.presence is Presence.PRESENT for each in helpers):
        return (DeleteComponents(DeletionMode.HELPERS), WakeAfter(LOOK_AGAIN))
    if helpers:
        return _see_off(helpers, now, config)
    if not snapshot.pods.under_way:
        # Only unexpected objects remain, which `decide` deletes.
        return (WakeAfter(LOOK_AGAIN),)
    # While stragglers have time to end, the watch suffices: it causes a pass for each of possibly
    # hundreds of pods. After that, one may have ended just now.
    counting = (each for each in snapshot.components if not each.helper)
    if any(each.terminal for each in counting) and not _awaits_stragglers(snapshot, now, config):
        snapshot.require(Need.LIVE_PODS)
    began = snapshot.timers.stragglers
    start = (StartTimer(Timer.STRAGGLERS),) if began is None else ()
    left = remaining(began, config.failure_grace, now)
    if left > ZERO:
        return (*start, WakeAfter(left))
    return (*start, *_remove_stragglers(snapshot, now, config), WakeAfter(FORCE_AGAIN))


def _awaits_stragglers(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """True if pods that still run after success have time to end by themselves."""
    began = snapshot.timers.stragglers
    return began is not None and remaining(began, config.failure_grace, now) > ZERO


def _see_off(helpers: Sequence[Component], now: datetime, config: FaultTolerance) -> Actions:
    """Wait for the deleted helpers; force their pods if a helper exceeds its deadline."""
    grace = config.forceful_deletion_grace
    overdue = [
        f"{each.kind} {each.name}"
        for each in helpers
        if remaining(each.deletion_deadline, grace, now) == ZERO
    ]
    if not overdue:
        return (WakeAfter(LOOK_AGAIN),)
    message = f"helpers are not deleted in time: {', '.join(overdue)}; their pods are forced"
    leaving = DeleteComponents(DeletionMode.FORCE_LEAVING)
    return (leaving, Warn(Reason.STRAGGLERS, message), WakeAfter(FORCE_AGAIN))


def _remove_stragglers(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Delete the remaining pods.

    If a component reported its end, only its pods are deleted: it stays for its logs and messages.
    A component without such a report is deleted as a whole, after its success is recorded. So is a
    component if its pods would be replaced or were replaced. Pods that remain after
    ForcefulDeletionGracePeriod are forced.
    """
    pods = snapshot.pods
    if pods.stragglers and not _came_back(snapshot, config):
        warning = Warn(Reason.STRAGGLERS, f"{pods.stragglers} pods outlived their component")
        mode = (
            DeletionMode.WITH_COMPONENT if _would_come_back(snapshot) else DeletionMode.STRAGGLERS
        )
        return (DeleteComponents(mode), warning)
    if left := pods.stragglers or pods.pending + pods.running:
        warning = Warn(
            Reason.STRAGGLERS, f"{left} pods outlived success; their components are deleted"
        )
        silent = [each for each in _counting(snapshot) if each.terminal is None]
        ends = _unrecorded(snapshot, silent)
        return (*ends, DeleteComponents(DeletionMode.WITH_COMPONENT), warning)
    patience = config.failure_grace + config.forceful_deletion_grace
    if remaining(snapshot.timers.stragglers, patience, now) > ZERO:
        return ()  # all are being deleted
    message = f"{pods.under_way} pods are not deleted in time; they are forced"
    warning = Warn(Reason.STRAGGLERS, message)
    return (DeleteComponents(DeletionMode.FORCE_LEAVING), warning)


def _came_back(snapshot: Snapshot, config: FaultTolerance) -> bool:
    """True if a straggler is newer than the removal. Creation times have whole seconds."""
    began, newest = snapshot.timers.stragglers, snapshot.pods.newest_straggler
    if began is None or newest is None:
        return False
    return newest >= (began + config.failure_grace).replace(microsecond=0)


def _would_come_back(snapshot: Snapshot) -> bool:
    """True if deleting these pods alone would be futile: an object of the component replaces them.

    Between a pod and its replacement nothing runs, and that must not count as success.
    """
    return any(each.has_surviving_children and each.exists for each in snapshot.components)


def record_ends(snapshot: Snapshot) -> Actions:
    """Record which components succeeded while others, or pods, continue.

    A TTL may delete their objects meanwhile. After a restart they must not count as missing. With
    the last end, warn once if the rest never ends.
    """
    ends = _unrecorded(snapshot, _reported(snapshot))
    return (*ends, *_warn_of_endless(snapshot)) if ends else ()


def _warn_of_endless(snapshot: Snapshot) -> Actions:
    text = only_endless(snapshot)
    remedy = f"To end it: appwrapper cancel {snapshot.arguments}"
    return (Warn(Reason.NEVER_ENDS, f"{text}. {remedy}"),) if text else ()


def only_endless(snapshot: Snapshot) -> str:
    """Return that all others have succeeded and the rest never ends, "" if that is not so."""
    counting = _counting(snapshot)
    left = [each for each in counting if each.terminal is not Terminal.SUCCEEDED]
    if not left or len(left) == len(counting) or not all(each.endless for each in left):
        return ""
    names = few(f"{each.kind} {each.name}" for each in left)
    verb = "never ends" if len(left) == 1 else "never end"
    return (
        f"all other components have succeeded, but {names} {verb}: the AppWrapper keeps running"
        " and holds its quota. Next time annotate a component that only serves the others with"
        f' {ANNOTATION_HELPER}: "true"'
    )


def _unrecorded(snapshot: Snapshot, ended: Collection[Component]) -> Actions:
    indices = tuple(
        index
        for index, each in enumerate(snapshot.components)
        if each in ended and not each.end_recorded
    )
    return (RecordEnds(indices),) if indices else ()


def _reported(snapshot: Snapshot) -> list[Component]:
    """Return the components that report success."""
    return [each for each in snapshot.components if each.terminal is Terminal.SUCCEEDED]


def _counting(snapshot: Snapshot) -> list[Component]:
    """Return the components whose end is the end of the AppWrapper."""
    return [each for each in snapshot.components if each.expected_pods and not each.helper]


def _helpers(snapshot: Snapshot) -> list[Component]:
    """Return the helpers that still exist."""
    return [each for each in snapshot.components if each.helper and each.exists]
