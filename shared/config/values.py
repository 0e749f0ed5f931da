"""Types of values that have their own notation in configuration files."""

import re
from datetime import timedelta
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel

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
