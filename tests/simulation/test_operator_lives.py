"""The simulated operators report what the real ones reported of the same objects."""

import pytest

from tests.simulation.operator_lives import LIVES, REAL, simulated


@pytest.mark.parametrize("name", LIVES)
def test_an_operator_reports_what_the_real_one_reported(name: str) -> None:
    assert simulated(LIVES[name]) == REAL[name]
