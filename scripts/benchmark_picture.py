"""Draws time and memory of the recorded run against the number of AppWrappers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.recorded import Recorded
from bench.results import Contender
from scripts.svg import COLOURS, LINE, document, text

_WIDTH: Final = 450  # of a chart
_HEIGHT: Final = 240
_LEFT: Final = 45
_RIGHT: Final = 95  # for the names at the ends of the lines
_TOP: Final = 3 * LINE
_BOTTOM: Final = 2 * LINE

Point = tuple[int, float]


@dataclass(frozen=True, slots=True)
class Chart:
    """One row of the section of lives for each number of AppWrappers. `measure` is a pattern."""

    title: str
    measure: str

    def lines(self, run: Recorded) -> Mapping[Contender, Sequence[Point]]:
        """Return the medians of each contender, the smallest number of AppWrappers first."""
        section = run.sections.get("lifecycle")
        found = [
            (int(match[1]), row)
            for row in (section.rows if section else ())
            if (match := re.fullmatch(self.measure, row.measure))
        ]
        return {
            contender: points
            for contender in Contender
            if (
                points := sorted(
                    (count, spread.median)
                    for count, row in found
                    if (spread := row.spread(contender)) is not None
                )
            )
        }


CHARTS: Final = (
    Chart(
        "AppWrappers created at once → s to the last Succeeded", r"(\d+) AppWrappers?: created .*"
    ),
    Chart("AppWrappers → MiB of the operator afterwards", r"resident memory after (\d+) .*"),
)


def picture(run: Recorded) -> str:
    """Return one chart beside the other, as SVG."""
    parts = [
        part
        for place, chart in enumerate(CHARTS)
        for part in _drawn(chart, chart.lines(run), place * _WIDTH)
    ]
    return document(len(CHARTS) * _WIDTH, _HEIGHT, parts)


def _drawn(chart: Chart, lines: Mapping[Contender, Sequence[Point]], left: int) -> Iterator[str]:
    yield text(left + 10, 2 * LINE - 5, chart.title, "font-weight:bold")
    points = [point for line in lines.values() for point in line]
    if not points:
        return
    widest = max(count for count, _ in points)
    highest = max(value for _, value in points)
    floor = _HEIGHT - _BOTTOM

    def x(count: int) -> int:
        return round(left + _LEFT + (_WIDTH - _LEFT - _RIGHT) * count / widest)

    def y(value: float) -> int:
        return round(floor - (floor - _TOP) * value / highest)

    for count in sorted({count for count, _ in points}):
        yield text(x(count), _HEIGHT - LINE, f"{count:,}", "text-anchor:middle")
    for share in (0.0, 0.5, 1.0):
        at = y(share * highest)
        yield f'<path d="M{x(0)} {at}H{x(widest)}" stroke="#e5e7eb"/>'
        yield text(x(0) - 5, at + 4, f"{share * highest:.3g}", "text-anchor:end")
    colours = dict(zip(Contender, COLOURS, strict=True))
    lowest = 0
    for contender, line in sorted(lines.items(), key=lambda each: -each[1][-1][1]):
        path = " ".join(f"{x(count)},{y(value)}" for count, value in line)
        colour = colours[contender]
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        lowest = max(y(line[-1][1]) + 4, lowest + LINE)  # no name covers another
        yield text(x(line[-1][0]) + 5, lowest, contender.value, f"fill:{colour}")
