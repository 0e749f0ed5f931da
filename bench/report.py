"""Formats the results as rows of text, for a terminal and for Markdown. Pure."""

from collections.abc import Sequence

from rich.table import Table

from bench.circumstances import Circumstances
from bench.results import Contender, ResultRow, ResultSection, measured
from bench.statistics import Spread

HEADINGS = (
    "measure", "unit", "Go operator", "this operator", "platform", "this / Go", "this / platform",
    "target",
)  # fmt: skip
_NOT_MEASURED = "-"


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


def target_text(row: ResultRow) -> str:
    """Formats `≤ 1x Go: kept`. A missed target fails nothing; the reader sees it at once."""
    verdicts = {True: ": kept", False: ": MISSED", None: ""}
    return "; ".join(f"{each}{verdicts[each.holds(row)]}" for each in row.targets)


def missed(row: ResultRow) -> bool:
    """True if the row misses one of its targets."""
    return any(target.holds(row) is False for target in row.targets)


def cells(row: ResultRow) -> tuple[str, ...]:
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


def _shown_columns(rows: Sequence[ResultRow]) -> list[int]:
    """Returns the columns of HEADINGS that have text in at least one row."""
    table = [cells(row) for row in measured(rows)]
    empty = ("", _NOT_MEASURED)
    return [
        column
        for column in range(len(HEADINGS))
        if column < 2 or any(texts[column] not in empty for texts in table)
    ]


def terminal_table(section: ResultSection) -> Table:
    """Returns a table for a person at a terminal."""
    table = Table(title=section.title, title_justify="left", title_style="bold")
    columns = _shown_columns(section.rows)
    for column in columns:
        table.add_column(HEADINGS[column], justify="left" if column in (0, 1, 7) else "right")
    for row in measured(section.rows):
        texts = cells(row)
        shown = (texts[column] for column in columns)
        table.add_row(*shown, style="red" if missed(row) else None)
    return table


def markdown(sections: Sequence[ResultSection], circumstances: Circumstances) -> str:
    """Returns the run's circumstances, then a table and the notes of each section."""
    lines = circumstances.sentences()
    for section in sections:
        lines += ["", f"### {section.title}", "", *markdown_table(section.rows)]
        if section.notes:
            lines += ["", *(f"- {note}" for note in section.notes)]
    return "\n".join(lines) + "\n"


def markdown_table(rows: Sequence[ResultRow]) -> list[str]:
    """Returns the lines of a table, without columns that no row fills."""
    columns = _shown_columns(rows)
    return [
        "| " + " | ".join(HEADINGS[column] for column in columns) + " |",
        "|" + "|".join("---" if c in (0, 1, 7) else "---:" for c in columns) + "|",
        *(
            "| " + " | ".join(cells(row)[column] for column in columns) + " |"
            for row in measured(rows)
        ),
    ]
