"""Every scenario keeps all promises under each of the gravest single faults at each write.

`make certify` runs all other single faults, and pairs.
"""

import gc
from collections.abc import Iterator

import pytest

from tests.simulation.explore import (
    AT_WRITES,
    LATE_EVENTS,
    LATE_EVENTS_OF,
    OTHERS,
    Space,
    Trial,
    next_trials,
    run,
)
from tests.simulation.scenarios import SCENARIOS


@pytest.fixture(scope="module", autouse=True)
def garbage_is_collected_between_runs() -> Iterator[None]:
    """The collector else visits, again and again, all that is imported: a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_with_one_fault_at_a_write_breaks_no_promise(name: str) -> None:
    assert broken(name, AT_WRITES) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(LATE_EVENTS_OF))
def test_a_scenario_with_one_late_event_breaks_no_promise(name: str) -> None:
    assert broken(name, LATE_EVENTS) == []


@pytest.mark.timeout(300)
def test_another_client_that_acts_after_one_write_breaks_no_promise() -> None:
    assert broken("delete", OTHERS) == []


def broken(name: str, space: Space) -> list[str]:
    """Return each broken promise with the fault that led to it."""
    known: set[str] = set()
    base = run(Trial(SCENARIOS[name]), known)
    found = []
    for trial in next_trials(base, space):
        report = run(trial, known)
        found += [f"{trial}: {each}" for each in report.violations[:1]]
        gc.collect()
    return found
