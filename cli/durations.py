"""Format times and durations for people: UTC, with the distance from now. Pure."""

from datetime import UTC, datetime, timedelta
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def span(duration: timedelta) -> str:
    """Return `42 s`, `5 min 3 s`, `2 h 5 min` or `3 d 4 h`: at most two units, rounded down."""
    seconds = max(0, int(duration.total_seconds()))
    for size, unit, below, part in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            return f"{whole} {unit}" + (f" {rest // below} {part}" if rest // below else "")
    return f"{seconds} s"


def compact(duration: timedelta) -> str:
    """Return `42s`, `5m3s`, `2h5m` or `3d4h`, for a narrow column."""
    return span(duration).replace("min", "m").replace(" ", "")


def age(duration: timedelta) -> str:
    """Return `95s`, `45m`, `30h` or `12d`, for a narrow column: one unit, rounded down."""
    seconds = max(0, int(duration.total_seconds()))
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def clock(moment: datetime, now: datetime) -> str:
    """Return `14:03:10 UTC`, or date and minute for another day."""
    moment = moment.astimezone(UTC)
    form = "%H:%M:%S UTC" if moment.date() == now.astimezone(UTC).date() else "%Y-%m-%d %H:%M UTC"
    return moment.strftime(form)


def when(moment: datetime, now: datetime) -> str:
    """Return `14:03:10 UTC, in 42 s` or `14:02:00 UTC, 28 s ago`."""
    if moment > now:
        return f"{clock(moment, now)}, in {span(moment - now)}"
    return f"{clock(moment, now)}, {span(now - moment)} ago"
