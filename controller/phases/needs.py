"""What a decision needs to be seen beyond the caches, as data: gathering sees to it."""

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
from controller.phases.timers import ZERO, remaining
from controller.phases.waiting import looks_for_settings
from shared.api.conditions import Terminal
from shared.api.names import CONDITION_RESOURCES_DEPLOYED

# Kueue answers within a second; a new replica of it takes over within half a minute. Then the next
# attempt begins with the nodes that are assigned, as it would without a topology.
REASSIGNMENT_PATIENCE: Final = timedelta(minutes=2)


class Need(StrEnum):
    """What a decision needs to be seen, beyond what the AppWrapper says itself."""

    QUEUE = "queue"  # its queue and its Workload, as watches show them
    KUEUE_SETTINGS = "kueue settings"  # why Kueue makes no Workload of it
    KUEUE = "kueue"  # whether there can be one, that admits it
    DEPLOYED = "deployed"  # its components and pods, as watches show them
    PROOF = "proof"  # that nothing of them is left, by fresh reads
    PROOF_SAVE_KEPT = "proof save kept"  # the same, but what is kept may stay
    NAMESPACE = "namespace"  # whether it is being deleted, and all that is in it
    LIVE_PODS = "live pods"  # its pods, as the API server itself has them
    RECORDS = "records"  # what its pods left in the error store
    EVICTION = "eviction"  # why Kueue took its quota back
    ASSIGNMENT = "assignment"  # whether the nodes that Kueue assigned take its pods


def needs(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> frozenset[Need]:
    """Given what is seen so far: to be asked again with components and pods once these are seen."""
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
    if _pods_are_in_doubt(snapshot, now, config):
        needed.add(Need.LIVE_PODS)
    return frozenset(needed)


def needs_before(actions: Actions, snapshot: Snapshot, config: FaultTolerance) -> frozenset[Need]:
    """What these are to be decided on anew with, before they are carried out."""
    live = {Need.LIVE_PODS} if _ends_for_its_pods(actions) else set()
    records = {Need.RECORDS} if _wants_store(actions, snapshot, config) else set()
    return frozenset(live | records)


def _wants_store(actions: Actions, snapshot: Snapshot, config: FaultTolerance) -> bool:
    """These answer a failure whose records in the error store were not read yet."""
    if not config.error_store or config.error_aggregation == OFF or snapshot.store_read:
        return False
    return any(
        isinstance(each, MoveTo)
        and each.phase in (Phase.RESETTING, Phase.FAILED)
        and each.reason in FAILURES
        for each in actions
    )


def _once_suspended(snapshot: Snapshot) -> tuple[Need, ...]:
    """When all is gone, and the quota goes back."""
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
    """Under Kueue next to none do: it suspends those of a queue when they are created."""
    return (
        snapshot.phase is Phase.SUSPENDED
        and snapshot.queued
        and not snapshot.suspend
        and snapshot.pod_set_infos is not PodSetInfos.COMPLETE
    )


def _wants_proof(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """The phase deletes, so `snapshot.gone` decides. Proof costs live reads; nobody else pays."""
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
    """The pause is over, and Kueue may be asked for other nodes; at least once, however late."""
    began = snapshot.timers.retry_pause
    if snapshot.phase is not Phase.RESETTING or not snapshot.topology_workload or began is None:
        return False
    if snapshot.suspend or remaining(began, config.retry_pause, now) > ZERO:
        return False
    return not (is_reassignment_overdue(snapshot, now, config) and is_reassigned(snapshot))


def is_reassignment_overdue(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """Kueue had its time to assign other nodes."""
    period = config.retry_pause + REASSIGNMENT_PATIENCE
    return remaining(snapshot.timers.retry_pause, period, now) == ZERO


def _is_in_trouble(component: Component) -> bool:
    return component.presence is Presence.GONE or component.terminal is Terminal.FAILED


def _pods_are_in_doubt(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
    """The end is about to be acted on, and the pod watch may lag behind.

    On success the quota goes back, so no pod may be under way that the watch has yet to tell of;
    and what seems to outlive its component may have ended just now. On failure the root cause
    decides whether there is another attempt, or a listed exit code of any pod; the pod that has it
    may not be known yet, nor the node that failed it. What waits for pods to end may wait for
    the watch, which wakes it with each of hundreds.
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


# What pods alone can be the reason of.
_SHOWN_BY_PODS: Final = frozenset({Reason.FAILED_PODS, Reason.INSUFFICIENT_PODS_READY})


def _ends_for_its_pods(actions: Actions) -> bool:
    """What runs is to be removed for what its pods show, and nothing else.

    An evacuation does not wait for the list: the API server may take 100 ms until it is sure that
    its own cache is fresh, and all that a pod which has moved meanwhile costs is a reset that does
    not count. Where no retry is left it costs the AppWrapper.
    """
    moves = [action for action in actions if isinstance(action, MoveTo)]
    return any(
        move.reason in _SHOWN_BY_PODS
        if move.phase is Phase.RESETTING
        else move.phase is Phase.FAILED
        and move.reason in (*_SHOWN_BY_PODS, Reason.AUTOPILOT_NO_EXECUTE)
        for move in moves
    )
