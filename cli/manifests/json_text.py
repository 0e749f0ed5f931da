"""Read JSON with the place of each key and element. Pure.

A YAML parser would reject valid JSON: YAML has no surrogate pairs and restricts tabs.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Final

from cli.manifests.places import ManifestError, Place, Way
from cli.manifests.scalars import json_number
from shared.api.objects import JsonValue

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_LARGEST: Final = 2**63
_MOST_DIGITS: Final = 20
_DEEPEST: Final = 200


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """One value of a stream."""

    value: JsonValue
    places: dict[Way, Place]


def parse_json(text: str) -> list[JsonDocument]:
    """Return all values of a text in order. Raises ManifestError."""
    reader = _Reader(text)
    found = []
    position = reader.blank(0)
    while position < len(text):
        reader.places = {}
        value, position = reader.value((), position)
        found.append(JsonDocument(value, reader.places))
        position = reader.blank(position)
    return found


@dataclass(slots=True)
class _Reader:
    text: str
    places: dict[Way, Place] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = [0, *(found.end() for found in re.finditer("\n", self.text))]

    def place(self, position: int) -> Place:
        line = bisect_right(self.lines, position)
        return Place(line, position - self.lines[line - 1] + 1)

    def blank(self, position: int) -> int:
        found = _BLANK.match(self.text, position)
        return position if found is None else found.end()

    def wrong(self, position: int, expected: str) -> ManifestError:
        return ManifestError(f"this is not JSON: {expected} expected", self.place(position))

    def value(self, way: Way, position: int) -> tuple[JsonValue, int]:
        self.places.setdefault(way, self.place(position))
        if len(way) > _DEEPEST:
            raise ManifestError("this is nested too deep", self.place(position))
        match self.text[position : position + 1]:
            case "{":
                return self._object(way, position)
            case "[":
                return self._array(way, position)
            case '"':
                return self._string(position)
        if number := _NUMBER.match(self.text, position):
            return self._number(number), number.end()
        for word, value in _WORDS.items():
            if self.text.startswith(word, position):
                return value, position + len(word)
        raise self.wrong(position, "a value")

    def _number(self, found: re.Match[str]) -> JsonValue:
        """Read the number as Go's decoder does: an int64 if written as one, else a float64."""
        whole, fraction, exponent = found.groups()
        if fraction is None and exponent is None and _is_int64(whole):
            return int(whole)
        value = float(found[0])
        if value in (float("inf"), float("-inf")):
            raise self.wrong(found.start(), "a smaller number")
        return json_number(value)

    def _string(self, position: int) -> tuple[str, int]:
        try:
            value, end = scanstring(self.text, position + 1, True)
        except JSONDecodeError as error:
            raise ManifestError(f"this is not JSON: {error.msg}", self.place(error.pos)) from error
        # As in kubectl, half of a surrogate pair becomes the replacement character.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), end

    def _object(self, way: Way, position: int) -> tuple[JsonValue, int]:
        found: dict[str, JsonValue] = {}
        position = self.blank(position + 1)
        if self.text.startswith("}", position):
            return found, position + 1
        while True:
            if not self.text.startswith('"', position):
                raise self.wrong(position, "a key in double quotes")
            here = self.place(position)
            key, end = self._string(position)
            if key in found:
                first = self.places[*way, key].line
                raise ManifestError(f"the key {key!r} is given twice, first in line {first}", here)
            self.places[*way, key] = here
            position = self.blank(end)
            if not self.text.startswith(":", position):
                raise self.wrong(position, "a colon")
            found[key], position = self.value((*way, key), self.blank(position + 1))
            position = self.blank(position)
            if self.text.startswith("}", position):
                return found, position + 1
            if not self.text.startswith(",", position):
                raise self.wrong(position, "a comma or a closing brace")
            position = self.blank(position + 1)

    def _array(self, way: Way, position: int) -> tuple[JsonValue, int]:
        found: list[JsonValue] = []
        position = self.blank(position + 1)
        if self.text.startswith("]", position):
            return found, position + 1
        while True:
            value, position = self.value((*way, len(found)), position)
            found.append(value)
            position = self.blank(position)
            if self.text.startswith("]", position):
                return found, position + 1
            if not self.text.startswith(",", position):
                raise self.wrong(position, "a comma or a closing bracket")
            position = self.blank(position + 1)


def _is_int64(whole: str) -> bool:
    return len(whole) <= _MOST_DIGITS and -_LARGEST <= int(whole) < _LARGEST
