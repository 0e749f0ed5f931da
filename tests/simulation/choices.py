"""Every nondeterminism is one pick among options. Option 0 is the default: fast and without fault.

A pick has a place, a stable readable name ("latency", "write PUT appwrappers/a/status"). A run is
identified by its deviations: which pick at which place took another option than 0.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

T = TypeVar("T")

Deviations = Mapping[tuple[str, int], int]
"""(place, which pick at that place, counted from 1) -> index of the option, never 0."""


class Pick(NamedTuple):
    """One pick: the `number`-th at its place, among `options` options."""

    place: str
    number: int
    options: int
    chosen: int


class Choices(Protocol):
    """Choose among options, and record what was chosen."""

    picks: list[Pick]
    deviations: dict[tuple[str, int], int]

    def pick(self, place: str, options: Sequence[T], odds: Sequence[float] | None = None) -> T:
        """Return one of the options. `odds` are their weights in a random run."""
        ...


class _Counted:
    """Count the picks of each place, and record them."""

    def __init__(self) -> None:
        self.picks: list[Pick] = []
        self.deviations: dict[tuple[str, int], int] = {}
        self._numbers: dict[str, int] = {}

    def _number(self, place: str) -> int:
        number = self._numbers.get(place, 0) + 1
        self._numbers[place] = number
        return number

    def _record(self, place: str, number: int, options: int, index: int) -> None:
        self.picks.append(Pick(place, number, options, index))
        if index:
            self.deviations[place, number] = index


class Drawn(_Counted):
    """Draw every option from one seed."""

    def __init__(self, seed: int | str) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def pick(self, place: str, options: Sequence[T], odds: Sequence[float] | None = None) -> T:
        count = len(options)
        index = self._index(count, odds) if count > 1 else 0
        self._record(place, self._number(place), count, index)
        return options[index]

    def _index(self, count: int, odds: Sequence[float] | None) -> int:
        if odds is None:
            return int(self._random.random() * count)
        if len(odds) != count:
            raise ValueError(f"{len(odds)} odds for {count} options")
        rest = self._random.random() * sum(odds)
        for index, weight in enumerate(odds):
            rest -= weight
            if rest < 0:
                return index
        return 0


class Recorded(_Counted):
    """Choose the recorded deviations, and option 0 everywhere else.

    A recorded index beyond the options is the last option: after a change of the product the place
    may offer fewer.
    """

    def __init__(self, deviations: Deviations | None = None) -> None:
        super().__init__()
        self._recorded = dict(deviations or {})

    def pick(self, place: str, options: Sequence[T], odds: Sequence[float] | None = None) -> T:
        del odds
        number, count = self._number(place), len(options)
        index = min(self._recorded.get((place, number), 0), count - 1)
        self._record(place, number, count, index)
        return options[index]


def chance(choices: Choices, place: str, rate: float) -> bool:
    """Return whether something happens; in a random run with the probability `rate`."""
    return choices.pick(place, (False, True), (1.0 - rate, rate))
