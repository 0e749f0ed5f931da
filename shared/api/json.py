"""The types of decoded JSON.

Objects of the API server travel as plain decoded JSON (design.md: pydantic costs too much on the
admission and watch paths); these aliases say so in signatures.
"""

from typing import Any

# `Any` on purpose: a recursive JSON type makes every read of a known field a cast.
JsonValue = Any
JsonObject = dict[str, Any]


def type_of(value: JsonValue) -> str:
    """How JSON calls the type of a value, with its article: "an object", "null"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
