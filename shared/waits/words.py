"""Format numbers and lists of names for people. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

_MOST_NAMES: Final = 3


def few(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    """Format `a, b, c and 5 more`, sorted; `a and b` if there are no more."""
    named = sorted(names)
    return joined(named) if len(named) <= most else listed(named, most)


def listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Format `a, b, c and 5 more`, in the given order; `a, b` if there are no more."""
    shown, more = ", ".join(names[:most]), len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


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
