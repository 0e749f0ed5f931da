"""Every scenario keeps all promises under each of the gravest single faults at each write.

`make certify` runs all other single faults, and pairs.
"""

import gc

import pytest

from tests.simulation.explore import AT_WRITES, LATE_EVENTS, Space, Trial, next_trials, run
from tests.simulation.scenarios import SCENARIOS


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_with_one_fault_at_a_write_breaks_no_promise(name: str) -> None:
    assert broken(name, AT_WRITES) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["retry", "suspend", "delete", "component deleted"])
def test_a_scenario_with_one_late_event_breaks_no_promise(name: str) -> None:
    assert broken(name, LATE_EVENTS) == []


def broken(name: str, space: Space) -> list[str]:
    """Return each broken promise with the fault that led to it."""
    known: set[str] = set()
    base = run(Trial(SCENARIOS[name]), known)
    found = []
    for trial in next_trials(base, space):
        report = run(trial, known)
        found += [f"{trial}: {each}" for each in report.violations[:1]]
        gc.collect(0)
    return found
