"""Format numbers and lists of names for people. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

_MOST_NAMES: Final = 3


def few(names: Iterable[str]) -> str:
    """Format `a, b, c and 5 more`, in order."""
    named = sorted(names)
    if len(named) <= _MOST_NAMES:
        return joined(named)
    return f"{', '.join(named[:_MOST_NAMES])} and {len(named) - _MOST_NAMES} more"


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
