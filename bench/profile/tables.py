"""The tables of a profile, as data and as Markdown. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import orjson

from bench.circumstances import Circumstances
from shared.api.objects import JsonObject

# A row below this share of its table in every column is added to the last row.
_SMALLEST = 0.004
_LISTED = 8
REST = "the rest"
ALL = "all"
# The subject of tables whose labels are names in code.
FUNCTION = "function of this operator"


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """Each row has a label and one number per column.

    Markdown shows `listed` of the rows and a picture `drawn` of the columns. JSON has everything.
    """

    title: str
    subject: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float]]]
    notes: Sequence[str] = ()
    drawn: int = 0
    listed: int = _LISTED

    def markdown(self) -> list[str]:
        """Returns the lines of a section: heading, table and notes."""
        return [
            f"### {self.title}",
            "",
            f"| {self.subject} | {' | '.join(self.columns)} |",
            "|---|" + "---:|" * len(self.columns),
            *(
                f"| {self._label(label)} | {' | '.join(map(figure, values))} |"
                for label, values in self._listed()
            ),
            *(["", *(f"- {note}" for note in self.notes)] if self.notes else []),
        ]

    def _listed(self) -> list[tuple[str, Sequence[float]]]:
        """Returns the first rows, and the sum of the others unless they overlap."""
        parts = [row for row in self.rows if row[0] not in (REST, ALL)]
        others = parts[self.listed :] + [row for row in self.rows if row[0] == REST]
        whole = [row for row in self.rows if row[0] == ALL]
        summed = [sum(column) for column in zip(*(values for _, values in others), strict=True)]
        rest = [(REST, summed)] if summed and self.subject != FUNCTION else []
        return [*parts[: self.listed], *rest, *whole]

    def _label(self, label: str) -> str:
        return f"`{label}`" if self.subject == FUNCTION else label


def figure(value: float) -> str:
    """Formats `0.3`, `12`, `4,539`: no more digits than two runs have in common."""
    if not value:
        return "-"
    if value < 0.05:
        return "<0.1"
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


def ranked(
    columns: Sequence[Mapping[str, float]],
    *,
    comparable: bool = False,
    most: int = 30,
    smallest: float = _SMALLEST,
) -> list[tuple[str, list[float]]]:
    """Returns one row per name, the largest of the first column first; the last is the rest.

    If the columns are `comparable`, the largest of any column comes first. A name stays apart if it
    has a share of at least `smallest` in any column.
    """
    totals = [sum(column.values()) or 1.0 for column in columns]
    names = {name for column in columns for name in column}

    def key(name: str) -> tuple[float, ...]:
        values = [-column.get(name, 0.0) for column in columns]
        return (min(values), *values) if comparable else tuple(values)

    large = [
        name
        for name in sorted(names, key=lambda each: (key(each), each))
        if any(
            column.get(name, 0.0) >= smallest * total
            for column, total in zip(columns, totals, strict=True)
        )
    ][:most]
    rows = [(name, [column.get(name, 0.0) for column in columns]) for name in large]
    rest = [sum(v for name, v in column.items() if name not in large) for column in columns]
    return [*rows, (REST, rest)] if any(rest) else rows


@dataclass(frozen=True, slots=True)
class Profile:
    """One run of `python -m bench --profile`."""

    circumstances: Circumstances
    tables: Sequence[ProfileTable]

    def markdown(self) -> str:
        """Returns the circumstances and the largest rows of the tables."""
        lines = self.circumstances.sentences()
        for table in self.tables:
            lines += ["", *table.markdown()] if table.listed else []
        return "\n".join(lines) + "\n"

    def as_json(self) -> JsonObject:
        """Returns everything, for programs."""
        return {
            "circumstances": self.circumstances.as_json(),
            "tables": [
                asdict(table)
                | {"rows": [{"label": label, "values": values} for label, values in table.rows]}
                for table in self.tables
            ],
        }

    @classmethod
    def read(cls, file: Path) -> Self:
        """Reads what `as_json` wrote."""
        stored: JsonObject = orjson.loads(file.read_bytes())
        circumstances = Circumstances(**stored["circumstances"])
        return cls(circumstances, [_table(each) for each in stored["tables"]])


def _table(stored: JsonObject) -> ProfileTable:
    rows = [(each["label"], each["values"]) for each in stored["rows"]]
    return ProfileTable(**stored | {"rows": rows})
