"""What single values must be for the API server's decoder: strings, numbers, amounts, times. Pure.

null is not judged here: the decoder takes it everywhere.
"""

import base64
import binascii
import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shared.api.findings import quoted
from shared.api.objects import JsonValue, type_of
from shared.api.quantities import QuantityError, parse_quantity


class Fault(NamedTuple):
    """What is wrong with a value; `shown` is the value as JSON where seeing it helps.

    Strings that may be anything, such as those of environment variables, are never shown.
    """

    detail: str
    shown: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A type without parts. `notation` is its name in `definitions`.

    Values whose Python type is `plain` need no further look; `fault` judges all others.
    """

    notation: str
    plain: type | None
    fault: Callable[[JsonValue], Fault | None]
    # Beside `containers.Fields` and `containers.Elements`, which have one.
    container: None = None


def _not_a_string(value: JsonValue) -> Fault:
    hint = "; put it in quotes" if isinstance(value, (bool, int, float)) else ""
    return Fault(f"must be a string, but is {type_of(value)}{hint}")


def _not_a_boolean(value: JsonValue) -> Fault:
    hint = "; write it without quotes" if value in ("true", "false") else ""
    return Fault(f"must be true or false, but is {type_of(value)}{hint}")


def _integer_fault(low: int, high: int) -> Callable[[JsonValue], Fault | None]:
    def fault(value: JsonValue) -> Fault | None:
        if type(value) is int:  # bool is an int in Python, not in Kubernetes
            if low <= value <= high:
                return None
            return Fault(f"must be from {low} to {high}", str(value))
        if type(value) is float:
            return Fault("must be a whole number, without fraction and exponent", str(value))
        digits = type(value) is str and _DIGITS.fullmatch(value)
        hint = "; write it without quotes" if digits else ""
        return Fault(f"must be a whole number, but is {type_of(value)}{hint}")

    return fault


def _number_fault(value: JsonValue) -> Fault | None:
    if type(value) in (int, float):
        return None
    return Fault(f"must be a number, but is {type_of(value)}")


def _integer_or_string_fault(value: JsonValue) -> Fault | None:
    if type(value) in (int, float):
        return INT32.fault(value)
    return Fault(f"must be a whole number or a string, but is {type_of(value)}")


def _quantity_fault(value: JsonValue) -> Fault | None:
    # Most are plain; a hostile object can hold 100,000.
    if type(value) is str and _PLAIN_QUANTITY.fullmatch(value):
        return None
    try:
        parse_quantity(value)
    except QuantityError as error:
        return Fault(str(error))
    return None


def _time_fault(value: JsonValue) -> Fault | None:
    if type(value) is str and (match := _TIME.fullmatch(value)) and _exists(match):
        return None
    shown = quoted(value) if type(value) is str else None
    return Fault("must be a time such as 2026-01-31T12:00:00Z", shown)


def _exists(match: re.Match[str]) -> bool:
    """Whether a calendar and a clock have such a moment. Leap seconds do not exist in Go."""
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    if not 1 <= month <= 12:
        return False
    days = calendar.monthrange(year, month)[1]
    zone_hour, zone_minute = (int(group or 0) for group in match.groups()[6:])
    return (
        1 <= day <= days
        and hour <= 23
        and max(minute, second) <= 59
        and zone_hour <= 24
        and zone_minute <= 60
    )


def _base64_fault(value: JsonValue) -> Fault | None:
    if type(value) is not str:
        return Fault(f"must be a string in base64, but is {type_of(value)}")
    try:
        base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return Fault("must be base64")
    return None


def _no_fault(_value: JsonValue) -> None:
    return None


_DIGITS: Final = re.compile(r"-?[0-9]+")
_PLAIN_QUANTITY: Final = re.compile(
    r" {0,9}[+-]?(?:[0-9]{1,99}(?:\.[0-9]{0,99})?|\.[0-9]{1,99})"
    r"(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})? {0,9}"
)
# As Go reads RFC 3339: one digit is enough for the hour, a comma may begin the fraction.
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]+)?"
    r"(?:Z|[+-]([0-9]{2}):([0-9]{2}))"
)

STRING: Final = Scalar("string", str, _not_a_string)
BOOLEAN: Final = Scalar("boolean", bool, _not_a_boolean)
INT32: Final = Scalar("int32", None, _integer_fault(-(2**31), 2**31 - 1))
INT64: Final = Scalar("int64", None, _integer_fault(-(2**63), 2**63 - 1))
NUMBER: Final = Scalar("number", float, _number_fault)
INTEGER_OR_STRING: Final = Scalar("int-or-string", str, _integer_or_string_fault)
QUANTITY: Final = Scalar("quantity", None, _quantity_fault)
TIME: Final = Scalar("time", None, _time_fault)
BASE64: Final = Scalar("base64", None, _base64_fault)
ANYTHING: Final = Scalar("anything", None, _no_fault)

BY_NOTATION: Final = {
    scalar.notation: scalar
    for scalar in (
        STRING,
        BOOLEAN,
        INT32,
        INT64,
        NUMBER,
        INTEGER_OR_STRING,
        QUANTITY,
        TIME,
        BASE64,
        ANYTHING,
    )
}


# The types with parts: objects with known fields, and lists and maps of one type.


@dataclass(slots=True, eq=False)
class Fields:
    """An object whose fields are known by their names. `name` is its type's (`Container`)."""

    name: str
    by_name: dict[str, "Type"] = field(default_factory=dict)
    # As in `Scalar`: no value is good at first sight.
    plain: None = None
    container: type = dict
    # As in `Elements`, so that whoever walks need not ask which of the two this is.
    every: None = None

    def fault(self, value: JsonValue) -> Fault:
        """What is wrong with a value that is no object."""
        return Fault(f"must be an object, but is {type_of(value)}")


@dataclass(slots=True, eq=False)
class Elements:
    """A list, or an object as a map: `every` element or value is of one type."""

    every: "Type"
    container: type
    plain: None = None
    by_name: dict[str, "Type"] = field(default_factory=dict, init=False)

    def fault(self, value: JsonValue) -> Fault:
        """What is wrong with a value that is no list, or no object."""
        wanted = "an array" if self.container is list else "an object"
        return Fault(f"must be {wanted}, but is {type_of(value)}")


Container = Fields | Elements
Type = Scalar | Container
