"""Types of values that have their own notation in configuration files."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel

from shared.api.objects import is_dns_label, is_dns_subdomain, is_label_key, is_label_value
from shared.api.times import DurationError, format_duration, from_nanoseconds, parse_duration

_SIZE: Final = re.compile(r"([0-9]{1,18})(|Ki|Mi|Gi|k|M|G)")
_FACTORS: Final = {
    "": 1,
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
}


class Section(BaseModel):
    """A part of the configuration: unknown keys and values of another type are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        alias_generator=to_camel,  # a field with another key sets an alias
        validate_by_name=True,
        validate_by_alias=True,
    )


def _duration(value: Any) -> Any:
    """Read Go's two notations: a text, or nanoseconds. Return a timedelta unchanged."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return from_nanoseconds(value)
    raise DurationError("must be a duration such as 90s, 1h30m or 7d, or a number of nanoseconds")


def _size(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        return int(match[1]) * _FACTORS[match[2]]
    raise ValueError("must be a number of bytes, or a size such as 512Ki or 1Mi")


def format_size(size: int) -> str:
    """Format in the largest binary unit that divides it: `1Mi`, `1500`."""
    for unit in ("Gi", "Mi", "Ki"):
        if size and size % _FACTORS[unit] == 0:
            return f"{size // _FACTORS[unit]}{unit}"
    return str(size)


GoDuration = Annotated[timedelta, BeforeValidator(_duration), PlainSerializer(format_duration)]
Size = Annotated[int, BeforeValidator(_size), PlainSerializer(format_size)]


# Limits of one value: `Annotated[int, between(1, 100)]`. Limits that depend on two values are in
# `validation`.

_ZERO: Final = timedelta(0)


def must(be: str, holds: Callable[[Any], bool]) -> AfterValidator:
    """Refuse values for which `holds` is False: each must `be` something else."""

    def checked(value: Any) -> Any:
        if not holds(value):
            raise ValueError(f"must {be}")
        return value

    return AfterValidator(checked)


def at_least(least: int) -> AfterValidator:
    """Refuse smaller numbers."""
    return must(f"be at least {least}", least.__le__)


def between(least: int, most: int, why: str = "") -> AfterValidator:
    """Refuse numbers outside the limits; `why` is the end of the message."""
    return must(f"be from {least} to {most}{why}", range(least, most + 1).__contains__)


def up_to(longest: timedelta, shown: str) -> AfterValidator:
    """Refuse negative durations and longer ones."""
    return must(f"be from 0s to {shown}", lambda given: _ZERO <= given <= longest)


NOT_NEGATIVE: Final = must("not be negative", lambda given: given >= _ZERO)
POSITIVE: Final = must("be longer than 0s", lambda given: given > _ZERO)

_OBJECT: Final = "be the name of an object: lower case letters, digits, '-' and '.'"
ObjectName = Annotated[str, must(_OBJECT, is_dns_subdomain)]
ObjectNameOrEmpty = Annotated[str, must(_OBJECT, lambda name: not name or is_dns_subdomain(name))]
ShortName = Annotated[
    str, must("be a name of up to 63 lower case letters, digits and '-'", is_dns_label)
]
ResourceName = Annotated[
    str, must("be the name of a resource, such as nvidia.com/gpu", is_label_key)
]
LabelKey = Annotated[str, must("be the key of a label", is_label_key)]
LabelValue = Annotated[str, must("be a label's value", is_label_value)]


# A process's address: `host:port`, `:port`, `[::1]:port`; `0` or an empty text means none.

_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\s\[\]]*):(?P<port>[0-9]{1,5})")


class BindAddressError(ValueError):
    """A text that is no bind address."""


class BindAddress(NamedTuple):
    """An address to listen on. `host` is empty for every address; port 0 lets the system choose."""

    host: str
    port: int


def parse_bind_address(text: str) -> BindAddress | None:
    """Return None for `0` or an empty text, which switch a listener off. Raise BindAddressError."""
    if text in ("", "0"):
        return None
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise BindAddressError("must be host:port or :port, with a port from 0 to 65535")
    return BindAddress(match["host"].strip("[]"), int(match["port"]))


def _is_bind_address(text: str) -> str:
    parse_bind_address(text)
    return text


AddressOrNone = Annotated[str, AfterValidator(_is_bind_address)]
