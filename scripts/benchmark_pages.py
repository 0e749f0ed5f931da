"""Writes a table of the recorded benchmark run into README.md, and the page of all figures."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.plan import PARTS
from bench.recorded import Recorded
from bench.report import number
from bench.results import Contender, ResultRow
from scripts.benchmark_picture import picture
from scripts.pages import REPOSITORY, with_passage

_FOLDER: Final = REPOSITORY / "docs" / "maintainers"
RESULTS: Final = _FOLDER / "benchmark-results.json"
SCALE_RESULTS: Final = _FOLDER / "scale-results.json"
README: Final = REPOSITORY / "README.md"
FIGURES: Final = _FOLDER / "benchmark-figures.md"
PICTURE: Final = _FOLDER / "benchmarks.svg"
# Ratios between these count as equal: rounds of one run differ by as much.
_EQUAL: Final = (0.95, 1.05)


@dataclass(frozen=True, slots=True)
class Headline:
    """A row of the README. `measure` is a pattern; the last row of the part that matches it counts.

    So the largest of several numbers of AppWrappers is shown; `{}` in `words` is that number.
    """

    part: str
    measure: str
    words: str


HEADLINES: Final = (
    Headline("detection", "failed pod to .*, p50", "a pod fails → its job is reset"),
    Headline("detection", "EVICT label to .*, p50", "a node's GPU is labelled bad → its job moves"),
    Headline("nodes", "EVICT .*, (median)", "the same in a large cluster"),
    Headline("mutate", ".*, 1 connection, p50", "mutation of one AppWrapper"),
    Headline("mutate", ".*, 16 connections, p50", "mutation, 16 at once"),
    Headline("validate", "validate without, 1 connection, p50", "validation of one AppWrapper"),
    Headline("validate", "validate with .*, 1 connection, p50", "the same with an access review"),
    Headline("validate", "validate with .*, 16 connections, p99", "the same, 16 at once, p99"),
    Headline("large", "mutate .* 0.9 MiB, p99", "mutation of 0.9 MiB, p99"),
    Headline("creation", ".* idle, p50", "creation, 16 at once, controllers idle"),
    Headline("creation", ".* at work, p50", "creation, 16 at once, controllers at work"),
    Headline("lifecycle", "1 AppWrapper: created .*", "one AppWrapper, created to Succeeded"),
    Headline("lifecycle", "(.*) AppWrappers: created .*", "{} AppWrappers, created to Succeeded"),
    Headline("lifecycle", "(.*) AppWrappers: deletion .*", "deletion of {} that Succeeded"),
    Headline("lifecycle", "CPU of the operator .*", "the operator's CPU per life"),
    Headline("lifecycle", "resident memory after (.*) AppWrappers", "memory after {} AppWrappers"),
    Headline("deletion", "1 running AppWrapper: .*", "deletion of a running AppWrapper"),
    Headline("deletion", "(.*) running AppWrappers: .*", "deletion of {} running AppWrappers"),
)  # fmt: skip


def benchmark_pages() -> dict[Path, str]:
    """Returns the text of each page, with the figures of the recorded run."""
    run = Recorded.read(RESULTS)
    scale = Recorded.read(SCALE_RESULTS) if SCALE_RESULTS.exists() else None
    return {
        README: with_passage(README.read_text(), readme_passage(run)),
        FIGURES: figures_page(run, scale),
        PICTURE: picture(run),
    }


def readme_passage(run: Recorded) -> str:
    """Returns the README's table: medians, and which operator is better."""
    versions, circumstances = run.circumstances.versions, run.circumstances
    shown = list(headline_rows(run))
    better = [_better(row) for _, _, row in shown]
    lines = [
        f"| Median of one run, {circumstances.date} | Go operator {versions['Go operator']} "
        "| This one | This / Go | Better | Command |",
        "|---|---:|---:|---:|---|---|",
    ]
    for (headline, words, row), winner in zip(shown, better, strict=True):
        ratio = row.ratio(Contender.PEER)
        figures = (quantity(row, Contender.PEER), quantity(row, Contender.OURS))
        texts = (words, *figures, f"{number(ratio.median)}x" if ratio else "-", winner)
        lines.append(f"| {' | '.join(texts)} | `python -m bench --only {headline.part}` |")
    parts = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines += [
        "",
        f"This operator is better in {better.count('this')} of {len(shown)} rows, the Go operator"
        f" in {better.count('Go')}; *equal* is within 5 %. The run was of commit"
        f" {circumstances.commit} on {circumstances.host}. {_missing(run)}".rstrip(),
        "",
        "![Time and memory against the number of AppWrappers](docs/maintainers/benchmarks.svg)",
        "",
        f"Versions: {parts}."
        " [All figures, ranges and targets](docs/maintainers/benchmark-figures.md).",
    ]
    return "\n".join(lines) + "\n"


def figures_page(run: Recorded, scale: Recorded | None = None) -> str:
    """Returns docs/maintainers/benchmark-figures.md: every figure of the run and of `--scale`."""
    head = (
        "# Benchmark figures\n\n"
        "This page is a reference for maintainers: which figures did the recorded run give, and\n"
        "under which conditions? `make generate` writes it from `benchmark-results.json`.\n"
        "[benchmarks.md](benchmarks.md) shows how to measure and read them.\n\n"
        f"{_kept(run)} {_missing(run)}".rstrip()
        + f"\n\n{run.markdown()}"
    )
    if scale is None:
        return head
    return f"{head}\n## At scale\n\n{_kept(scale)}\n\n{scale.markdown()}"


def _kept(run: Recorded) -> str:
    rows = [row for section in run.sections.values() for row in section.rows]
    verdicts = [target.holds(row) for row in rows for target in row.targets]
    measured = verdicts.count(True) + verdicts.count(False)
    return f"{verdicts.count(True)} of {measured} targets are kept."


def headline_rows(run: Recorded) -> Iterator[tuple[Headline, str, ResultRow]]:
    """Returns the README's rows and their headlines, of the parts that the run measured.

    Raises ValueError if a measured part has no such row: then the benchmark was changed.
    """
    for headline in HEADLINES:
        if (section := run.sections.get(headline.part)) is None:
            continue
        found = [(re.fullmatch(headline.measure, row.measure), row) for row in section.rows]
        matching = [(match, row) for match, row in found if match]
        if not matching:
            raise ValueError(f"no row of {headline.part} matches {headline.measure!r}")
        match, row = matching[-1]
        yield headline, headline.words.format(*match.groups()), row


def quantity(row: ResultRow, contender: Contender) -> str:
    """Formats a median with its unit; long times in seconds."""
    value = row.spread(contender)
    if value is None:
        return "-"
    if row.unit == "ms" and value.median >= 1_000:
        return f"{number(value.median / 1_000)} s"
    return f"{number(value.median)} {row.unit}"


def _better(row: ResultRow) -> str:
    """Returns `this`, `Go` or `equal`: in all of the README's rows less is better."""
    ratio = row.ratio(Contender.PEER)
    if ratio is None:
        return "-"
    low, high = _EQUAL
    return "this" if ratio.median < low else "Go" if ratio.median > high else "equal"


def _missing(run: Recorded) -> str:
    missing = [part for part in PARTS if part not in run.sections]
    return f"Parts that this run did not measure: {', '.join(missing)}." if missing else ""
