"""The observations that a decision needs; the gatherer provides them."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from controller.phases.actions import Actions, MoveTo, Reason
from controller.phases.deletion import is_reassigned, spares_kept
from controller.phases.evidence import FAILURES
from controller.phases.failures import EARLIEST
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    OFF,
    Component,
    FaultTolerance,
    PodSetInfos,
    Presence,
    Snapshot,
)
from controller.phases.success import awaits_stragglers, has_ended_well, has_succeeded
from controller.phases.timers import ZERO, rejection_due_in, remaining
from controller.phases.waiting import looks_for_settings
from shared.api.conditions import Terminal
from shared.api.names import CONDITION_RESOURCES_DEPLOYED

# Kueue answers within a second; a new replica of Kueue takes over within half a minute. After this
# period the next attempt begins on the assigned nodes.
REASSIGNMENT_PATIENCE: Final = timedelta(minutes=2)


class Need(StrEnum):
    """The observations that a decision may need in addition to the AppWrapper itself."""

    QUEUE = "queue"  # its queue and its Workload, from watches
    KUEUE_SETTINGS = "kueue settings"  # why Kueue creates no Workload for it
    KUEUE = "kueue"  # whether Kueue is installed
    DEPLOYED = "deployed"  # its components and pods, from watches
    PROOF = "proof"  # fresh reads that prove that none of these exist
    PROOF_SAVE_KEPT = "proof save kept"  # the same, except for kept components
    NAMESPACE = "namespace"  # whether its namespace is being deleted
    LIVE_PODS = "live pods"  # its pods, read from the API server
    LIVE_LABELS = "live labels"  # the labels of its pods' bad nodes, read from the API server
    RECORDS = "records"  # its pods' records in the error store
    EVICTION = "eviction"  # why Kueue evicted its Workload
    REJECTIONS = "rejections"  # Events by which operators reject its components
    ASSIGNMENT = "assignment"  # whether the nodes that Kueue assigned accept its pods


def needs(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> frozenset[Need]:
    """Return the needs that `snapshot` shows. Call it again once components and pods are known."""
    if snapshot.phase in (Phase.EMPTY, Phase.SUSPENDED) and not snapshot.deletion_requested:
        return _needs_of_waiting(snapshot, now)
    if _wants_proof(snapshot, now, config):
        proof = Need.PROOF_SAVE_KEPT if spares_kept(snapshot) else Need.PROOF
        return frozenset({Need.DEPLOYED, proof, *_once_suspended(snapshot)})
    needed = {Need.DEPLOYED}
    if _is_assignment_due(snapshot, now, config):
        needed.add(Need.ASSIGNMENT)
    if snapshot.create_problem or any(_is_in_trouble(each) for each in snapshot.components):
        needed.add(Need.NAMESPACE)
    if rejection_due_in(snapshot, now) == ZERO:
        needed.add(Need.REJECTIONS)
    if _pods_are_in_doubt(snapshot, now, config):
        needed.add(Need.LIVE_PODS)
    return frozenset(needed)


def needs_before(actions: Actions, snapshot: Snapshot, config: FaultTolerance) -> frozenset[Need]:
    """Return what must be read before `actions` are carried out: then `decide` is called again."""
    live = {Need.LIVE_PODS} if _ends_for_its_pods(actions) else set()
    labels = {Need.LIVE_LABELS} if _evacuates(actions) else set()
    records = {Need.RECORDS} if _wants_store(actions, snapshot, config) else set()
    return frozenset(live | labels | records)


def _wants_store(actions: Actions, snapshot: Snapshot, config: FaultTolerance) -> bool:
    """True if the actions answer a failure before the error store was read."""
    if not config.error_store or config.error_aggregation == OFF or snapshot.store_read:
        return False
    return any(
        isinstance(each, MoveTo)
        and each.phase in (Phase.RESETTING, Phase.FAILED)
        and each.reason in FAILURES
        for each in actions
    )


def _once_suspended(snapshot: Snapshot) -> tuple[Need, ...]:
    """Return EVICTION if everything is gone and the quota will be released."""
    ends = snapshot.phase is Phase.SUSPENDING and snapshot.gone and not snapshot.deletion_requested
    return (Need.EVICTION,) if ends and snapshot.queued else ()


def _needs_of_waiting(snapshot: Snapshot, now: datetime) -> frozenset[Need]:
    unsuspended = _waits_for_kueue(snapshot)
    suspended = snapshot.phase is Phase.SUSPENDED and snapshot.queued and snapshot.suspend
    if not (suspended or unsuspended):
        return frozenset()
    kueue = {Need.KUEUE} if unsuspended else set()
    settings = {Need.KUEUE_SETTINGS} if looks_for_settings(snapshot, now) else set()
    return frozenset({Need.QUEUE, *kueue, *settings})


def _waits_for_kueue(snapshot: Snapshot) -> bool:
    """True if it is unsuspended without complete podSetInfos.

    This is rare with Kueue, which suspends a queued AppWrapper when it is created.
    """
    return (
        snapshot.phase is Phase.SUSPENDED
        and snapshot.queued
        and not snapshot.suspend
        and snapshot.pod_set_infos is not PodSetInfos.COMPLETE
    )


def _wants_proof(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """True if the phase deletes, so that `snapshot.gone` decides. The proof costs live reads."""
    if snapshot.deletion_requested:
        return snapshot.finalizer
    deployed = CONDITION_RESOURCES_DEPLOYED in snapshot.conditions
    match snapshot.phase:
        case Phase.SUSPENDING | Phase.TERMINATING:
            return True
        case Phase.RESETTING:
            return snapshot.timers.retry_pause is None
        case Phase.FAILED:
            return deployed
        case Phase.SUCCEEDED:
            ttl_left = remaining(snapshot.timers.success, config.success_ttl, now)
            return deployed and ttl_left == ZERO
    return False


def _is_assignment_due(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """True if the pause is over and Kueue may be asked for other nodes.

    If Kueue's time is over before the first request, Kueue is still asked once.
    """
    began = snapshot.timers.retry_pause
    if snapshot.phase is not Phase.RESETTING or not snapshot.topology_workload or began is None:
        return False
    if snapshot.suspend or remaining(began, config.retry_pause, now) > ZERO:
        return False
    return not (is_reassignment_overdue(snapshot, now, config) and is_reassigned(snapshot))


def is_reassignment_overdue(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """True if Kueue's time to assign other nodes is over."""
    period = config.retry_pause + REASSIGNMENT_PATIENCE
    return remaining(snapshot.timers.retry_pause, period, now) == ZERO


def _is_in_trouble(component: Component) -> bool:
    return component.presence is Presence.GONE or component.terminal is Terminal.FAILED


def _pods_are_in_doubt(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """True if the end of the attempt must be checked with live pods: the pod watch may lag behind.

    On success the quota is released, so no unfinished pod may be missing from the cache. A
    straggler may have ended just now. On failure the root cause or a listed exit code decides
    about another attempt, and its pod or node may be missing from the cache. While stragglers have
    time to end, the watch suffices: it causes a pass for each of possibly hundreds of pods.
    """
    if snapshot.phase is not Phase.RUNNING:
        return False
    counting = [each for each in snapshot.components if not each.helper]
    if any(each.terminal is Terminal.FAILED for each in counting):
        unseen = config.remember_suspects and not snapshot.pods.failed
        listed = config.terminal_exit_codes or config.retryable_exit_codes
        return unseen or config.error_aggregation == EARLIEST or bool(listed)
    if has_succeeded(snapshot):
        return True
    if not has_ended_well(snapshot) or not any(each.terminal for each in counting):
        return False
    return snapshot.pods.under_way > 0 and not awaits_stragglers(snapshot, now, config)


# The reasons that only pods can show.
_SHOWN_BY_PODS: Final = frozenset({Reason.FAILED_PODS, Reason.INSUFFICIENT_PODS_READY})


def _ends_for_its_pods(actions: Actions) -> bool:
    """True if the attempt ends only because of its pods.

    The reset of an evacuation needs no live list, for which the API server may take 100 ms until
    its cache is fresh: if a pod has moved meanwhile, the reset usually spends no retry. Without a
    remaining retry an evacuation ends the AppWrapper, so it needs the list.
    """
    moves = [action for action in actions if isinstance(action, MoveTo)]
    return any(
        move.reason in _SHOWN_BY_PODS
        if move.phase is Phase.RESETTING
        else move.phase is Phase.FAILED
        and move.reason in (*_SHOWN_BY_PODS, Reason.AUTOPILOT_NO_EXECUTE)
        for move in moves
    )


def _evacuates(actions: Actions) -> bool:
    """True if the attempt ends because of a node's label.

    The watch of nodes may still show a label that is gone, and pods may have come there since.
    """
    moves = [action for action in actions if isinstance(action, MoveTo)]
    return any(move.reason is Reason.AUTOPILOT_NO_EXECUTE for move in moves)
