"""Places of values in a text: lines and columns, by the way from the root. Pure."""

from collections.abc import Iterator, Mapping
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

    def located(self, source: str) -> str:
        """Return `FILE:LINE: TEXT`, without the line if it is unknown."""
        return f"{source}:{self.place.line}: {self}" if self.place else f"{source}: {self}"


# The character after a step of a path in a message.
_AFTER_STEP: Final = (".", "[", "]", ":", " ", ",", ";")


def way_in(value: JsonValue, path: str) -> Way:
    """Return the steps of `path` up to the last one that exists in `value`.

    `path` has the form in messages (`spec.components[0].metadata.labels[a.b/c]`), and text may
    follow it. Keys may contain dots: the path is compared with the keys of the value.
    """
    return max(_ways(value, path, "", ()), key=lambda each: (each[0], -len(each[1])))[1]


def _ways(value: JsonValue, path: str, shown: str, way: Way) -> Iterator[tuple[int, Way]]:
    """Yield the ways of which the text begins the path, with the text's length.

    `shown`: the text of `way`, the way to `value`.
    """
    yield len(shown), way
    steps: list[tuple[str | int, str]] = []
    if isinstance(value, dict):
        steps = [(key, f"[{key}]") for key in value]
        steps += [(key, f".{key}" if way else key) for key in value]
    elif isinstance(value, list):
        steps = [(index, f"[{index}]") for index in range(len(value))]
    for step, text in steps:
        rest = path.removeprefix(shown + text)
        if rest != path and (not rest or rest.startswith(_AFTER_STEP)):
            yield from _ways(value[step], path, shown + text, (*way, step))


def place_of(places: Mapping[Way, Place], way: Way) -> Place | None:
    """Return the place of `way`, or of the nearest value around it."""
    while way not in places and way:
        way = way[:-1]
    return places.get(way)
