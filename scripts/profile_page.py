"""Writes the recorded profile as a page of tables and as a picture."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.profile.tables import ALL, REST, Profile, ProfileTable, figure
from scripts.pages import REPOSITORY
from scripts.svg import COLOURS, LINE, document, text

_FOLDER: Final = REPOSITORY / "docs" / "maintainers"
RESULTS: Final = _FOLDER / "profile-results.json"
PAGE: Final = _FOLDER / "profile.md"
PICTURE: Final = _FOLDER / "profile.svg"

_ROWS: Final = 8  # of each table in the picture
_WIDTH: Final = 1_000
_BARS: Final = 520
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
    top = LINE
    for table in profile.tables:
        if table.drawn:
            panel = [*_panel(table, top)]
            parts += panel
            rows = min(_ROWS, len(_drawn_rows(table)))
            top += 2 * LINE + rows * (LINE + 5 * (table.drawn - 1)) + LINE
    return document(_WIDTH, top, parts)


def _drawn_rows(table: ProfileTable) -> Sequence[tuple[str, Sequence[float]]]:
    return [row for row in table.rows if row[0] not in _UNDRAWN][:_ROWS]


def _panel(table: ProfileTable, top: int) -> Iterator[str]:
    rows = _drawn_rows(table)
    columns = table.columns[: table.drawn]
    yield text(10, top + LINE, table.title, "font-weight:bold")
    for index, column in enumerate(columns):
        yield text(_WIDTH - _BARS + index * 150, top + LINE, column, f"fill:{COLOURS[index]}")
    most = max((value for _, values in rows for value in values[: table.drawn]), default=1.0) or 1.0
    high = LINE + 5 * (table.drawn - 1)
    for at, (label, values) in enumerate(rows):
        y = top + 2 * LINE + at * high
        shown = label if len(label) <= 70 else label[:69] + "…"
        yield text(10, y + LINE - 4, shown)
        bar = (high - 3) // table.drawn
        for index, value in enumerate(values[: table.drawn]):
            width = (_BARS - 160) * value / most
            yield (
                f'<rect x="{_WIDTH - _BARS}" y="{y + index * bar}" width="{width:.1f}"'
                f' height="{bar - 1}" fill="{COLOURS[index]}"/>'
            )
        numbers = " ".join(map(figure, values[: table.drawn]))
        longest = (_BARS - 160) * max(values[: table.drawn]) / most
        yield text(round(_WIDTH - _BARS + longest + 4), y + LINE - 4, numbers)
