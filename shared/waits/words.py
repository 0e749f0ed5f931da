"""Format amounts and lists of names for people. Pure."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

_MOST_NAMES: Final = 3
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_STEP: Final = 1024
_MEASURED_IN_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


def amount_text(amount: Decimal, resource: str) -> str:
    """Format `8`, `500m`, `16Gi`: bytes with a binary suffix, other amounts as a number."""
    if resource.startswith(_MEASURED_IN_BYTES):
        return _bytes(amount)
    if amount == amount.to_integral_value():
        return f"{int(amount)}"
    return f"{int(amount * 1000)}m"


def _bytes(amount: Decimal) -> str:
    """Format with the largest suffix that keeps the number at 1 or more, with one decimal."""
    sign = "-" if amount < 0 else ""
    size, suffix = abs(amount), 0
    while size >= _STEP and suffix + 1 < len(_BINARY):
        size, suffix = size / _STEP, suffix + 1
    number = f"{size:.1f}".removesuffix(".0")
    return f"{sign}{number}{_BINARY[suffix]}"


def few(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    """Format `a, b, c and 5 more`, in order."""
    named = sorted(names)
    if len(named) <= most:
        return joined(named)
    return f"{', '.join(named[:most])} and {len(named) - most} more"


def joined(parts: Sequence[str]) -> str:
    """Format `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(number: int, noun: str) -> str:
    """Format `1 pod`, `2 pods`, `3 retries`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{number} {noun}s"


def ordinal(number: int) -> str:
    """Format `1st`, `2nd`, `11th`."""
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{last or 'th'}"
