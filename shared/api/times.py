"""Times and durations, as Kubernetes and Go write them."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Final

# Times as the API server writes and reads them (RFC 3339, UTC).


def format_time(moment: datetime) -> str:
    """Format to the second, as `metav1.Time`: `2026-01-31T10:00:00Z`."""
    return _in_utc(moment, "seconds")


def format_precise_time(moment: datetime) -> str:
    """Format to the microsecond, as `metav1.MicroTime`: `2026-01-31T10:00:00.000000Z`."""
    return _in_utc(moment, "microseconds")


def _in_utc(moment: datetime, precision: str) -> str:
    """Format without strftime, which writes year 1 as `1-01-01`: the API server rejects that."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def parse_time(text: str) -> datetime:
    """Return an aware datetime in UTC from either form, with any offset. Raise ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:  # before the year 1, or after 9999
        raise ValueError(f"{text!r} is no time in UTC") from error


def time_or_none(text: object) -> datetime | None:
    """Return the time of an object's field; None if it is absent or no time."""
    try:
        return parse_time(text) if isinstance(text, str) else None
    except ValueError:
        return None


# Durations in Go's notation (`1h30m`, `1.5h`, `500ms`), as in the Go operator's configuration and
# annotations. `d` for 24 hours is accepted too, because the job generator's files use it.

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_PART: Final = re.compile(
    r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<unit>ns|us|µs|μs|ms|s|m|h|d)"
)
_LONGEST_TEXT: Final = 100  # longer texts are no durations, and cost time to read
_LARGEST: Final = 2**63 - 1  # nanoseconds, as in Go


class DurationError(ValueError):
    """A text that is no duration. The message shows valid ones."""


@lru_cache(maxsize=1024)
def parse_duration(text: str) -> timedelta:
    """Return `1h30m`, `-1.5h`, `7d`, `0` as a timedelta, cut to microseconds.

    Raise DurationError for any other text, and beyond about 292 years, as Go does.
    """
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return timedelta()
    total = Fraction(0)
    position = 0
    while position < len(rest) <= _LONGEST_TEXT:
        part = _PART.match(rest, position)
        if part is None:
            break
        total += Fraction(part["number"].rstrip(".")) * _NANOSECONDS[part["unit"]]
        position = part.end()
    if not rest or position < len(rest):
        shown = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
        raise DurationError(f"{shown!r} is not a duration such as 90s, 1h30m or 7d")
    return from_nanoseconds(-int(total) if negative else int(total))


def from_nanoseconds(nanoseconds: int) -> timedelta:
    """Return Go's time.Duration as a timedelta. Raise DurationError beyond its range."""
    if abs(nanoseconds) > _LARGEST:
        raise DurationError("the duration is longer than 292 years")
    microseconds = abs(nanoseconds) // 1_000
    return timedelta(microseconds=-microseconds if nanoseconds < 0 else microseconds)


def format_duration(duration: timedelta) -> str:
    """Format in Go's notation, without zero parts: `168h`, `1m30s`, `1.5s`, `250ms`, `0s`."""
    microseconds = duration // timedelta(microseconds=1)
    if microseconds < 0:
        return "-" + format_duration(-duration)
    if microseconds == 0:
        return "0s"
    if microseconds < 1_000:
        return f"{microseconds}us"
    if microseconds < 1_000_000:
        return f"{_decimal(microseconds, 1_000)}ms"
    minutes, rest = divmod(microseconds, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    return "".join(parts) + (f"{_decimal(rest, 1_000_000)}s" if rest else "")


def _decimal(value: int, unit: int) -> str:
    """Format `value` / `unit` without trailing zeros; `unit` is a power of ten."""
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    return f"{whole}." + f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0")
