"""When a decision needs the proof that everything is gone."""

from datetime import datetime

from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_RESOURCES_DEPLOYED


def wants_proof(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> bool:
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


def spares_kept(snapshot: Snapshot) -> bool:
    """What is deleted now leaves kept components alone, so the proof passes over them too.

    They survive resets and suspensions; they go with the AppWrapper, on failure and at the TTL.
    """
    ends = snapshot.deletion_requested
    return not ends and snapshot.phase in (Phase.RESETTING, Phase.SUSPENDING)
