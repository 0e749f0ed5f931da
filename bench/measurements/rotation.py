"""Decides which contender goes first. Pure."""

from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def rotated(items: Sequence[_Item], round_number: int) -> list[_Item]:
    """Rotates `items` by one more in each round: no contender always has the warmest machine."""
    start = round_number % len(items)
    return [*items[start:], *items[:start]]
