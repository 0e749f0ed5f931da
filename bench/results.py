"""Results as data: one `ResultRow` per measure, one value per contender and round. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from bench.statistics import Spread, spread
from shared.api.objects import JsonObject


class Contender(StrEnum):
    """The operator that is measured; PLATFORM is the cluster without an AppWrapper operator."""

    OURS = "this operator"
    PEER = "Go operator"
    PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class SpeedTarget:
    """A bound that the design sets: on the ratio to another contender, or on our value.

    `against` None bounds our own value, in the row's unit. `beyond` bounds the difference to the
    other contender instead of the ratio.
    """

    bound: float
    against: Contender | None = None
    at_least: bool = False
    beyond: bool = False

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        if self.against is None:
            return f"{sign} {self.bound:g}"
        name = "Go" if self.against is Contender.PEER else self.against.value
        return (
            f"{sign} {name} + {self.bound:g}" if self.beyond else f"{sign} {self.bound:g}x {name}"
        )

    def holds(self, row: "ResultRow") -> bool | None:
        """True if the median keeps the bound; None if it was not measured."""
        if self.against is None:
            measured = row.spread(Contender.OURS)
        elif self.beyond:
            measured = row.difference(self.against)
        else:
            measured = row.ratio(self.against)
        if measured is None:
            return None
        return measured.median >= self.bound if self.at_least else measured.median <= self.bound


@dataclass(slots=True)
class ResultRow:
    """One measure. `rounds` holds the value of each round, in `unit`, in the order they ran."""

    measure: str
    unit: str
    targets: tuple[SpeedTarget, ...] = ()
    rounds: dict[Contender, list[float]] = field(default_factory=dict)

    def add(self, contender: Contender, value: float) -> None:
        """Adds one round of one contender."""
        self.rounds.setdefault(contender, []).append(value)

    def spread(self, contender: Contender) -> Spread | None:
        """Returns None if this contender was not measured."""
        values = self.rounds.get(contender)
        return spread(values) if values else None

    def ratio(self, to: Contender) -> Spread | None:
        """Divides our values by that contender's, round by round; None if one is missing or 0."""
        pairs = self._pairs(to)
        if not pairs or not all(theirs for _, theirs in pairs):
            return None
        return spread([ours / theirs for ours, theirs in pairs])

    def difference(self, to: Contender) -> Spread | None:
        """Subtracts that contender's value in each round; None if one is missing."""
        pairs = self._pairs(to)
        return spread([ours - theirs for ours, theirs in pairs]) if pairs else None

    def _pairs(self, to: Contender) -> list[tuple[float, float]]:
        """Pairs our rounds with that contender's; none if the numbers of rounds differ.

        Values measured side by side are compared side by side: a machine that is slow for one
        round is slow for both sides of it. A contender with a single round is compared with each
        of our rounds.
        """
        ours, theirs = self.rounds.get(Contender.OURS, []), self.rounds.get(to, [])
        if len(theirs) == 1:
            theirs = theirs * len(ours)
        return list(zip(ours, theirs, strict=True)) if len(ours) == len(theirs) else []

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
            "targets": [
                {
                    "bound": target.bound,
                    "against": target.against.value if target.against else None,
                    "atLeast": target.at_least,
                    "beyond": target.beyond,
                    "kept": target.holds(self),
                }
                for target in self.targets
            ],
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> "ResultRow":
        """Reads what `as_json` wrote; what follows from the rounds is calculated again."""
        targets = tuple(
            SpeedTarget(
                each["bound"],
                Contender(each["against"]) if each["against"] else None,
                each["atLeast"],
                each["beyond"],
            )
            for each in stored["targets"]
        )
        rounds = {Contender(name): list(values) for name, values in stored["rounds"].items()}
        return cls(stored["measure"], stored["unit"], targets, rounds)


def _as_json(value: Spread | None) -> JsonObject | None:
    return asdict(value) if value else None


@dataclass(slots=True)
class ResultSection:
    """The rows of one part of the benchmark, and the notes that explain them."""

    title: str
    rows: list[ResultRow]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        """Returns everything for programs, without rows that no contender was measured for."""
        return {
            "title": self.title,
            "rows": [row.as_json() for row in measured(self.rows)],
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> "ResultSection":
        """Reads what `as_json` wrote."""
        return cls(
            stored["title"], [*map(ResultRow.from_json, stored["rows"])], list(stored["notes"])
        )


def measured(rows: Iterable[ResultRow]) -> Sequence[ResultRow]:
    """Returns the rows with at least one value."""
    return [row for row in rows if any(row.rounds.values())]
