"""Texts that count comparisons, for code whose time must not be quadratic in its input."""

from typing import ClassVar


class ComparedText(str):
    """Works as a `str`. `times` counts the comparisons of all instances."""

    times: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        ComparedText.times += 1
        return super().__eq__(other)

    __hash__ = str.__hash__
