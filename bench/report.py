"""Formats the results as Markdown. Pure."""

from collections.abc import Sequence

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


def markdown(sections: Sequence[ResultSection], circumstances: Circumstances) -> str:
    """Returns the run's circumstances, then a table and the notes of each section."""
    lines = circumstances.sentences()
    for section in sections:
        lines += ["", f"### {section.title}", "", *_table(section.rows)]
        if section.notes:
            lines += ["", *(f"- {note}" for note in section.notes)]
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[ResultRow]) -> list[str]:
    """Returns the lines of a table, without columns that no row fills."""
    table = [cells(row) for row in measured(rows)]
    columns = [
        column
        for column in range(len(HEADINGS))
        if column < 2 or any(texts[column] not in ("", _NOT_MEASURED) for texts in table)
    ]
    return [
        "| " + " | ".join(HEADINGS[column] for column in columns) + " |",
        "|" + "|".join("---" if c in (0, 1, 7) else "---:" for c in columns) + "|",
        *("| " + " | ".join(texts[column] for column in columns) + " |" for texts in table),
    ]
