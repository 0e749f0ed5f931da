"""A replica that lost the lease keeps nothing of its term."""

from dataclasses import replace

import pytest

from tests.simulation.choices import Recorded
from tests.simulation.scenarios import SCENARIOS, Act
from tests.simulation.world import World


# "success": the Job ends while no replica leads, so the next leader must read its caches.
@pytest.mark.parametrize("name", ["success", "retry"])
def test_a_leader_that_froze_for_long_is_an_empty_standby_when_it_wakes(name: str) -> None:
    freeze = Act(5.2, "freeze", options={"seconds": 30.0})
    scenario = replace(SCENARIOS[name], leased=True, skews=(0.0, 0.0), acts=(freeze,))
    world = World(Recorded(), scenario)
    outcome = world.run()
    assert (outcome.violations, outcome.ends) == ((), scenario.ends)
    states = [each._leadership.state for each in world.replicas.values() if each._leadership]
    assert [each.lost for each in states] == [1, 0]
