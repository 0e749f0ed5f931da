"""The moment at which tests decide, and moments before it."""

from datetime import UTC, datetime, timedelta
from typing import Final

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def ago(seconds: float = 0, **units: float) -> datetime:
    """Returns the moment that long before NOW."""
    return NOW - timedelta(seconds=seconds, **units)
