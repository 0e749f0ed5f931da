"""What a component says of itself: its end, or its trouble."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.api.conditions import condition, is_true
from shared.api.json import JsonObject

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
