"""The end of a component in its own words."""

from dataclasses import dataclass

from controller.phases.snapshot import Terminal
from shared.api.conditions import condition
from shared.api.json import JsonObject


@dataclass(frozen=True, slots=True)
class Report:
    """`terminal` None: not ended. `message` says why it failed."""

    terminal: Terminal | None = None
    message: str = ""


UNFINISHED = Report()


def from_conditions(item: JsonObject, succeeded: str, failed: str) -> Report:
    """For Kinds that end with one of two conditions."""
    conditions = (item.get("status") or {}).get("conditions") or []
    if (found := condition(conditions, failed)) and found.get("status") == "True":
        words = [found.get("reason") or failed, found.get("message") or ""]
        return Report(Terminal.FAILED, ": ".join(word for word in words if word))
    if (found := condition(conditions, succeeded)) and found.get("status") == "True":
        return Report(Terminal.SUCCEEDED)
    return UNFINISHED
