"""An upgrade ends no run: the controller goes on from the states that an earlier one stored."""

import pytest

from tests.simulation.scenarios import SCENARIOS
from tests.simulation.stored_worlds import Stored, read, resume


@pytest.mark.parametrize("stored", [pytest.param(each, id=each.name) for each in read()])
def test_a_run_that_an_earlier_version_began_comes_to_its_end(stored: Stored) -> None:
    outcome = resume(stored)
    assert (outcome.violations, outcome.ends) == ((), SCENARIOS[stored.scenario].ends)
