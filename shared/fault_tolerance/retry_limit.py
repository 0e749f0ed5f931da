"""How often an AppWrapper may be reset: `retryLimit`."""

import re
from typing import Final

from shared.fault_tolerance.annotation_error import AnnotationError

MOST_RETRIES: Final = 2**31 - 1  # status.resettingCount is an int32

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")  # what is longer costs time to read
_EXPECTED: Final = f"must be a whole number from 0 to {MOST_RETRIES}, such as 5"


def parse_retry_limit(text: str) -> int:
    """`5`. Raises AnnotationError."""
    limit = _number(text)
    if limit is None or not 0 <= limit <= MOST_RETRIES:
        raise AnnotationError(_EXPECTED)
    return limit


def read_retry_limit(text: str | None, default: int) -> int:
    """The same; what is no number means the default, what is out of range its nearest end."""
    limit = None if text is None else _number(text)
    return default if limit is None else max(0, min(limit, MOST_RETRIES))


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
