"""Infer the caBundle of a moment from readings before and after it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """A caBundle, and when it was asked for and answered, in seconds of time.monotonic()."""

    asked: float
    answered: float
    bundle: bytes


def surely(readings: Sequence[Reading], begin: float, end: float) -> bytes | None:
    """The caBundle from `begin` to `end`; None if it changed or is not certain."""
    before = [each for each in readings if each.answered <= begin]
    after = [each for each in readings if each.asked >= end]
    if not before or not after:
        return None
    during = [each for each in readings if before[-1].asked <= each.asked <= after[0].asked]
    bundles = {each.bundle for each in during}
    return during[0].bundle if len(bundles) == 1 else None
