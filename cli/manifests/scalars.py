"""Read unquoted YAML scalars as kubectl does, which sends the values to the API server. Pure.

kubectl reads YAML 1.1 in its own way: `on` and `y` are booleans, 0777 and 0o777 are octal, `1e3` is
a number, `1:30` and dates are text. PyYAML differs in most of these. A unit test has a table of
both; an integration test compares it with kubectl itself.
"""

import re
from typing import Final

from shared.api.objects import JsonValue

_TRUE: Final = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE: Final = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL: Final = ("", "~", "null", "Null", "NULL")
_WORDS: Final[dict[str, bool | None]] = (
    dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False) | dict.fromkeys(_NULL)
)
# Numbers that JSON does not have.
_NO_JSON: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)"
    r"|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES: Final = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LONGEST_NUMBER: Final = 400  # characters; a longer number is slow to parse and is no real value
# kubectl sends these integers exactly. It rounds all others as float64.
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1
_PREFIX: Final = "tag:yaml.org,2002:"


class ScalarError(ValueError):
    """A scalar that cannot be sent as JSON."""


def plain_value(text: str) -> JsonValue:
    """Return the value of an unquoted scalar without a tag. Raises ScalarError."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    if _NO_JSON.fullmatch(text):
        raise ScalarError(f"{text} is not a JSON number: quote it if it is text")
    number = text if text[0] == "." else text.replace("_", "")
    if found := _INTEGER.fullmatch(number):
        base, digits = next((base, found[name]) for name, base in _BASES.items() if found[name])
        value = int(found["sign"] + digits, base)
        return value if _SMALLEST <= value <= _LARGEST else json_number(float(value))
    if _FLOAT.fullmatch(number):
        return json_number(_finite(number))
    return text


def tagged_value(tag: str, text: str) -> str:
    """Return the text of a scalar with the tag `!!str`. Raises ScalarError for any other tag."""
    shown = tag.replace(_PREFIX, "!!")
    if shown == "!!str":
        return text
    raise ScalarError(f"the tag {shown} of {text!r} is not supported: leave it out, or quote")


def json_number(value: float) -> int | float:
    """Return the number as Go writes it into JSON: whole numbers have no fraction."""
    return int(value) if value == int(value) and _SMALLEST <= value <= _LARGEST else value


def _finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise ScalarError(f"{number} is too large for a number of JSON")
    return value
