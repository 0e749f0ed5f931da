"""Deviations are found at the right picks, and a state after a crash is recognised."""

from dataclasses import replace

from tests.simulation.choices import Pick
from tests.simulation.explore import CRASHES, Report, Trial, name_of, next_trials, run, tried
from tests.simulation.faults import WRITE_FAULTS
from tests.simulation.scenarios import SCENARIOS

SUCCESS = Trial(SCENARIOS["success"])
WRITES = (Pick("write PUT a/status", 1, 14, 0), Pick("latency", 7, 4, 0), Pick("job", 2, 4, 0))


def test_a_pick_has_the_deviations_of_its_family_that_are_in_the_space() -> None:
    found = list(tried(WRITES[0], {"write": CRASHES}))
    assert found == [(("write PUT a/status", 1), 1), (("write PUT a/status", 1), 2)]
    assert list(tried(WRITES[1], {"write": CRASHES})) == []
    assert list(tried(WRITES[2], {"job": frozenset({3})})) == [(("job", 2), 3)]


def test_a_deviation_is_named_by_its_fault() -> None:
    lost = WRITE_FAULTS.index("lost answer")
    assert name_of((("write PUT a/status", 2), lost)) == "write PUT a/status, time 2: lost answer"
    assert name_of((("job", 2), 3)) == "job, time 2: option 3"


def test_the_next_trials_have_one_deviation_more_within_the_delay_bound() -> None:
    report = Report(SUCCESS, (), WRITES)
    space = {"write": frozenset({"409"}), "job": frozenset({3})}
    assert len(list(next_trials(report, space))) == 2
    nearest = next(iter(next_trials(report, space, within=1)))
    assert nearest.deviations == ((("write PUT a/status", 1), WRITE_FAULTS.index("409")),)


def test_only_the_picks_behind_the_last_deviation_are_reported() -> None:
    base = run(SUCCESS, set())
    crash = next(next_trials(base, {"write": CRASHES}))
    report = run(crash, set())
    assert crash.deviations[-1][0] not in {(each.place, each.number) for each in report.behind}
    assert report.behind
    assert report.state


def test_a_state_after_a_crash_that_is_known_ends_the_run() -> None:
    known: set[str] = set()
    base = run(SUCCESS, known)
    crash = list(next_trials(base, {"write": CRASHES}))[-1]
    first = run(crash, known)
    again = run(replace(crash), known)
    assert (first.is_known, again.is_known) == (False, True)
    assert first.state == again.state
    assert len(again.behind) < len(first.behind)
