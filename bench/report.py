"""Formats the results as rows of text, for a terminal and for Markdown. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from bench.results import Contender, Row, Section, measured
from bench.statistics import Spread
from shared.api.objects import JsonObject

HEADINGS = (
    "measure", "unit", "Go operator", "ours", "platform", "ours / Go", "ours / platform", "target",
)  # fmt: skip
_NOT_MEASURED = "-"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The machine, command, date and duration of a run: figures mean nothing without them."""

    machine: str
    command: str
    date: str
    seconds: float


def number(value: float) -> str:
    """Formats three significant digits, thousands with a comma: `0.324`, `12.4`, `4,539`."""
    if value != 0 and abs(value) < 0.0005:
        return f"{value:.1e}"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.9995 else 3
    return f"{value:.{digits}f}"


def spread_text(value: Spread | None, suffix: str = "") -> str:
    """Formats the median and the range of the rounds, `0.32 (0.30-0.35)`; equal values as one."""
    if value is None:
        return _NOT_MEASURED
    middle, low, high = number(value.median), number(value.lowest), number(value.highest)
    if low == high:
        return f"{middle}{suffix}"
    return f"{middle}{suffix} ({low}-{high})"


def target_text(row: Row) -> str:
    """Formats `≤ 1x Go: kept`. A missed target fails nothing; the reader sees it at once."""
    if row.target is None:
        return ""
    held = row.target.holds(row)
    if held is None:
        return str(row.target)
    return f"{row.target}: {'kept' if held else 'MISSED'}"


def cells(row: Row) -> tuple[str, ...]:
    """Returns one row's texts, under HEADINGS."""
    return (
        row.measure,
        row.unit,
        spread_text(row.spread(Contender.PEER)),
        spread_text(row.spread(Contender.OURS)),
        spread_text(row.spread(Contender.PLATFORM)),
        spread_text(row.ratio(Contender.PEER), "x"),
        spread_text(row.ratio(Contender.PLATFORM), "x"),
        target_text(row),
    )


def _shown_columns(sections: Sequence[Section]) -> list[int]:
    """Returns the columns of HEADINGS that have text in at least one row."""
    table = [cells(row) for section in sections for row in measured(section.rows)]
    empty = ("", _NOT_MEASURED)
    return [
        column
        for column in range(len(HEADINGS))
        if column < 2 or any(texts[column] not in empty for texts in table)
    ]


def terminal_table(section: Section) -> Table:
    """Returns a table for a person at a terminal."""
    table = Table(title=section.title, title_justify="left", title_style="bold")
    columns = _shown_columns([section])
    for column in columns:
        table.add_column(HEADINGS[column], justify="left" if column in (0, 1, 7) else "right")
    for row in measured(section.rows):
        texts = cells(row)
        style = "red" if row.target and row.target.holds(row) is False else None
        table.add_row(*(texts[column] for column in columns), style=style)
    return table


def markdown(sections: Sequence[Section], circumstances: Circumstances) -> str:
    """Returns text for docs/maintainers/benchmark-figures.md: the run, then a table per section."""
    lines = [
        f"Run on {circumstances.date} on {circumstances.machine}, in"
        f" {circumstances.seconds / 60:.1f} minutes, by",
        "",
        f"    {circumstances.command}",
    ]
    for section in sections:
        columns = _shown_columns([section])
        lines += ["", f"### {section.title}", ""]
        lines.append("| " + " | ".join(HEADINGS[column] for column in columns) + " |")
        lines.append("|" + "|".join("---" if c in (0, 1, 7) else "---:" for c in columns) + "|")
        for row in measured(section.rows):
            texts = cells(row)
            lines.append("| " + " | ".join(texts[column] for column in columns) + " |")
        if section.notes:
            lines += ["", *(f"- {note}" for note in section.notes)]
    return "\n".join(lines) + "\n"


def as_json(sections: Sequence[Section], circumstances: Circumstances) -> JsonObject:
    """Returns the results for programs."""
    return {
        "machine": circumstances.machine,
        "command": circumstances.command,
        "date": circumstances.date,
        "seconds": round(circumstances.seconds, 1),
        "sections": [section.as_json() for section in sections],
    }
