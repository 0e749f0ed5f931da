"""Places of values in a text: lines and columns, by the way from the root. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.api.objects import JsonValue

# Keys and indices from the root of a document.
Way = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A line and column, counted from 1 as in editors."""

    line: int
    column: int


class ManifestError(ValueError):
    """An unreadable text. `place`: the place of the error, if it is known."""

    def __init__(self, text: str, place: Place | None = None) -> None:
        super().__init__(text)
        self.place = place


_INDEX: Final = re.compile(r"\[([0-9]{1,9})\]")
# The texts that may follow a path in a message.
_AFTER: Final = (":", " ", "]", ",", "; ")


def way_in(value: JsonValue, path: str) -> Way:
    """Return the steps of `path` up to the last one that exists in `value`.

    `path` has the form in messages (`spec.components[0].metadata.labels[a.b/c]`), and text may
    follow it. Keys may contain dots: the path is compared with the keys of the value.
    """
    way: list[str | int] = []
    rest = path
    while rest and not rest.startswith(_AFTER):
        step, rest = _step(value, rest, first=not way)
        if step is None:
            break
        way.append(step)
        value = value[step]
    return tuple(way)


def _step(value: JsonValue, rest: str, *, first: bool) -> tuple[str | int | None, str]:
    if isinstance(value, list):
        found = _INDEX.match(rest)
        if found and int(found[1]) < len(value):
            return int(found[1]), rest[found.end() :]
        return None, rest
    if not isinstance(value, dict):
        return None, rest
    best: str | None = None
    length = 0
    for key in value:
        for shown in (f"[{key}]", key if first else f".{key}"):
            after = rest[len(shown) :]
            if not rest.startswith(shown) or (after and after[0] not in ".[: ,;]"):
                continue
            if len(shown) > length:
                best, length = key, len(shown)
    return best, rest[length:]


def place_of(places: Mapping[Way, Place], way: Way) -> Place | None:
    """Return the place of `way`, or of the nearest value around it."""
    while way not in places and way:
        way = way[:-1]
    return places.get(way)
