"""Format tables for a terminal whose lines never wrap, without rich's own tables: fast. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

GAP: Final = "  "
_MORE: Final = "…"
Columns = dict[str, list[str]]  # the cells by heading


def joined(columns: Columns, numbers: Collection[str], width: int | None = None) -> str:
    """Return the lines. `numbers`: the headings of right-aligned columns. `width`: cut there."""
    widths = {heading: width_of(heading, cells) for heading, cells in columns.items()}
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    found = lines(rows, widths, numbers)
    return "".join(f"{each if width is None else cut(each, width)}\n" for each in found)


def lines(
    rows: Iterable[Sequence[str]], widths: Mapping[str, int], numbers: Collection[str]
) -> Iterator[str]:
    """Yield the rows, padded to the widths."""
    for row in rows:
        cells = zip(widths.items(), row, strict=True)
        yield GAP.join(_padded(*of, cell, numbers) for of, cell in cells).rstrip()


def width_of(heading: str, cells: Iterable[str]) -> int:
    """Return the width of a column."""
    texts = (heading, *cells)
    return max(map(len if "".join(texts).isascii() else cells_of, texts))


def total_width(columns: Columns) -> int:
    """Return the width of the longest possible line."""
    widths = [width_of(*each) for each in columns.items()]
    return sum(widths) + len(GAP) * (len(widths) - 1)


def narrow(columns: Columns, heading: str, least: int, surplus: int) -> None:
    """Cut a column by `surplus` terminal cells, but not below its least width."""
    if heading in columns and surplus > 0:
        room = max(least, width_of(heading, columns[heading]) - surplus)
        columns[heading] = [cut(each, room) for each in columns[heading]]


def _padded(heading: str, width: int, cell: str, numbers: Collection[str]) -> str:
    blanks = " " * (width - cells_of(cell))
    return f"{blanks}{cell}" if heading in numbers else f"{cell}{blanks}"


def cut(text: str, width: int) -> str:
    """Return the text in at most that many terminal cells, with an ellipsis if it is cut."""
    if cells_of(text) <= width:
        return text
    room = max(0, width - 1)
    if text.isascii():
        return text[:room].rstrip() + _MORE[:width]
    from rich.cells import set_cell_size

    return set_cell_size(text, room).rstrip() + _MORE[:width]


def cells_of(text: str) -> int:
    """Return the terminal cells of the text. rich is imported only if letters can be wide."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
