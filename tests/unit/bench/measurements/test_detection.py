from typing import Any

import pytest

from bench.measurements.detection import Detection
from bench.results import Contender

OURS, PEER = Contender.OURS, Contender.PEER


def section_of(taken: dict[Contender, list[float]]) -> Any:
    detection = Detection(samples=3)
    detection._faults[0].taken = taken
    return detection.section


def test_all_samples_of_a_run_make_one_figure() -> None:
    p50, p99, *others = section_of({OURS: [40.0, 20.0, 30.0], PEER: [60_000.0, 20_000.0]}).rows
    assert p50.rounds == {OURS: [30.0], PEER: [40_000.0]}
    assert p99.measure == "failed pod to Resetting, p99"
    assert p99.rounds == {OURS: [pytest.approx(39.8)]}
    assert [row.rounds for row in others] == [{}] * 4


def test_the_designs_bounds() -> None:
    assert {row.measure: ", ".join(map(str, row.targets)) for row in section_of({}).rows} == {
        "failed pod to Resetting, p50": "≤ 50",
        "failed pod to Resetting, p99": "",
        "EVICT label to Resetting, p50": "≤ 50",
        "EVICT label to Resetting, p99": "",
        "component deleted by another client to Failed, p50": "",
        "component deleted by another client to Failed, p99": "",
    }


def test_the_section_shows_the_number_of_samples() -> None:
    section = section_of({OURS: [1.0] * 7})
    assert section.notes[0].endswith(
        "failed pod 7, EVICT label 0, component deleted by another client 0."
    )


def test_no_two_appwrappers_share_a_node_that_is_tagged() -> None:
    pod, node, _ = Detection(1)._faults
    limits = []
    for fault in (pod, node):
        job = fault.document("b", 0)["spec"]["components"][0]["template"]["spec"]
        limits.append(
            (
                job["parallelism"],
                job["template"]["spec"]["containers"][0]["resources"].get("limits"),
            )
        )
    assert limits == [(2, None), (1, {"nvidia.com/gpu": "8"})]
