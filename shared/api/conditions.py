"""Read and write conditions, and read a component's report from its own status."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from shared.api.lines import one_line
from shared.api.objects import JsonObject
from shared.api.times import format_time, time_or_none

# Conditions as in `metav1.Condition`: a list of objects, at most one per type. All functions leave
# their arguments unchanged.


def condition(conditions: Iterable[JsonObject], kind: str) -> JsonObject | None:
    """Return the condition of that type; None if absent."""
    for each in conditions:
        if each.get("type") == kind:
            return each
    return None


def is_true(conditions: Iterable[JsonObject], kind: str) -> bool:
    found = condition(conditions, kind)
    return found is not None and found.get("status") == "True"


def true_types(conditions: Iterable[JsonObject]) -> frozenset[str]:
    return frozenset(each["type"] for each in conditions if each.get("status") == "True")


def transition_time(conditions: Iterable[JsonObject], kind: str) -> datetime | None:
    """Return when the condition of that type last changed its status; None if unknown."""
    return time_or_none((condition(conditions, kind) or {}).get("lastTransitionTime"))


def with_condition(
    conditions: Sequence[JsonObject],
    kind: str,
    status: str,
    reason: str,
    message: str,
    now: datetime,
) -> list[JsonObject]:
    """Return `conditions` with this one set, in its place or at the end.

    `status` is True, False or Unknown. As in Kubernetes' own library, lastTransitionTime changes
    only with the status.
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


# A component's own report: its end, or its trouble.

_LONGEST: Final = 1000  # characters of a message: it is kept in memory for every component
# Each attempt to create a pod has a new name, so the name is no new trouble.
_NAMED_POD: Final = re.compile(r'\bpods "[^"]*" is forbidden: ')


class Terminal(StrEnum):
    """The end that a component's own status reports."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """A component's own status: `terminal` is None before its end.

    `message` names why it failed, or what blocks it now. The latter is for people: it explains the
    state of the pods, and no decision depends on it. `invalid`: it failed because its operator
    rejects it, so no retry helps.
    """

    terminal: Terminal | None = None
    message: str = ""
    invalid: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """A component's own counts of its pods, also of pods whose objects are gone.

    `succeeded` pods ended well. `wanted` is the number of pods that should exist by now; None: all,
    because nothing delays them. A status may identify the succeeded pods by `indices` (`0,2-5`), or
    by their owners. Each entry of `by_owner` covers the owners whose name is this prefix and a
    number: how many succeeded with all their pods, and how many pods each has.
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
    """Report for Kinds that end with one of two conditions. An object with both has failed.

    `trouble` names conditions that explain, when True, why it does not progress; the first counts.
    """
    conditions = conditions_of(item.get("status") or {})
    if is_true(conditions, failed):
        return ComponentReport(Terminal.FAILED, words_of(conditions, failed))
    if is_true(conditions, succeeded):
        return SUCCEEDED
    return in_trouble(conditions, trouble)


def in_trouble(conditions: list[JsonObject], types: Iterable[str]) -> ComponentReport:
    """Report no end, with the text of the first of these conditions that is True."""
    found = next((kind for kind in types if is_true(conditions, kind)), None)
    return UNFINISHED if found is None else ComponentReport(message=words_of(conditions, found))


def conditions_of(status: JsonObject) -> list[JsonObject]:
    return status.get("conditions") or []


def words_of(conditions: list[JsonObject], kind: str) -> str:
    """Return reason and message of the condition of that type, which must exist."""
    found = condition(conditions, kind) or {}
    return in_words(found.get("reason") or kind, found.get("message"))


def in_words(*parts: str | None) -> str:
    """Join the non-empty parts with colons, in one printable line.

    A RayJob's message holds the end of its log, with colours.
    """
    return one_line(_NAMED_POD.sub("", ": ".join(part for part in parts if part)), _LONGEST)


# Numbers in a status: pods that ended well, or pods that are wanted so far.


def number(holder: JsonObject, key: str) -> int:
    """Return the number under that key; 0 if it is no integer or negative."""
    value = holder.get(key)
    return max(0, value) if type(value) is int else 0


def succeeded_replicas(item: JsonObject) -> Progress:
    """Report for the Kinds of kubeflow.org: a count per role, and a field that suspends."""
    status, spec = item.get("status") or {}, item.get("spec") or {}
    roles = (status.get("replicaStatuses") or {}).values()
    suspended = (spec.get("runPolicy") or {}).get("suspend") is True
    succeeded = sum(number(role or {}, "succeeded") for role in roles)
    return Progress(succeeded, wanted=0 if suspended else None)


def unless_suspended(item: JsonObject) -> Progress:
    """Report for Kinds that do not count the pods that ended well."""
    return Progress(wanted=0 if (item.get("spec") or {}).get("suspend") is True else None)
