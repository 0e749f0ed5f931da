"""A failing run is shrunk to the deviations that it needs, and shown as a script and a test."""

import sys
from collections import Counter

import pytest

from tests.simulation.choices import Choices, Recorded
from tests.simulation.outcome import Outcome, Violation
from tests.simulation.script import regression, script
from tests.simulation.shrink import breaks, main, shrunk

BROKEN = Violation("quota", 3.0, "released over live pods")


def toy(choices: Choices) -> Outcome:
    """Break a promise if the 3rd write fails at all and the 5th fails by option 2 or above."""
    picked = [choices.pick("write", (0, 1, 2, 3)) for _ in range(8)]
    broken = (BROKEN,) if picked[2] and picked[4] >= 2 else ()
    return Outcome(broken, "", choices.deviations, choices.picks, {}, faults=Counter())


def test_only_the_deviations_that_a_failure_needs_are_left() -> None:
    found = toy(Recorded({("write", number): 3 for number in range(1, 9)}))
    few = shrunk(found.deviations, breaks(toy, "quota"))
    assert few == {("write", 3): 1, ("write", 5): 2}


def test_a_failure_that_needs_no_deviation_has_none() -> None:
    def always(choices: Choices) -> Outcome:
        return Outcome((BROKEN,), "", choices.deviations, choices.picks, {})

    assert shrunk({("write", 1): 1, ("read", 2): 1}, breaks(always, "quota")) == {}


def test_a_script_shows_events_until_the_first_broken_promise() -> None:
    trace = (
        "     1.000 ADDED appwrappers/a ",
        "     1.100 ADDED events/a.1 ",
        "     2.000 fault crash after: c0 PUT appwrappers/a/status",
        "     2.000 c0 logs INFO from Suspended to Resuming",
        "     3.000 VIOLATION 3.000 quota: released over live pods",
        "     4.000 DELETED jobs/j ",
    )
    outcome = Outcome((BROKEN,), "", {}, [], {}, trace=trace)
    assert script(outcome).splitlines() == [trace[0], trace[2], trace[4]]


def test_a_regression_test_has_the_deviations_and_what_broke() -> None:
    text = regression('SCENARIOS["retry"]', {("write POST jobs/*", 1): 8}, BROKEN)
    assert text == (
        "def test_quota_of_NAME() -> None:\n"
        "    choices = Recorded({('write POST jobs/*', 1): 8})\n"
        '    outcome = World(choices, SCENARIOS["retry"]).run()\n'
        "    assert outcome.violations == ()  # was: 3.000 quota: released over live pods\n"
    )


def test_the_command_needs_no_more_than_the_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["shrink", "11"])
    assert main() == 0
    assert capsys.readouterr().out == "seed 11 (leases) breaks no promise\n"
