"""What was measured, as data: one `Row` per measure, one value per contender and round. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bench.statistics import Spread, ratios, spread
from shared.api.objects import JsonObject


class Contender(StrEnum):
    """Whose work is measured. PLATFORM is what remains with no AppWrapper operator at all."""

    OURS = "ours"
    PEER = "Go operator"
    PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class Target:
    """What the design holds us to: a bound on the ratio to another contender, or on the value.

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
        """Whether the median keeps it; None where it was not measured."""
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
        """One more round of one contender."""
        self.rounds.setdefault(contender, []).append(value)

    def spread(self, contender: Contender) -> Spread | None:
        """None where this contender was not measured."""
        values = self.rounds.get(contender)
        return spread(values) if values else None

    def ratio(self, to: Contender) -> Spread | None:
        """Ours to that contender's, round by round; None where either is missing or it is 0.

        One that was measured in a single round is compared with in every round.
        """
        ours, theirs = self.rounds.get(Contender.OURS, []), self.rounds.get(to, [])
        if len(theirs) == 1:
            theirs = theirs * len(ours)
        if not ours or len(ours) != len(theirs) or not all(theirs):
            return None
        return spread(ratios(ours, theirs))

    def as_json(self) -> JsonObject:
        """Everything, for programs: rounds, spreads, ratios and whether the target is kept."""
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
    """The rows of one part of the benchmark, and what a reader must know to judge them."""

    title: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        """Everything, for programs. Rows that nobody was measured for are left out."""
        return {
            "title": self.title,
            "rows": [row.as_json() for row in measured(self.rows)],
            "notes": self.notes,
        }


def measured(rows: Iterable[Row]) -> Sequence[Row]:
    """Those with at least one value."""
    return [row for row in rows if any(row.rounds.values())]
