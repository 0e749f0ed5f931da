"""Which mutants make `make mutants` fail, and how the others are counted."""

import pytest

from scripts.mutants.plan import Edit, Mutant
from scripts.mutants.report import Outcome, Verdict, offences, outcome_of

BY_UNIT, BY_SIMULATION = "tests/unit/test_a.py::test_b", "tests/simulation/test_c.py::test_d"


def mutant(name: str = "late", *, equivalent: str = "") -> Mutant:
    edit = Edit("controller/phases/timers.py", "a < b", "a <= b")
    return Mutant(name, "a fault", (edit,), equivalent=equivalent)


@pytest.mark.parametrize(
    ("equivalent", "killer", "outcome"),
    [
        ("", BY_UNIT, Outcome.UNIT),
        ("", BY_SIMULATION, Outcome.SIMULATION),
        ("", None, Outcome.SURVIVED),
        ("no caller can notice it", None, Outcome.EQUIVALENT),
        ("no caller can notice it", BY_UNIT, Outcome.NOTICED),
    ],
)
def test_a_verdict_and_the_list_give_an_outcome(
    equivalent: str, killer: str | None, outcome: Outcome
) -> None:
    assert outcome_of(mutant(equivalent=equivalent), Verdict(killer, 1.0, "")) is outcome


def test_survivors_and_wrong_equivalents_are_offences_and_nothing_else_is() -> None:
    mutants = [mutant(each.name) for each in Outcome]
    outcomes = {each.name: each for each in Outcome}
    verdicts = {each.name: Verdict(BY_UNIT, 1.0, "") for each in Outcome}
    assert list(offences(mutants, outcomes, verdicts)) == [
        "SURVIVED survives (controller/phases/timers.py): a fault. "
        "Add the missing test, or list the mutant as equivalent with the reason",
        f"NOTICED is listed as equivalent, but {BY_UNIT} fails: remove `equivalent`",
    ]
