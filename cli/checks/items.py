"""The items of `appwrapper check --install`: one requirement each, with its result. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ItemResult(StrEnum):
    """The result of one item, as people and programs read it."""

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


def ok(title: str, found: str) -> Item:
    return Item(title, ItemResult.OK, found)


def warning(title: str, found: str, advice: str) -> Item:
    """Return an item that is wrong now or will be soon."""
    return Item(title, ItemResult.WARNING, found, advice)


def unknown(title: str, found: str, advice: str = "") -> Item:
    """Return an item without a result."""
    return Item(title, ItemResult.UNKNOWN, found, advice)


def refused(title: str, names: Mapping[str, str], *needed: str) -> Item | None:
    """Return an unknown item if one of the `needed` objects could not be read."""
    for name in needed:
        if why := names.get(name):
            return unknown(title, why)
    return None


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
