"""Texts that count how often they are compared, for what must not take the square of its input."""

from typing import ClassVar


class ComparedText(str):
    """As a `str`. `times` is that of all of them, ever."""

    times: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        ComparedText.times += 1
        return super().__eq__(other)

    __hash__ = str.__hash__
