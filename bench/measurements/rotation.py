"""Who goes first. Pure."""

from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def rotated(items: Sequence[_Item], round_number: int) -> list[_Item]:
    """`items`, begun one further in every round, so that nobody always has the warmest machine."""
    start = round_number % len(items)
    return [*items[start:], *items[:start]]
