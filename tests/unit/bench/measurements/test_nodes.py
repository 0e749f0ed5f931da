"""The section about a large cluster, from figures that are given."""

from bench.measurements.nodes import BUSY_SECONDS, USUAL_SECONDS, Figures, section
from bench.results import Contender

OURS, PEER = Contender.OURS, Contender.PEER
FIGURES = Figures(
    taken={OURS: [30.0, 10.0, 20.0], PEER: [10_000.0, 50_000.0, 30_000.0]},
    shares={
        OURS: {0.0: 0.5, USUAL_SECONDS: 0.6, BUSY_SECONDS: 3.0},
        PEER: {0.0: 0.1, USUAL_SECONDS: 0.2, BUSY_SECONDS: 1.0},
    },
    rates={
        OURS: {0.0: 0.0, USUAL_SECONDS: 6.67, BUSY_SECONDS: 199.0},
        PEER: {0.0: 0.0, USUAL_SECONDS: 6.67, BUSY_SECONDS: 180.0},
    },
    memory={OURS: 70.0, PEER: 60.0},
)


def test_each_row_has_both_and_the_designs_bounds() -> None:
    rows = [
        (row.measure, row.rounds[OURS], row.rounds[PEER], ", ".join(map(str, row.targets)))
        for row in section(FIGURES, 2_000).rows
    ]
    assert rows == [
        ("EVICT label to Resetting among 2,000 nodes, fastest", [10], [10_000], ""),
        ("EVICT label to Resetting among 2,000 nodes, median", [20], [30_000], ""),
        ("EVICT label to Resetting among 2,000 nodes, slowest", [30], [50_000], "≤ 200"),
        ("CPU with 2,000 nodes, no status of any node", [0.5], [0.1], ""),
        ("CPU with 2,000 nodes, a status of each node every 5 min", [0.6], [0.2], "≤ 1"),
        ("CPU with 2,000 nodes, a status of each node every 10 s", [3.0], [1.0], ""),
        ("resident memory with 2,000 nodes", [70], [60], ""),
    ]


def test_a_reader_learns_how_many_samples_and_heartbeats_there_were() -> None:
    notes = " ".join(section(FIGURES, 2_000).notes)
    assert "samples: 3 for this operator, 3 for Go operator." in notes
    assert "6.7 and 199 a second for this operator, 6.7 and 180 a second for Go operator." in notes
