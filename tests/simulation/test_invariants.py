"""The invariants of a simulated run detect worlds that are broken on purpose."""

from collections.abc import Callable

import pytest

from controller.phases import resuming, running
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.simulation.actors.kueue import workloads
from tests.simulation.choices import Recorded
from tests.simulation.faults import WRITE_FAULTS
from tests.simulation.outcome import Violation
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.workloads import NAMESPACE
from tests.simulation.world import World


def fails(item: JsonObject) -> None:
    item["status"]["phase"] = "Failed"


def broken(name: str, at: float, change: Callable[[JsonObject], None]) -> list[Violation]:
    """Return what a scenario breaks if its AppWrapper's object changes so at a moment."""
    world = World(Recorded(), SCENARIOS[name])
    store = world.cluster.store
    world.cluster.loop.outside(at, store.change, APPWRAPPERS, NAMESPACE, "a", change)
    return list(world.run().violations)


def test_a_failure_that_nothing_explains_is_a_violation() -> None:
    found = broken("success", 4.5, fails)
    assert ("cause", 4.5) in [(each.kind, each.at) for each in found]


def test_a_failure_after_the_cause_of_an_earlier_attempt_only_is_a_violation() -> None:
    found = broken("retry", 13.0, fails)
    assert [each.text.partition(":")[2][:26] for each in found if each.kind == "cause"] == [
        " Failed after attempt 2, c"
    ]


def test_a_lost_component_that_the_controller_ignores_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "missing_component", lambda _: None)
    lost = ("missing", "a is Running 2 s after it lost ConfigMap/c")
    assert lost in kinds_and_texts(Recorded(), "component deleted")


def test_a_component_that_is_lost_at_once_and_that_the_controller_ignores_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resuming, "missing_component", lambda _: None)
    monkeypatch.setattr(running, "missing_component", lambda _: None)
    deleted = WRITE_FAULTS.index("then delete component")
    lost = ("missing", "a is Running 2 s after it lost ConfigMap/c")
    choices = Recorded({("write POST configmaps/c", 1): deleted})
    assert lost in kinds_and_texts(choices, "success")


def kinds_and_texts(choices: Recorded, name: str) -> list[tuple[str, str]]:
    found = World(choices, SCENARIOS[name]).run().violations
    return [(each.kind, each.text) for each in found]


@pytest.mark.parametrize("name", ["success", "delete"])
def test_quota_that_kueue_counts_after_the_end_is_a_violation(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kueue neither finishes a Workload, nor lets the garbage collector remove it."""
    monkeypatch.setattr(workloads, "finish", lambda *_: None)
    monkeypatch.setattr(workloads, "without_finalizer", lambda _: None)
    kinds = [each.kind for each in World(Recorded(), SCENARIOS[name]).run().violations]
    assert "quota" in kinds
