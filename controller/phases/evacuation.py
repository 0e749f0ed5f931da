"""Pods that are to leave their nodes at once."""

from controller.phases.actions import Reason
from controller.phases.retry_budget import Finding
from controller.phases.snapshot import Snapshot


def evacuation(snapshot: Snapshot) -> Finding | None:
    """Running pods use what their node's label says is to be left: reset or fail, without grace.

    The node is to blame, so exit codes count for nothing and, as a rule, no retry is spent; but one
    must be left. Only Running asks: in Resuming, which is over within AdmissionGracePeriod, half of
    the components are not there yet, and Running looks first of all.
    """
    if (found := snapshot.evacuation) is None:
        return None
    return Finding(
        reason=Reason.AUTOPILOT_NO_EXECUTE,
        message=found.message,
        spends_retry=found.spends_retry,
    )
