"""Format the list as a table whose lines never wrap."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cli.columns import GAP, Columns, cells_of, joined, lines, narrow, width_of
from cli.durations import age
from cli.listing.rows import ListedAppWrapper
from cli.terminal import harmless
from shared.api.amounts import amount_text

_UNKNOWN: Final = "-"
_NUMBERS: Final = frozenset({"GPUS", "PRIORITY", "PRIO", "POSITION", "POS", "AGE", "ATTEMPT"})
_SHORT: Final = {"PRIORITY": "PRIO", "POSITION": "POS"}
# The columns that are cut in a narrow window, in this order: each to its least width, until WHY has
# the width beside it. A name is cut last: other commands need it.
_FOR_WHY: Final = 24
_NARROWED: Final = (("QUEUE", 8, 24), ("USER", 8, 24), ("NAMESPACE", 12, 10), ("NAME", 16, 10))


def table(
    rows: Sequence[ListedAppWrapper],
    now: datetime,
    *,
    namespaces: bool = False,
    wide: bool = False,
    width: int | None = None,
) -> str:
    """Return the lines. `width`: of the terminal, None for a program: then nothing is cut.

    `namespaces`: with the column NAMESPACE. `wide`: with the attempts and retries, and uncut.
    """
    columns = _columns(rows, now, namespaces=namespaces, wide=wide)
    if width is None or wide:
        return joined(columns, _NUMBERS)
    return joined(_fitted(columns, width), _NUMBERS, width)


def _columns(
    rows: Sequence[ListedAppWrapper], now: datetime, *, namespaces: bool, wide: bool
) -> Columns:
    columns: Columns = {}
    if namespaces or wide:
        columns["NAMESPACE"] = [row.namespace for row in rows]
    columns["NAME"] = [row.name for row in rows]
    columns["USER"] = [row.user or _UNKNOWN for row in rows]
    columns["STATUS"] = [row.status or _UNKNOWN for row in rows]
    columns["GPUS"] = [amount_text(row.gpus, "gpu") for row in rows]
    columns["PRIORITY"] = [_number(row.priority) for row in rows]
    columns["QUEUE"] = [row.queue or _UNKNOWN for row in rows]
    columns["POSITION"] = [_number(row.position) for row in rows]
    columns["AGE"] = [age(now - row.created) for row in rows]
    if wide:
        columns["ATTEMPT"] = [_number(row.attempt or None) for row in rows]
        columns["RETRIES"] = [f"{row.retries}" for row in rows]
    columns["WHY"] = [row.why for row in rows]
    return {
        heading: [harmless(each).replace("\n", " ").replace("\t", " ") for each in cells]
        for heading, cells in columns.items()
    }


def _number(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)


def _fitted(columns: Columns, width: int) -> Columns:
    """Shorten headings, then omit a queue that all share, then cut columns."""
    columns = dict(columns)
    longest = max(map(cells_of, columns["WHY"]), default=0)

    def lacks(for_why: int = _FOR_WHY) -> int:
        others = sum(width_of(each, columns[each]) + len(GAP) for each in columns if each != "WHY")
        return others + min(for_why, longest) - width

    if lacks() > 0:
        columns = {_SHORT.get(each, each): cells for each, cells in columns.items()}
    if lacks() > 0 and len(set(columns["QUEUE"])) == 1:
        del columns["QUEUE"]
    for heading, least, for_why in _NARROWED:
        narrow(columns, heading, least, lacks(for_why))
    return columns


@dataclass(slots=True)
class AppendedLines:
    """Formats the rows of a list that grows. Columns never become narrower, the heading is once."""

    namespaces: bool = False
    wide: bool = False
    widths: dict[str, int] = field(default_factory=dict)

    def of(self, rows: Sequence[ListedAppWrapper], now: datetime) -> str:
        """Return the next lines."""
        columns = _columns(rows, now, namespaces=self.namespaces, wide=self.wide)
        headings = [] if self.widths else [tuple(columns)]
        for heading, cells in columns.items():
            self.widths[heading] = max(self.widths.get(heading, 0), width_of(heading, cells))
        cells_by_row = [*headings, *zip(*columns.values(), strict=True)]
        return "".join(f"{each}\n" for each in lines(cells_by_row, self.widths, _NUMBERS))
