"""The README and the maintainers' pages show the recorded run, losses included."""

import re

import pytest

from bench.circumstances import Circumstances
from bench.recorded import Recorded
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from localcluster.programs.catalogue import CATALOGUE
from scripts.benchmark_pages import (
    RESULTS,
    figures_page,
    headline_rows,
    readme_passage,
)

OURS, PEER, PLATFORM = Contender.OURS, Contender.PEER, Contender.PLATFORM
CIRCUMSTANCES = Circumstances(
    date="2026-01-02",
    commit="0123abcd",
    versions={"Go operator": "v1.2.2", "Kueue": "v0.19.2"},
    machine="2 cores",
    load=0.3,
    command="python -m bench --only creation,deletion",
    seconds=90.0,
)


def row(
    measure: str, ours: float, peer: float, *targets: SpeedTarget, unit: str = "s"
) -> ResultRow:
    return ResultRow(measure, unit, targets, {OURS: [ours], PEER: [peer]})


def run(**sections: list[ResultRow]) -> Recorded:
    return Recorded(
        CIRCUMSTANCES, {part: ResultSection(part, rows) for part, rows in sections.items()}
    )


WON_AND_LOST = run(
    creation=[
        row("create, controllers idle, p50", 146.0, 100.0, SpeedTarget(0.9, PEER), unit="ms"),
        row("create, controllers idle, p99", 300.0, 200.0, unit="ms"),
        row("create, controllers at work, p50", 1_040.0, 1_000.0, unit="ms"),
    ],
    deletion=[
        row("1 running AppWrapper: deletion", 0.35, 5.0, SpeedTarget(0.05, PEER)),
        row("5 running AppWrappers: deletion", 4.0, 3.0),
        row("300 running AppWrappers: deletion", 29.0, 30.6),
    ],
)
NOT_MEASURED = (
    "Parts that this run did not measure: mutate, validate, large, lifecycle, detection, flapping,"
    " records, nodes."
)


def test_the_recorded_run_was_against_the_peer_that_the_benchmark_builds() -> None:
    recorded = Recorded.read(RESULTS).circumstances.versions
    assert recorded["Go operator"] == CATALOGUE["appwrapper"].version, "run the benchmark again"


def test_the_readme_shows_losses_beside_wins() -> None:
    assert readme_passage(WON_AND_LOST) == (
        "| Median of one run, 2026-01-02 | Go operator v1.2.2 | This one | This / Go | Better |"
        " Command |\n"
        "|---|---:|---:|---:|---|---|\n"
        "| creation, 16 at once, controllers idle | 100 ms | 146 ms | 1.46x | Go |"
        " `python -m bench --only creation` |\n"
        "| creation, 16 at once, controllers at work | 1.00 s | 1.04 s | 1.04x | equal |"
        " `python -m bench --only creation` |\n"
        "| deletion of a running AppWrapper | 5.00 s | 0.350 s | 0.070x | this |"
        " `python -m bench --only deletion` |\n"
        "| deletion of 300 running AppWrappers | 30.6 s | 29.0 s | 0.948x | this |"
        " `python -m bench --only deletion` |\n"
        "\n"
        "This operator is better in 2 of 4 rows, the Go operator in 1; *equal* is within 5 %. The"
        " run was of commit 0123abcd on 2 cores, with a load average of 0.3 before the run."
        f" {NOT_MEASURED}\n"
        "\n"
        "![Time and memory against the number of AppWrappers](docs/maintainers/benchmarks.svg)\n"
        "\n"
        "Versions: Go operator v1.2.2, Kueue v0.19.2. [All figures, ranges and"
        " targets](docs/maintainers/benchmark-figures.md).\n"
    )


def test_the_reference_counts_the_targets_that_were_kept() -> None:
    page = figures_page(WON_AND_LOST)
    assert f"\n\n0 of 2 targets are kept. {NOT_MEASURED}\n\n- Command: `python -m" in page


def test_the_reference_has_a_run_at_scale_below_the_other() -> None:
    scale = run(stored=[row("resident memory", 300.0, 900.0, SpeedTarget(350), unit="MiB")])
    page = figures_page(WON_AND_LOST, scale)
    above, below = page.split("\n\n## At scale\n\n")
    assert above + "\n" == figures_page(WON_AND_LOST)
    assert below.startswith("1 of 1 targets are kept.\n\n- Command: ")
    assert "| resident memory | MiB | 900 | 300 | 0.333x | ≤ 350: kept |" in below


def test_the_reference_has_every_row() -> None:
    page = figures_page(WON_AND_LOST)
    rows = [each for section in WON_AND_LOST.sections.values() for each in section.rows]
    assert [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| ")] == [
        "| measure", *(f"| {each.measure}" for each in rows[:3]),
        "| measure", *(f"| {each.measure}" for each in rows[3:]),
    ]  # fmt: skip


def test_a_measured_part_without_a_row_of_the_readme_is_an_error() -> None:
    renamed = run(deletion=[row("1 running AppWrapper: deletion", 1.0, 2.0)])
    message = "no row of deletion matches '(.*) running AppWrappers: .*'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        list(headline_rows(renamed))


def test_a_row_that_only_one_contender_has_shows_no_winner() -> None:
    alone = ResultRow("create, controllers idle, p50", "ms", (), {OURS: [1.0]})
    passage = readme_passage(run(creation=[alone, row("create, controllers at work, p50", 1, 2)]))
    assert "| creation, 16 at once, controllers idle | - | 1.00 ms | - | - |" in passage
