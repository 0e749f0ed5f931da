"""Each write of the recorded real lives is one that an actor can make."""

import json
from pathlib import Path

import pytest

from tests.simulation.inclusion import Life, explained

ACTORS = ("JobController", "Scheduler", "Kubelet", "GarbageCollector", "PodGc")
LIVES = Path(__file__).parents[1] / "golden" / "lives"


@pytest.mark.parametrize("file", sorted(LIVES.glob("*.json")), ids=lambda file: str(file.stem))
def test_each_recorded_write_is_one_that_an_actor_can_make(file: Path) -> None:
    life = Life(json.loads(file.read_text()))
    counts, missing = explained(life)
    assert missing == []
    by_actors = sum(count for why, count in counts.items() if why in ACTORS)
    assert by_actors >= len(life.steps) / 2, counts


def test_the_recorded_programs_are_those_that_the_actors_simulate() -> None:
    lives = [json.loads(each.read_text()) for each in LIVES.glob("*.json")]
    writers = {name for life in lives for write in life["writes"] for name in write["writers"]}
    assert {"kube-controller-manager", "kube-scheduler", "kwok"} <= writers
    assert len(lives) == 16
