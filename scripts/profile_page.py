"""Writes the recorded profile as a page of tables and as a picture."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from bench.profile.tables import ALL, REST, Profile, ProfileTable, figure
from scripts.pages import REPOSITORY

_FOLDER: Final = REPOSITORY / "docs" / "maintainers"
RESULTS: Final = _FOLDER / "profile-results.json"
PAGE: Final = _FOLDER / "profile.md"
PICTURE: Final = _FOLDER / "profile.svg"

_ROWS: Final = 8  # of each table in the picture
_WIDTH: Final = 1_000
_BARS: Final = 520
_LINE: Final = 15
_COLOURS: Final = ("#2563eb", "#9ca3af", "#d4a72c")
_UNDRAWN: Final = (ALL, REST)


def profile_pages() -> dict[Path, str]:
    """Returns the text of the page and of the picture."""
    profile = Profile.read(RESULTS)
    return {PAGE: profile_page(profile), PICTURE: picture(profile)}


def profile_page(profile: Profile) -> str:
    """Returns docs/maintainers/profile.md: the largest figures of the profile."""
    return (
        "# Profile of a life\n\n"
        "This page is a reference for maintainers: which requests, events, functions and writes did"
        " the recorded\nprofile see? `make generate` writes the largest of them from"
        " `profile-results.json`, which has all.\n[benchmarks.md](benchmarks.md#a-profile) shows"
        " how to record and read a profile.\n\n"
        f"![What a life costs]({PICTURE.name})\n\n" + profile.markdown()
    )


def picture(profile: Profile) -> str:
    """Returns the drawn tables as SVG: one panel per table, one bar per row and column."""
    parts: list[str] = []
    top = _LINE
    for table in profile.tables:
        if table.drawn:
            panel = [*_panel(table, top)]
            parts += panel
            rows = min(_ROWS, len(_drawn_rows(table)))
            top += 2 * _LINE + rows * (_LINE + 5 * (table.drawn - 1)) + _LINE
    style = "font-family:monospace;font-size:11px;fill:#1f2937"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}"'
        f' style="{style}"><rect width="100%" height="100%" fill="white"/>'
        + "\n".join(["", *parts])
        + "\n</svg>\n"
    )


def _drawn_rows(table: ProfileTable) -> Sequence[tuple[str, Sequence[float]]]:
    return [row for row in table.rows if row[0] not in _UNDRAWN][:_ROWS]


def _panel(table: ProfileTable, top: int) -> Iterator[str]:
    rows = _drawn_rows(table)
    columns = table.columns[: table.drawn]
    yield _text(10, top + _LINE, table.title, "font-weight:bold")
    for index, column in enumerate(columns):
        yield _text(_WIDTH - _BARS + index * 150, top + _LINE, column, f"fill:{_COLOURS[index]}")
    most = max((value for _, values in rows for value in values[: table.drawn]), default=1.0) or 1.0
    high = _LINE + 5 * (table.drawn - 1)
    for at, (label, values) in enumerate(rows):
        y = top + 2 * _LINE + at * high
        shown = label if len(label) <= 70 else label[:69] + "…"
        yield _text(10, y + _LINE - 4, shown)
        bar = (high - 3) // table.drawn
        for index, value in enumerate(values[: table.drawn]):
            width = (_BARS - 160) * value / most
            yield (
                f'<rect x="{_WIDTH - _BARS}" y="{y + index * bar}" width="{width:.1f}"'
                f' height="{bar - 1}" fill="{_COLOURS[index]}"/>'
            )
        numbers = " ".join(map(figure, values[: table.drawn]))
        longest = (_BARS - 160) * max(values[: table.drawn]) / most
        yield _text(round(_WIDTH - _BARS + longest + 4), y + _LINE - 4, numbers)


def _text(x: int, y: int, text: str, style: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x}" y="{y}"{styled}>{escape(text)}</text>'
