"""Format the list as a table whose lines never wrap."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cli.durations import age
from cli.listing.rows import ListedAppWrapper
from cli.terminal import harmless
from shared.api.amounts import amount_text

_GAP: Final = "  "
_MORE: Final = "…"
_UNKNOWN: Final = "-"
_NUMBERS: Final = frozenset({"GPUS", "PRIORITY", "PRIO", "POSITION", "POS", "AGE", "ATTEMPT"})
_SHORT: Final = {"PRIORITY": "PRIO", "POSITION": "POS"}
# The columns that are cut in a narrow window, in this order: each to its least width, until WHY has
# the width beside it. A name is cut last: other commands need it.
_FOR_WHY: Final = 24
_NARROWED: Final = (("QUEUE", 8, 24), ("USER", 8, 24), ("NAMESPACE", 12, 10), ("NAME", 16, 10))
_Table = dict[str, list[str]]  # the cells by heading


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
        return _joined(columns)
    return _joined(_fitted(columns, width), width)


def _columns(
    rows: Sequence[ListedAppWrapper], now: datetime, *, namespaces: bool, wide: bool
) -> _Table:
    columns: _Table = {}
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


def _fitted(columns: _Table, width: int) -> _Table:
    """Shorten headings, then omit a queue that all share, then cut columns."""
    columns = dict(columns)
    longest = max(map(_cells, columns["WHY"]), default=0)

    def lacks(for_why: int = _FOR_WHY) -> int:
        others = sum(_width(each, columns[each]) + len(_GAP) for each in columns if each != "WHY")
        return others + min(for_why, longest) - width

    if lacks() > 0:
        columns = {_SHORT.get(each, each): cells for each, cells in columns.items()}
    if lacks() > 0 and len(set(columns["QUEUE"])) == 1:
        del columns["QUEUE"]
    for heading, least, for_why in _NARROWED:
        if heading in columns and (surplus := lacks(for_why)) > 0:
            room = max(least, _width(heading, columns[heading]) - surplus)
            columns[heading] = [_cut(each, room) for each in columns[heading]]
    return columns


def _joined(columns: _Table, width: int | None = None) -> str:
    widths = {heading: _width(heading, cells) for heading, cells in columns.items()}
    lines = _lines([tuple(columns), *zip(*columns.values(), strict=True)], widths)
    return "".join(f"{each if width is None else _cut(each, width)}\n" for each in lines)


def _lines(rows: Iterable[Sequence[str]], widths: Mapping[str, int]) -> Iterator[str]:
    for row in rows:
        cells = zip(widths.items(), row, strict=True)
        yield _GAP.join(_padded(*of, cell) for of, cell in cells).rstrip()


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
            self.widths[heading] = max(self.widths.get(heading, 0), _width(heading, cells))
        lines = _lines([*headings, *zip(*columns.values(), strict=True)], self.widths)
        return "".join(f"{each}\n" for each in lines)


def _width(heading: str, cells: Iterable[str]) -> int:
    return max((_cells(heading), *map(_cells, cells)))


def _padded(heading: str, width: int, cell: str) -> str:
    blanks = " " * (width - _cells(cell))
    return f"{blanks}{cell}" if heading in _NUMBERS else f"{cell}{blanks}"


def _cut(text: str, width: int) -> str:
    """Return the text in at most that many terminal cells, with an ellipsis if it is cut."""
    if _cells(text) <= width:
        return text
    room = max(0, width - 1)
    if text.isascii():
        return text[:room].rstrip() + _MORE[:width]
    from rich.cells import set_cell_size

    return set_cell_size(text, room).rstrip() + _MORE[:width]


def _cells(text: str) -> int:
    """Return the terminal cells of the text. rich is imported only if letters can be wide."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
