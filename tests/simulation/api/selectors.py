"""Label and field selectors, as the API server reads them."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from shared.api.objects import JsonObject

Predicate = Callable[[JsonObject], bool]

_COMMA: Final = re.compile(r",(?![^(]*\))")
_SET: Final = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s+\((?P<values>[^)]*)\)")


@lru_cache(maxsize=1024)
def selector(labels: str, fields: str) -> Predicate | None:
    """Return a test of objects; None if the selectors are empty."""
    tests = [_label_test(part.strip()) for part in _COMMA.split(labels) if part.strip()]
    tests += [_field_test(part.strip()) for part in fields.split(",") if part.strip()]
    if not tests:
        return None
    return lambda item: all(test(item) for test in tests)


def _label_test(text: str) -> Predicate:
    found = _SET.fullmatch(text)
    if found is not None:
        values = frozenset(each.strip() for each in found["values"].split(","))
        key, wanted = found["key"], found["operator"] == "in"
        return lambda item: (_labels(item).get(key) in values) == wanted
    if text.startswith("!"):
        return lambda item: text[1:].strip() not in _labels(item)
    if "=" not in text:
        return lambda item: text in _labels(item)
    key, negated, value = _equation(text)
    return lambda item: (_labels(item).get(key) == value) != negated


def _field_test(text: str) -> Predicate:
    path, negated, value = _equation(text)
    parts = path.split(".")
    return lambda item: (_field(item, parts) == value) != negated


def _equation(text: str) -> tuple[str, bool, str]:
    """Return the left side, whether the sign is `!=`, and the right side."""
    left, _, right = text.partition("=")
    return left.removesuffix("!").strip(), left.endswith("!"), right.removeprefix("=").strip()


def _labels(item: JsonObject) -> Mapping[str, str]:
    return item["metadata"].get("labels") or {}


def _field(item: JsonObject, parts: list[str]) -> str:
    """Return the text of a field; like the API server, "" if the object has none."""
    value: object = item
    for part in parts:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
