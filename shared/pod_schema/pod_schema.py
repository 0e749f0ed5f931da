"""Decode pod templates as strictly as the API server with fieldValidation=Strict. Pure.

Unknown fields, wrong JSON types, fractions for integers, numbers out of range, malformed amounts
and times are mistakes. null, absent fields and a wrong string for one of a few allowed are none:
the API server validates these when it creates the pod. It removes duplicate keys, and reports them,
before it calls the webhook.
"""

import base64
import binascii
import calendar
import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject, JsonValue, type_of
from shared.api.quantities import PLAIN_QUANTITY, QuantityError, parse_quantity

POD: Final = "io.k8s.api.core.v1.Pod"
POD_TEMPLATE: Final = "io.k8s.api.core.v1.PodTemplateSpec"
LIST_OF: Final = "[]"
MAP_OF: Final = "map[string]"

# By type name: the type's fields, each with the notation of its type.
Definitions = dict[str, dict[str, str]]


class PodSchemaError(ValueError):
    """Raised if a document lacks a required part, which the message names."""


# Single values as the API server's decoder requires them: strings, numbers, amounts, times. null is
# not checked here: the decoder accepts it everywhere.


class Fault(NamedTuple):
    """The error of a value; `shown` is the value as JSON if it helps.

    Free strings, such as those of environment variables, are never shown.
    """

    detail: str
    shown: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A type without parts. `notation` is its name in `Definitions`.

    A value whose Python type is `plain` is valid; `fault` checks all others.
    """

    notation: str
    plain: type | None
    fault: Callable[[JsonValue], Fault | None]
    # `Fields` and `Elements` have a container.
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
    if type(value) is str and PLAIN_QUANTITY.fullmatch(value):
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
    """True if the calendar and the clock have this time. Leap seconds do not exist in Go."""
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
# As Go reads RFC 3339: the hour may have one digit, a comma may begin the fraction.
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


# Types with parts: objects with known fields, and lists and maps of one type.


@dataclass(slots=True, eq=False)
class Fields:
    """An object whose fields are known by name. `name` is its type's (`Container`)."""

    name: str
    by_name: dict[str, "Type"] = field(default_factory=dict)
    # As in `Scalar`: every value needs a check.
    plain: None = None
    container: type = dict
    # As in `Elements`, so that the traversal treats both alike.
    every: None = None

    def fault(self, value: JsonValue) -> Fault:
        """Describe a value that is no object."""
        return Fault(f"must be an object, but is {type_of(value)}")


@dataclass(slots=True, eq=False)
class Elements:
    """A list, or an object as a map: `every` element or value is of one type."""

    every: "Type"
    container: type
    plain: None = None
    by_name: dict[str, "Type"] = field(default_factory=dict, init=False)

    def fault(self, value: JsonValue) -> Fault:
        """Describe a value that is no list, or no object."""
        wanted = "an array" if self.container is list else "an object"
        return Fault(f"must be {wanted}, but is {type_of(value)}")


Container = Fields | Elements
Type = Scalar | Container


# Mistakes in a pod template: cheap to find in thousands, described in full only on request.

# Keys come from the user: they may have any length and content. No real one is longer than this (a
# label's prefix is at most 253 characters, its name 63).
_PLAIN_KEY: Final = re.compile(r"[-_./A-Za-z0-9]{1,317}")
_LONGEST_LIKE_A_FIELD: Final = 100

# The place of a value: (the place of its container, that container, its key); () is the outermost.
# A plain tuple, because one is made for each object and list of a template without mistakes.
Place = tuple[()] | tuple[Any, Container, str | int]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong value at a place; without a `fault`, its container has no such field."""

    place: Place
    fault: Fault | None

    def error(self, path: str) -> FieldError:
        """Return the whole message; `path` is the pod template's."""
        detail, value = self.fault or (_unknown_field(self.place), None)
        return FieldError(f"{path}{_path(self.place)}", FieldErrorKind.INVALID, detail, value)


def _path(place: Place) -> str:
    """Return the rest of the path after the pod template's: `.spec.containers[0].image`."""
    keys: list[str] = []
    while place:
        place, container, key = place
        shown = _shown(key)
        keys.append(f".{shown}" if isinstance(container, Fields) else f"[{shown}]")
    return "".join(reversed(keys))


def _unknown_field(place: Place) -> str:
    assert place, "the outermost object is in no field"
    _, container, key = place
    assert isinstance(container, Fields), "only fields can be unknown"
    assert isinstance(key, str), "fields have names"
    if len(key) <= _LONGEST_LIKE_A_FIELD:
        # A wrong case is the commonest slip, and difflib treats a capital as another letter.
        alike = [name for name in container.by_name if name.lower() == key.lower()]
        if nearest := alike or difflib.get_close_matches(key, container.by_name, n=1):
            return f'unknown field; did you mean "{nearest[0]}"?'
    return f"unknown field: {container.name} has none of that name"


def _shown(key: str | int) -> str:
    if isinstance(key, str) and not _PLAIN_KEY.fullmatch(key):
        return quoted(key)
    return str(key)


_NONE: Final = type(None)


class PodSchema:
    """The schema of one API server's pods, ready for decoding."""

    def __init__(self, definitions: Definitions) -> None:
        """Raise PodSchemaError if `definitions` lack a type that they refer to."""
        fields = {name: Fields(name.rpartition(".")[2]) for name in definitions}
        for name, notations in definitions.items():
            fields[name].by_name.update(
                (field, _type(notation, fields)) for field, notation in notations.items()
            )
        self._fields = fields
        self._pod = _defined(POD, fields)
        self._template = _defined(POD_TEMPLATE, fields)

    def template_mistakes(self, pod_template: JsonObject) -> Iterator[Mistake]:
        """Yield the mistakes in a PodTemplateSpec, outermost first."""
        return _mistakes(self._template, pod_template)

    def pod_mistakes(self, pod: JsonObject) -> Iterator[Mistake]:
        """Yield the mistakes in a Pod, outermost first."""
        return _mistakes(self._pod, pod)

    def mistakes(self, name: str, decoded: JsonObject) -> Iterator[Mistake]:
        """Yield the mistakes in an object of the defined type `name`, outermost first."""
        return _mistakes(_defined(name, self._fields), decoded)


def _type(notation: str, fields: dict[str, Fields]) -> Type:
    if notation.startswith(LIST_OF):
        return Elements(_type(notation.removeprefix(LIST_OF), fields), list)
    if notation.startswith(MAP_OF):
        return Elements(_type(notation.removeprefix(MAP_OF), fields), dict)
    return BY_NOTATION.get(notation) or _defined(notation, fields)


def _defined(name: str, fields: dict[str, Fields]) -> Fields:
    found = fields.get(name)
    if found is None:
        raise PodSchemaError(f"{name} is not defined")
    return found


def _mistakes(root: Fields, decoded: JsonObject) -> Iterator[Mistake]:
    """Walk level by level, without recursion: no depth of nesting overflows the stack."""
    waiting: list[tuple[Container, JsonValue, Place]] = [(root, decoded, ())]
    for container, content, place in waiting:
        every = container.every
        if every is not None and every.plain is not None and _all_plain(every.plain, content):
            continue
        for key, value in _entries(content):
            expected = every or container.by_name.get(key)
            if expected is None:
                yield Mistake((place, container, key), None)
            elif value is None or type(value) is expected.plain:
                continue
            elif expected.container is type(value):
                if value:
                    waiting.append((expected, value, (place, container, key)))
            elif (fault := expected.fault(value)) is not None:
                yield Mistake((place, container, key), fault)


def _entries(content: JsonValue) -> Iterable[tuple[Any, JsonValue]]:
    return enumerate(content) if type(content) is list else content.items()


def _all_plain(plain: type, content: JsonValue) -> bool:
    """True if no element needs a check: the fast path for labels and arguments."""
    values = content if type(content) is list else content.values()
    return {plain, _NONE}.issuperset(map(type, values))
