"""Conditions, and what a component's own status says of it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from shared.api.objects import JsonObject
from shared.api.times import format_time, parse_time

# Conditions as in `metav1.Condition`: a list of objects, at most one per type.
#
# All functions leave their arguments unchanged.


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


# What a component says of itself: its end, or its trouble.

_LONGEST: Final = 1000  # characters of a message: it is remembered for every component
# A new attempt to create a pod has a new name and says nothing new.
_NAMED_POD: Final = re.compile(r'\bpods "[^"]*" is forbidden: ')


class Terminal(StrEnum):
    """What a component itself says about its end."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """`terminal` None: not ended. `message` says why it failed, or what keeps it from its work.

    The latter is for people: it explains what the pods show, and nothing is decided on it.
    """

    terminal: Terminal | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a component says of its pods, of which objects may be gone.

    `succeeded` of them ended well, it says. `wanted`: so many it wants to have made by now; None:
    nothing holds it up, so all of them. Which ones succeeded it may say by their indices
    (`0,2-5`), or by their owners: how many of those whose name is this prefix and a number have
    succeeded with all their pods, and how many pods each of them has.
    """

    succeeded: int = 0
    wanted: int | None = None
    indices: str = ""
    by_owner: tuple[tuple[str, int, int], ...] = ()


NO_PROGRESS: Final = Progress()
UNFINISHED: Final = ComponentReport()
SUCCEEDED: Final = ComponentReport(Terminal.SUCCEEDED)


def from_conditions(
    item: JsonObject, *, succeeded: str, failed: str, trouble: Iterable[str] = ()
) -> ComponentReport:
    """For Kinds that end with one of two conditions. Who has both has failed.

    `trouble` names conditions that say, when True, why it does not come on; the first counts.
    """
    conditions = conditions_of(item.get("status") or {})
    if is_true(conditions, failed):
        return ComponentReport(Terminal.FAILED, words_of(conditions, failed))
    if is_true(conditions, succeeded):
        return SUCCEEDED
    return in_trouble(conditions, trouble)


def in_trouble(conditions: list[JsonObject], types: Iterable[str]) -> ComponentReport:
    """Not ended; with the words of the first of these conditions that is True."""
    found = next((kind for kind in types if is_true(conditions, kind)), None)
    return UNFINISHED if found is None else ComponentReport(message=words_of(conditions, found))


def conditions_of(status: JsonObject) -> list[JsonObject]:
    """May be empty."""
    return status.get("conditions") or []


def words_of(conditions: list[JsonObject], kind: str) -> str:
    """Reason and message of the condition of that type, which must be there."""
    found = condition(conditions, kind) or {}
    return in_words(found.get("reason") or kind, found.get("message"))


def in_words(*parts: str | None) -> str:
    """Those that say something, with colons between them."""
    text = _NAMED_POD.sub("", ": ".join(part for part in parts if part))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


# How many of its pods it says ended well, or wants so far: numbers in a status.


def number(holder: JsonObject, key: str) -> int:
    """The number under that key; 0 for anything that is none, and below."""
    value = holder.get(key)
    return max(0, value) if type(value) is int else 0


def succeeded_replicas(item: JsonObject) -> Progress:
    """Of the Kinds of kubeflow.org: a count for each role, and a field that suspends them."""
    status, spec = item.get("status") or {}, item.get("spec") or {}
    roles = (status.get("replicaStatuses") or {}).values()
    suspended = (spec.get("runPolicy") or {}).get("suspend") is True
    succeeded = sum(number(role or {}, "succeeded") for role in roles)
    return Progress(succeeded, wanted=0 if suspended else None)


def unless_suspended(item: JsonObject) -> Progress:
    """Of Kinds that count no pods that ended well."""
    return Progress(wanted=0 if (item.get("spec") or {}).get("suspend") is True else None)
