"""Results as data: one `Row` per measure, one value per contender and round. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bench.statistics import Spread, ratios, spread
from shared.api.objects import JsonObject


class Contender(StrEnum):
    """The operator that is measured; PLATFORM is the cluster without an AppWrapper operator."""

    OURS = "ours"
    PEER = "Go operator"
    PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that the design sets: on the ratio to another contender, or on our value.

    `against` None bounds our own value, in the row's unit.
    """

    bound: float
    against: Contender | None = None
    at_least: bool = False

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        if self.against is None:
            return f"{sign} {self.bound:g}"
        name = "Go" if self.against is Contender.PEER else self.against.value
        return f"{sign} {self.bound:g}x {name}"

    def holds(self, row: "Row") -> bool | None:
        """True if the median keeps the bound; None if it was not measured."""
        measured = row.ratio(self.against) if self.against else row.spread(Contender.OURS)
        if measured is None:
            return None
        return measured.median >= self.bound if self.at_least else measured.median <= self.bound


@dataclass(slots=True)
class Row:
    """One measure. `rounds` holds the value of each round, in `unit`, in the order they ran."""

    measure: str
    unit: str
    target: Target | None = None
    rounds: dict[Contender, list[float]] = field(default_factory=dict)

    def add(self, contender: Contender, value: float) -> None:
        """Adds one round of one contender."""
        self.rounds.setdefault(contender, []).append(value)

    def spread(self, contender: Contender) -> Spread | None:
        """Returns None if this contender was not measured."""
        values = self.rounds.get(contender)
        return spread(values) if values else None

    def ratio(self, to: Contender) -> Spread | None:
        """Divides our values by that contender's, round by round; None if one is missing or 0.

        A contender with a single round is compared with each of our rounds.
        """
        ours, theirs = self.rounds.get(Contender.OURS, []), self.rounds.get(to, [])
        if len(theirs) == 1:
            theirs = theirs * len(ours)
        if not ours or len(ours) != len(theirs) or not all(theirs):
            return None
        return spread(ratios(ours, theirs))

    def as_json(self) -> JsonObject:
        """Returns rounds, spreads, ratios and whether the target is kept, for programs."""
        return {
            "measure": self.measure,
            "unit": self.unit,
            "rounds": {name.value: values for name, values in self.rounds.items()},
            "median": {
                name.value: _as_json(self.spread(name)) for name in Contender if name in self.rounds
            },
            "ratioToGoOperator": _as_json(self.ratio(Contender.PEER)),
            "ratioToPlatform": _as_json(self.ratio(Contender.PLATFORM)),
            "target": str(self.target) if self.target else None,
            "targetKept": self.target.holds(self) if self.target else None,
        }


def _as_json(value: Spread | None) -> JsonObject | None:
    if value is None:
        return None
    return {"median": value.median, "lowest": value.lowest, "highest": value.highest}


@dataclass(slots=True)
class Section:
    """The rows of one part of the benchmark, and the notes that explain them."""

    title: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        """Returns everything for programs, without rows that no contender was measured for."""
        return {
            "title": self.title,
            "rows": [row.as_json() for row in measured(self.rows)],
            "notes": self.notes,
        }


def measured(rows: Iterable[Row]) -> Sequence[Row]:
    """Returns the rows with at least one value."""
    return [row for row in rows if any(row.rounds.values())]
