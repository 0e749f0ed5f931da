"""Nodes that an AppWrapper should avoid because a pod failed there first. Pure.

`status.suspectNodes` remembers them. The controller writes it together with the reset, and the
command reads it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.facts.pod_reasons import proof_of
from controller.facts.pods import Pod, is_terminal
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import FaultTolerance, Suspect
from controller.phases.timers import unless_ahead
from shared.api.objects import JsonObject
from shared.api.times import format_time, parse_time

# Which failures point at a node.
#
# Kubernetes' reasons alone rarely show the root cause. So pod_reasons.py lists reasons that
# certainly do not come from the node; all other failures make the node a suspect.

# A shell did not find the command, or may not execute it: the image or the command is wrong.
NO_SUCH_COMMAND: Final = frozenset({126, 127})
_KILLED: Final = frozenset({137, 143})


def points_at_node(pod: Pod, config: FaultTolerance) -> bool:
    """True if the node may be the cause of the pod's failure.

    False if the cause is known to be the program, its user or a planned disruption: an exit code
    that the user listed as terminal, a missing command, a reason that blames no node.
    """
    if not proof_of(pod.cause).blames_node or is_terminal(pod.exit_codes, config):
        return False
    return NO_SUCH_COMMAND.isdisjoint(pod.exit_codes)


def first_failure(failed: Iterable[Pod]) -> Pod | None:
    """Return the pod that failed first, or None if a deletion ended them all.

    The kubelet reports whole seconds. Within one second a killed pod comes last, as another pod's
    failure may be the reason; then the names decide.
    """
    own = [pod for pod in failed if pod.failed_at]
    return min(own, key=_order, default=None)


def _order(pod: Pod) -> tuple[str, bool, str, str]:
    return pod.failed_at, not _KILLED.isdisjoint(pod.exit_codes), pod.name, pod.uid


def suspect_among(failed: Iterable[Pod], config: FaultTolerance) -> Suspect | None:
    """Return the node of the pod that failed first, unless the node is not to blame.

    For AppWrappers without root causes. Later failures prove nothing: pods of one workload fail
    because one of them did.
    """
    first = first_failure(failed)
    if first is None or not first.node or not points_at_node(first, config):
        return None
    return Suspect(node=first.node, pod=first.name)


def suspect_of(root_cause: RootCause | None) -> Suspect | None:
    """Return the node of the root cause, unless the node is not to blame."""
    if root_cause is None or not root_cause.node or not root_cause.points_at_node:
        return None
    return Suspect(node=root_cause.node, pod=root_cause.pod)


# The suspects in an AppWrapper's status.

MOST_SUSPECTS: Final = 2
SUSPECTED_FOR: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectNode:
    """An entry of `status.suspectNodes`: `pod` of `attempt` failed first, on `node`."""

    node: str
    since: datetime
    pod: str
    attempt: int

    @property
    def until(self) -> datetime:
        """Return when the node is no longer avoided."""
        return self.since + SUSPECTED_FOR

    def is_in_force(self, now: datetime) -> bool:
        """False once it is 24 hours old, and if it is too far in the future for any clock."""
        return unless_ahead(self.since, now) is not None and now < self.until


def suspects_of(status: JsonObject, now: datetime) -> tuple[SuspectNode, ...]:
    """Return the entries that are less than 24 hours old, the latest last.

    Entries that the controller cannot have written (malformed, or in the future) are ignored.
    """
    entries = status.get("suspectNodes")
    read = map(_read, entries if isinstance(entries, list) else [])
    found = [each for each in read if each is not None and each.is_in_force(now)]
    return tuple(found[-MOST_SUSPECTS:])


def with_suspect(
    status: JsonObject, suspect: Suspect, attempt: int, now: datetime
) -> list[JsonObject]:
    """Return the new `status.suspectNodes`.

    A node that is already listed moves to the end, and its 24 hours begin again.
    """
    known = [each for each in suspects_of(status, now) if each.node != suspect.node]
    new = SuspectNode(node=suspect.node, since=now, pod=suspect.pod, attempt=attempt)
    return [_encoded(each) for each in [*known, new][-MOST_SUSPECTS:]]


def _read(entry: object) -> SuspectNode | None:
    match entry:
        case {"node": str(node), "since": str(since), "pod": str(pod), "attempt": int(attempt)}:
            try:
                began = parse_time(since)
            except ValueError:
                return None
            return SuspectNode(node=node, since=began, pod=pod, attempt=attempt) if node else None
    return None


def _encoded(suspect: SuspectNode) -> JsonObject:
    return {
        "node": suspect.node,
        "since": format_time(suspect.since),
        "pod": suspect.pod,
        "attempt": suspect.attempt,
    }
