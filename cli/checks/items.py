"""The items of `appwrapper check --install`: one requirement each, with its result. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from cli.checks.setup_facts import Installed


class ItemResult(StrEnum):
    OK = "ok"
    WARNING = "warning"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Item:
    """One requirement. `found`: the cluster's state. `advice`: the next step, if there is one."""

    title: str
    verdict: ItemResult
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one rule, without the title of its item."""

    verdict: ItemResult
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A rule with its title, and the fields of Installed without which it has no result."""

    title: str
    rule: Callable[[Installed, datetime], CheckResult]
    needs: tuple[str, ...] = ()

    def item(self, seen: Installed, now: datetime) -> Item:
        """Apply the rule, unless an object could not be read."""
        why = seen.why_unread(*self.needs)
        found = unknown(why) if why else self.rule(seen, now)
        return Item(self.title, found.verdict, found.found, found.advice)


def ok(found: str) -> CheckResult:
    return CheckResult(ItemResult.OK, found)


def warning(found: str, advice: str) -> CheckResult:
    return CheckResult(ItemResult.WARNING, found, advice)


def unknown(found: str, advice: str = "") -> CheckResult:
    return CheckResult(ItemResult.UNKNOWN, found, advice)


def contains(stored: Any, wanted: Any) -> bool:
    """True if everything wanted is stored. The API server adds defaults to stored objects."""
    if isinstance(wanted, dict):
        return isinstance(stored, dict) and all(
            key in stored and contains(stored[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(wanted)
            and all(contains(*pair) for pair in zip(stored, wanted, strict=True))
        )
    return bool(stored == wanted)
