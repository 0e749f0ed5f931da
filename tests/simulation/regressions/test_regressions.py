"""Runs that broke a promise once, each shrunk to the deviations that it needed.

`python -m tests.simulation.shrink SEED` and `make certify` print a test in this form.
"""

from dataclasses import replace

import pytest

from tests.simulation.choices import Recorded
from tests.simulation.faults import WRITE_FAULTS
from tests.simulation.scenarios import SCENARIOS, Act
from tests.simulation.workloads import job, wrapped
from tests.simulation.world import World


def test_a_job_that_a_dead_controller_created_late_is_gone_30_s_later() -> None:
    choices = Recorded({("write POST jobs/j-#####", 1): WRITE_FAULTS.index("late 6")})
    outcome = World(choices, SCENARIOS["retry"]).run()
    assert outcome.violations == ()  # was: 37.026 stray: pods/j-kq7qt-00003 of attempt 1


def test_pods_get_their_warm_up_if_the_controller_slept_before_it_created_them() -> None:
    choices = Recorded({("write PATCH appwrappers/a", 1): WRITE_FAULTS.index("freeze 20")})
    periods = {"warmupGracePeriodDuration": "5s", "retryLimit": "1"}
    body = wrapped("a", job(start_after="20s"), periods=periods, finalizer=False)
    outcome = World(choices, replace(SCENARIOS["warm-up"], appwrappers=((1.0, body),))).run()
    assert outcome.violations == ()  # was: 21.025 cause: a: 1 retries, causes []


@pytest.mark.parametrize("component", ["configmaps/c", "jobs/j-#####"])
def test_a_component_that_a_user_deletes_while_its_maker_restarts_is_made_again(
    component: str,
) -> None:
    choices = Recorded({(f"write POST {component}", 1): WRITE_FAULTS.index("crash after")})
    scenario = SCENARIOS["success"]
    outcome = World(choices, replace(scenario, acts=(Act(1.5, "delete component", "a"),))).run()
    assert (outcome.violations, outcome.ends) == ((), {"a": "Succeeded"})
    # was: `judge: a: attempt 1 made component 0 2 times: ['configmaps/c', 'configmaps/c']`


@pytest.mark.parametrize("component", ["configmaps/c", "jobs/x"])
def test_a_component_of_an_earlier_attempt_that_is_made_late_is_not_adopted(component: str) -> None:
    choices = Recorded({(f"write POST {component}", 1): WRITE_FAULTS.index("late next")})
    outcome = World(choices, SCENARIOS["suspend before the creates"]).run()
    assert (outcome.violations, outcome.ends) == ((), {"a": "Succeeded"})
    # was, without the check of the label: a: Failed, deleted by another client: Job x


def test_a_create_that_is_due_comes_before_the_end_of_the_admission_period() -> None:
    choices = Recorded({("write POST jobs/j-#####", 1): WRITE_FAULTS.index("ghost 40")})
    sleeps = (Act(1.5, "freeze", options={"seconds": 90.0}),)  # before the second try
    outcome = World(choices, replace(SCENARIOS["success"], acts=sleeps)).run()
    assert (outcome.violations, outcome.ends) == ((), {"a": "Succeeded"})
    # was: cause: a: Resetting after attempt 1, causes []


def test_a_create_without_an_answer_after_the_admission_period_spends_no_retry() -> None:
    faults = (("crash before", 1), ("ghost 6", 2))
    choices = Recorded(
        {("write POST jobs/j-#####", time): WRITE_FAULTS.index(each) for each, time in faults}
    )
    body = wrapped("a", job(), periods={"admissionGracePeriodDuration": "5s"})
    two = replace(SCENARIOS["success"], appwrappers=((1.0, body),), leased=True, skews=(0.0, 0.0))
    outcome = World(choices, two).run()  # the next leader comes after that period
    assert (outcome.violations, outcome.ends) == ((), {"a": "Succeeded"})
    # was: cause: a: Resetting after attempt 1, causes []
