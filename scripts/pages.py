"""Parts of generated pages: the passage between two marks, tables, docstrings' first paragraphs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[1]
BEGIN: Final = "<!-- make generate writes this passage -->"
END: Final = "<!-- end of this passage -->"


def with_passage(page: str, passage: str) -> str:
    """Return a page that is otherwise written by hand, with a new passage between its two marks.

    Raise ValueError if the page has not exactly one such passage.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest:
        raise ValueError(f"the page needs one passage between {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{passage.strip()}\n\n{END}{after}"


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((text or "").split("\n\n")[0].split())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (each.replace("|", r"\|") for each in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
