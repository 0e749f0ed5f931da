"""Computes percentiles, and the spread of one measure's rounds. Pure."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """The values of several rounds of one measure: their median and their range."""

    median: float
    lowest: float
    highest: float


def spread(values: Sequence[float]) -> Spread:
    """Raises ValueError for no values: a measure that was not taken is not 0."""
    if not values:
        raise ValueError("no values to take the median of")
    return Spread(statistics.median(values), min(values), max(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """Returns the value below which `percent` (0 to 100) of `values` lie, interpolated linearly.

    Raises ValueError for no values.
    """
    if not values:
        raise ValueError("no values to take a percentile of")
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
