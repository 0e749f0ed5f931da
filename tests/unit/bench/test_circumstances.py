from dataclasses import replace

import pytest

from bench.circumstances import Circumstances, measured_by
from localcluster.programs.catalogue import CATALOGUE


def test_a_run_records_commit_versions_and_load() -> None:
    found = Circumstances.gather("python -m bench")
    assert found.command == "python -m bench"
    assert len(found.commit.rstrip("+")) == 8
    assert set(found.versions) == {"Go operator", "Kueue", "Kubernetes", "etcd", "KWOK"}
    assert found.versions["Go operator"] == CATALOGUE["appwrapper"].version
    assert found.load >= 0


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (0.9, "2 cores, with a load average of 0.9 before the run"),
        (1.0, "2 cores, with a load average of 1.0 before the run, so other work ran beside it"),
    ],
)
def test_a_busy_machine_is_named(load: float, text: str) -> None:
    found = replace(Circumstances.gather("python -m bench"), machine="2 cores", load=load)
    assert found.host == text


@pytest.mark.parametrize(
    "given",
    [
        ["--quick", "--json", "results.json", "--rounds", "2"],
        ["--quick", "--json=results.json", "--rounds", "2"],
        ["--quick", "--rounds", "2"],
    ],
)
def test_the_recorded_command_names_no_file(given: list[str]) -> None:
    assert measured_by(given) == "python -m bench --quick --rounds 2"
