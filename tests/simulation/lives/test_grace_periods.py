"""Health that comes late, and deletions that do not end: each grace period from both its sides.

The other resets and failures are in test_retries.py.
"""

import pytest

from shared.api.objects import JsonObject
from tests.simulation.lives.lived import NAME, Once, live
from tests.simulation.workloads import pod
from tests.support.builders.appwrappers import AT_ONCE, phase, true_conditions, version_of
from tests.support.life_record import (
    DELETING,
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    condition,
    retries,
    steps,
)

LONG = "1h"
HELD = (QUOTA, DEPLOYED)


def is_ready(item: JsonObject) -> bool:
    return READY in true_conditions(item)


def is_unhealthy(item: JsonObject) -> bool:
    return UNHEALTHY in true_conditions(item)


def test_pods_that_run_after_their_warm_up_heal_it_within_the_failure_grace() -> None:
    graces = {"warmupGracePeriodDuration": "1s", "failureGracePeriodDuration": LONG}
    life = live(pod("late", start_after="10s"), periods=graces)
    sick = life.first(is_unhealthy)
    message = "0 of 1 pods run or succeeded; not running: late on n0"
    assert condition(sick, UNHEALTHY) == ("True", "InsufficientPodsReady", message)
    assert (phase(sick), true_conditions(sick)) == ("Running", {*HELD, UNHEALTHY})
    healed = life.first(lambda item: not is_unhealthy(item), after=version_of(sick))
    assert (phase(healed), is_ready(healed)) == ("Running", True)
    assert (retries(healed), healed["status"]["attempt"]) == (0, 1)
    assert "Resetting" not in life.phases()


@pytest.mark.parametrize(("starts_after", "sick"), [("4s", False), ("6s", True)])
def test_the_warm_up_grace_ends_when_it_ends(starts_after: str, sick: bool) -> None:
    graces = {"warmupGracePeriodDuration": "5s", "failureGracePeriodDuration": LONG}
    life = live(pod("late", start_after=starts_after), periods=graces)
    assert any(is_unhealthy(event.object) for event in life.events) is sick
    assert life.phases()[-1] == "Succeeded"


def test_too_few_pods_are_waited_for_through_the_failure_grace_as_well() -> None:
    """It reports that it is unhealthy, in Running, before it fails."""
    graces = {
        "admissionGracePeriodDuration": LONG,
        "warmupGracePeriodDuration": "500ms",
        "failureGracePeriodDuration": "1s",
        "retryLimit": "0",
    }
    life = live(pod("stuck", hang="pending"), periods=graces)
    assert steps(life, *HELD, UNHEALTHY)[3:6] == [
        ("Running", *HELD),
        ("Running", *HELD, UNHEALTHY),
        ("Failed", *HELD, UNHEALTHY),
    ]
    waited = life.at(life.in_phase("Failed")) - life.at(life.first(is_unhealthy))
    assert 1.0 <= waited < 1.1


def test_pods_that_ignore_their_deletion_are_forced_off_after_its_grace() -> None:
    """First with no more time than a deletion may take, then with hardly any."""
    graces = {**AT_ONCE, "forcefulDeletionGracePeriodDuration": "2s"}
    stubborn = pod("stubborn", run_for="30s", ignore_deletion_for="1h", grace="30")
    evicted = Once(is_ready, lambda world: world.acts.do("deactivate", NAME))
    life = live(stubborn, acts=(evicted,), periods=graces)
    going = life.in_phase("Suspending")
    assert true_conditions(going) >= {*HELD, DELETING}
    away = life.in_phase("Suspended", after=version_of(going))
    assert true_conditions(away) == set()
    assert steps(life, *HELD)[4:6] == [("Suspending", *HELD), ("Suspended",)]
    pods = [each.object["metadata"] for each in life.pod_events]
    given = [each.get("deletionGracePeriodSeconds") for each in pods]
    forced = [each for each in given if each is not None]
    assert (forced[0], forced[-1]) == (2, 0)
