"""Conditions as in `metav1.Condition`: a list of objects, at most one per type.

All functions leave their arguments unchanged.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from shared.api.json import JsonObject
from shared.api.times import format_time, parse_time


def condition(conditions: Iterable[JsonObject], kind: str) -> JsonObject | None:
    """The condition of that type, if there."""
    return next((each for each in conditions if each.get("type") == kind), None)


def is_true(conditions: Iterable[JsonObject], kind: str) -> bool:
    """The condition of that type is there and True."""
    found = condition(conditions, kind)
    return found is not None and found.get("status") == "True"


def true_types(conditions: Iterable[JsonObject]) -> frozenset[str]:
    """The types of the conditions that are True."""
    return frozenset(each["type"] for each in conditions if each.get("status") == "True")


def transition_time(conditions: Iterable[JsonObject], kind: str) -> datetime | None:
    """When the condition of that type last changed its status; None when unknown."""
    found = condition(conditions, kind)
    text = (found or {}).get("lastTransitionTime")
    try:
        return parse_time(text) if isinstance(text, str) else None
    except ValueError:
        return None


def with_condition(
    conditions: Sequence[JsonObject],
    kind: str,
    status: str,
    reason: str,
    message: str,
    now: datetime,
) -> list[JsonObject]:
    """`conditions` with that one set, in its place or at the end.

    `status` is True, False or Unknown. As in Kubernetes' own library, lastTransitionTime moves only
    when the status changes.
    """
    old = condition(conditions, kind)
    moved = old is None or old.get("status") != status
    new = {
        "type": kind,
        "status": status,
        "lastTransitionTime": format_time(now) if moved else (old or {}).get("lastTransitionTime"),
        "reason": reason,
        "message": message,
    }
    if old is None:
        return [*conditions, new]
    return [new if each is old else each for each in conditions]
