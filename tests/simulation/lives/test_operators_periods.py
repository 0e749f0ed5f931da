"""Periods and retries of the operator's configuration, with and without annotations."""

import pytest

from tests.simulation.lives.lived import live
from tests.simulation.workloads import pod
from tests.support.builders.appwrappers import AT_ONCE, true_conditions
from tests.support.life_record import DELETING, retries

LONG = "1h"
FAILS = pod("p", run_for="300ms", exit_code="1")
SHORTER = (
    "admissionGracePeriod",
    "warmupGracePeriod",
    "failureGracePeriod",
    "retryPausePeriod",
    "forcefulDeletionGracePeriod",
)


def test_no_stored_annotation_exceeds_the_maximum() -> None:
    """As after a change of the configuration: the webhook's limit was another one."""
    maximum = dict.fromkeys(SHORTER, "1s") | {"gracePeriodMaximum": "1s"}
    kept = {**AT_ONCE, "retryLimit": "0", "deletionOnFailureGracePeriodDuration": LONG}
    life = live(FAILS, periods=kept, settings={"faultTolerance": maximum})
    failed = life.in_phase("Failed")
    assert DELETING not in true_conditions(failed)
    deleting = life.first(lambda item: DELETING in true_conditions(item))
    assert 1.0 <= life.at(deleting) - life.at(failed) < 1.1


@pytest.mark.parametrize(("asked", "spent"), [({}, 0), ({"retryLimit": "1"}, 1)])
def test_the_operators_configuration_counts_unless_an_annotation_differs(
    asked: dict[str, str], spent: int
) -> None:
    impatient = {"failureGracePeriod": "0s", "resetPause": "0s", "retryLimit": 0}

    life = live(FAILS, periods=asked, settings={"faultTolerance": impatient})
    failed = life.in_phase("Failed")
    assert retries(failed) == spent
