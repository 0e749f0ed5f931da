"""A component that somebody else deleted."""

from controller.phases.actions import Reason
from controller.phases.retry_budget import Finding
from controller.phases.snapshot import Presence, Snapshot


def missing_component(snapshot: Snapshot) -> Finding | None:
    """Never retried: making it anew would fight whoever deleted it.

    A component that had already reported how it ended is not missing: Jobs with a TTL go that way.
    Nor is a helper, without which the work itself goes on.
    """
    missing = [
        f"{component.kind} {component.name}"
        for component in snapshot.components
        if component.presence is Presence.GONE
        and component.terminal is None
        and not component.helper
    ]
    if not missing:
        return None
    return Finding(
        reason=Reason.MISSING_COMPONENT,
        message="deleted by somebody else: " + ", ".join(missing),
        retryable=False,
    )
