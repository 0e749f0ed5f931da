"""Times as the API server writes and reads them (RFC 3339, UTC)."""

from datetime import UTC, datetime


def format_time(moment: datetime) -> str:
    """To the second, as `metav1.Time` is written: `2026-01-31T10:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_precise_time(moment: datetime) -> str:
    """To the microsecond, as `metav1.MicroTime` is written: `2026-01-31T10:00:00.000000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """Either form, with any offset, as an aware datetime in UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:  # before the year 1, or after 9999
        raise ValueError(f"{text!r} is no time in UTC") from error
