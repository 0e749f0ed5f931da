import pytest

from bench.circumstances import Circumstances
from bench.report import cells, markdown, number
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget

CIRCUMSTANCES = Circumstances(
    date="2026-01-02",
    commit="0123abcd",
    versions={"Go operator": "v1.2.2", "Kueue": "v0.19.2"},
    machine="2 cores",
    load=0.3,
    command="python -m bench --only mutate",
    seconds=90.0,
)


def section() -> ResultSection:
    latency = ResultRow("p50", "ms", (SpeedTarget(1.0, Contender.PEER), SpeedTarget(0.2)))
    for ours, theirs in ((0.2, 0.4), (0.3, 0.4)):
        latency.add(Contender.OURS, ours)
        latency.add(Contender.PEER, theirs)
    memory = ResultRow("memory", "MiB", (SpeedTarget(0.6, Contender.PEER),))
    memory.add(Contender.OURS, 120.0)
    memory.add(Contender.PEER, 60.0)
    return ResultSection("Mutation", [latency, memory, ResultRow("never", "s")], ["A note."])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (0.0001, "1.0e-04"),
        (0.3243, "0.324"),
        (0.9994, "0.999"),
        (0.9996, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (4539.4, "4,539"),
    ],
)
def test_number_has_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_cells_of_a_row() -> None:
    latency, memory, never = section().rows
    assert cells(latency) == (
        "p50", "ms", "0.400", "0.250 (0.200-0.300)", "-", "0.625x (0.500-0.750)", "-",
        "≤ 1x Go: kept; ≤ 0.2: MISSED",
    )  # fmt: skip
    assert cells(memory) == (
        "memory", "MiB", "60.0", "120", "-", "2.00x", "-", "≤ 0.6x Go: MISSED",
    )  # fmt: skip
    assert cells(never) == ("never", "s", "-", "-", "-", "-", "-", "")


def test_markdown_omits_measures_without_figures() -> None:
    assert markdown([section()], CIRCUMSTANCES) == (
        "- Command: `python -m bench --only mutate`, in 1.5 minutes on 2026-01-02\n"
        "- This operator: commit 0123abcd\n"
        "- Versions: Go operator v1.2.2, Kueue v0.19.2\n"
        "- Machine: 2 cores, with a load average of 0.3 before the run\n"
        "\n"
        "### Mutation\n"
        "\n"
        "| measure | unit | Go operator | this operator | this / Go | target |\n"
        "|---|---|---:|---:|---:|---|\n"
        "| p50 | ms | 0.400 | 0.250 (0.200-0.300) | 0.625x (0.500-0.750) |"
        " ≤ 1x Go: kept; ≤ 0.2: MISSED |\n"
        "| memory | MiB | 60.0 | 120 | 2.00x | ≤ 0.6x Go: MISSED |\n"
        "\n"
        "- A note.\n"
    )
