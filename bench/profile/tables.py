"""The tables of a profile, as data and as Markdown. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Self

import orjson

from bench.circumstances import Circumstances
from bench.report import number
from shared.api.objects import JsonObject

# A row below this share of its table's first column is added to the last row.
_SMALLEST = 0.004
REST = "the rest"
# The subject of tables whose labels are names in code.
FUNCTION = "function of this operator"


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """Each row has a label and one number per column. A picture shows `drawn` of the columns."""

    title: str
    subject: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float]]]
    notes: Sequence[str] = ()
    drawn: int = 0

    def markdown(self) -> list[str]:
        """Returns the lines of a section: heading, table and notes."""
        return [
            f"### {self.title}",
            "",
            f"| {self.subject} | {' | '.join(self.columns)} |",
            "|---|" + "---:|" * len(self.columns),
            *(
                f"| {self._label(label)} | {' | '.join(map(_cell, values))} |"
                for label, values in self.rows
            ),
            *(["", *(f"- {note}" for note in self.notes)] if self.notes else []),
        ]

    def _label(self, label: str) -> str:
        return f"`{label}`" if self.subject == FUNCTION else label


def _cell(value: float) -> str:
    return number(value) if value else "-"


def ranked(
    columns: Sequence[Mapping[str, float]], *, most: int = 30, smallest: float = _SMALLEST
) -> list[tuple[str, list[float]]]:
    """Returns one row per name, the largest of the first column first; the last is the rest.

    A name stays apart if it has a share of at least `smallest` in any column.
    """
    totals = [sum(column.values()) or 1.0 for column in columns]
    names = {name for column in columns for name in column}

    def key(name: str) -> tuple[float, ...]:
        return tuple(-column.get(name, 0.0) for column in columns)

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
        """Returns the circumstances and all tables."""
        lines = self.circumstances.sentences()
        for table in self.tables:
            lines += ["", *table.markdown()]
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
        known = {each.name: stored["circumstances"][each.name] for each in fields(Circumstances)}
        return cls(Circumstances(**known), [_table(each) for each in stored["tables"]])


def _table(stored: JsonObject) -> ProfileTable:
    rows = [(each["label"], each["values"]) for each in stored["rows"]]
    return ProfileTable(**stored | {"rows": rows})
