"""Convert times to and from nanoseconds since the epoch, as recorders write them. Pure."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from shared.api.times import parse_time

SECOND: Final = 1_000_000_000
NEVER: Final = 2**80  # an unknown time, which is after all others

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def moment_of(at: int) -> datetime | None:
    """Return the time, cut to microseconds; None if `at` is beyond the calendar, as NEVER is."""
    try:
        return _EPOCH + timedelta(microseconds=at // 1000)
    except OverflowError:
        return None


@lru_cache(maxsize=4096)
def instant(text: str) -> int | None:
    """Parse a time of Kubernetes; None if `text` is no time.

    The cache helps because many pods end in the same second.
    """
    try:
        return nanoseconds(parse_time(text))
    except ValueError:
        return None
