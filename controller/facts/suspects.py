"""Nodes that an AppWrapper should avoid: a pod failed there first, or they were silent. Pure.

`status.suspectNodes` remembers them. The controller writes it together with the reset, and the
command reads it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.phases.root_cause import RootCause
from controller.phases.snapshot import Suspect
from controller.phases.timers import unless_ahead
from shared.api.objects import JsonObject
from shared.api.times import format_time, parse_time


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
    """An entry of `status.suspectNodes`: `pod` of `attempt` failed first, on `node`.

    `unreachable`: the node did not answer, which moved the AppWrapper.
    """

    node: str
    since: datetime
    pod: str
    attempt: int
    unreachable: bool = False

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


def known_silent(status: JsonObject, now: datetime) -> list[str]:
    """Return the suspects whose silence moved the AppWrapper."""
    return [each.node for each in suspects_of(status, now) if each.unreachable]


def with_suspect(
    status: JsonObject, suspect: Suspect, attempt: int, now: datetime
) -> list[JsonObject]:
    """Return the new `status.suspectNodes`.

    A node that is already listed moves to the end, and its 24 hours begin again. Once unreachable,
    it stays so for that time.
    """
    listed = suspects_of(status, now)
    known = [each for each in listed if each.node != suspect.node]
    before = any(each.unreachable for each in listed if each.node == suspect.node)
    new = SuspectNode(
        node=suspect.node,
        since=now,
        pod=suspect.pod,
        attempt=attempt,
        unreachable=suspect.unreachable or before,
    )
    return [_encoded(each) for each in [*known, new][-MOST_SUSPECTS:]]


def _read(entry: object) -> SuspectNode | None:
    match entry:
        case {
            "node": str(node),
            "since": str(since),
            "pod": str(pod),
            "attempt": int(attempt),
            **others,
        }:
            try:
                began = parse_time(since)
            except ValueError:
                return None
            silent = others.get("unreachable") is True
            new = SuspectNode(node=node, since=began, pod=pod, attempt=attempt, unreachable=silent)
            return new if node else None
    return None


def _encoded(suspect: SuspectNode) -> JsonObject:
    return {
        "node": suspect.node,
        "since": format_time(suspect.since),
        "pod": suspect.pod,
        "attempt": suspect.attempt,
        **({"unreachable": True} if suspect.unreachable else {}),
    }
