"""The real controller lives through whole runs in virtual time, and keeps every promise."""

from dataclasses import replace

import pytest

from tests.simulation.choices import Drawn, Recorded
from tests.simulation.profiles import PROFILES, draw
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.world import World


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_without_a_fault_comes_to_its_end_and_breaks_no_promise(name: str) -> None:
    outcome = World(Recorded(), SCENARIOS[name]).run()
    assert (outcome.violations, outcome.ends) == ((), SCENARIOS[name].ends)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_random_world_breaks_no_promise(profile: str, seed: int) -> None:
    choices = Drawn(f"{profile} {seed}")
    outcome = World(choices, draw(choices, profile)).run()
    assert outcome.violations == ()


def test_the_recorded_deviations_of_a_random_world_run_it_again() -> None:
    choices = Drawn("again")
    first = World(choices, draw(choices, "crashes")).run()
    recorded = Recorded(first.deviations)
    second = World(recorded, draw(recorded, "crashes")).run()
    assert first.deviations
    assert (second.digest, second.ends) == (first.digest, first.ends)


def test_a_pass_that_outlasts_its_appwrapper_leaves_nothing_in_memory() -> None:
    """Another controller removes the finalizer while a request of this pass takes long."""
    scenario = replace(SCENARIOS["delete"], skews=(0.0, 0.0))
    outcome = World(Recorded({("latency", 38): 3}), scenario).run()
    assert outcome.violations == ()
