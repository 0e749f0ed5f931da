"""A component that somebody else deleted."""

from dataclasses import replace

from controller.phases.actions import Reason
from controller.phases.retry_budget import Finding
from controller.phases.snapshot import Presence, Snapshot


def missing_component(snapshot: Snapshot) -> Finding | None:
    """Never retried: making it anew would fight whoever deleted it.

    A component that had already reported how it ended is not missing: Jobs with a TTL go that way.
    Nor is a helper, without which the work itself goes on.
    """
    return _deleted(snapshot, Presence.GONE)


def leaving_component(snapshot: Snapshot) -> Finding | None:
    """One that somebody else deletes just now: it will be missing once its pods have gone.

    That takes time (foreground deletion, a long terminationGracePeriodSeconds), and its pods fail
    meanwhile. Whoever stopped the work must not see it begin again for that. A bare pod is deleted
    by Kubernetes itself as well: on a node that is silent it never goes, and needs another attempt.
    """
    others = tuple(each for each in snapshot.components if each.kind != "Pod")
    return _deleted(replace(snapshot, components=others), Presence.DELETING)


def _deleted(snapshot: Snapshot, presence: Presence) -> Finding | None:
    missing = [
        f"{component.kind} {component.name}"
        for component in snapshot.components
        if component.presence is presence and component.terminal is None and not component.helper
    ]
    if not missing:
        return None
    return Finding(
        reason=Reason.MISSING_COMPONENT,
        message="deleted by somebody else: " + ", ".join(missing),
        retryable=False,
    )
