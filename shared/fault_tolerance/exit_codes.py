"""Lists of exit codes: `terminalExitCodes`, `retryableExitCodes`."""

import re
from typing import Final

from shared.fault_tolerance.annotation_error import AnnotationError

# What a container on Linux can end with, other than well.
_FIRST: Final = 1
_LAST: Final = 255
_CODE: Final = re.compile(r"[+-]?[0-9]{1,10}")  # 32 bits; what is longer costs time to read
_EXPECTED: Final = (
    f"must be exit codes from {_FIRST} to {_LAST} with commas between them, such as 3,10,42"
)


def parse_exit_codes(text: str) -> frozenset[int]:
    """`3,10, 42`, blanks around a code or not. Raises AnnotationError.

    An empty list is refused: as retryable codes, some would take it for "none of them".
    """
    parts = [part.strip(" ") for part in text.split(",")]
    if not all(_CODE.fullmatch(part) for part in parts):
        raise AnnotationError(_EXPECTED)
    codes = frozenset(int(part) for part in parts)
    if not all(_FIRST <= code <= _LAST for code in codes):
        raise AnnotationError(_EXPECTED)
    return codes


def read_exit_codes(text: str | None) -> frozenset[int]:
    """The same; what is no number is skipped, as the Go operator does."""
    parts = (part.strip(" ") for part in (text or "").split(","))
    return frozenset(int(part) for part in parts if _CODE.fullmatch(part))
