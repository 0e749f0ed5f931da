"""Another client deletes a component, or the AppWrapper itself, in each phase."""

from collections.abc import Callable

import pytest

from shared.api.objects import PODS, JsonObject
from tests.simulation.lives.lived import NAME, Once, live
from tests.simulation.workloads import config_map, job, pod
from tests.simulation.world import World
from tests.support.builders.appwrappers import AT_ONCE, phase, true_conditions
from tests.support.cluster.resources import JOBS
from tests.support.life_record import (
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
FAILS = {"run_for": "200ms", "exit_code": "1"}


def is_ready(item: JsonObject) -> bool:
    return READY in true_conditions(item)


def in_phase(wanted: str) -> Callable[[JsonObject], bool]:
    return lambda item: phase(item) == wanted


def is_resuming(item: JsonObject) -> bool:
    return phase(item) == "Resuming"


def pauses(item: JsonObject) -> bool:
    """All is gone, and the next attempt has time."""
    return phase(item) == "Resetting" and DEPLOYED not in true_conditions(item)


LOST = [
    pytest.param(job("lost", 1, hang="running"), "Job lost", id="Job"),
    pytest.param(pod("lost", hang="running"), "Pod lost", id="Pod"),
    pytest.param(config_map("lost"), "ConfigMap lost", id="ConfigMap"),
]


def deletes_component(index: int, **options: str) -> Callable[[World], object]:
    return lambda world: world.acts.user.delete_component(NAME, index, **options)


@pytest.mark.parametrize(("component", "text"), LOST)
def test_a_running_one_whose_component_is_deleted_fails_at_once(
    component: JsonObject, text: str
) -> None:
    patient = {"failureGracePeriodDuration": LONG, "retryLimit": "9"}
    company = job("company", 1, hang="running")
    deleted = Once(is_ready, deletes_component(1), after=5.0)
    life = live(company, component, acts=(deleted,), periods=patient)
    failed = life.in_phase("Failed")
    message = f"deleted by another client: {text}"
    assert condition(failed, UNHEALTHY) == ("True", "MissingComponent", message)
    assert life.at(failed) - life.at(life.first(is_ready)) < 5.1
    assert "resettingCount" not in failed["status"]
    assert steps(life, *HELD) == [
        ("",),
        ("Suspended",),
        ("Resuming", *HELD),
        ("Running", *HELD),
        ("Failed", *HELD),
        ("Failed",),
    ]
    assert (life.left(JOBS), life.left(PODS)) == ([], [])


def test_one_whose_pods_leave_slowly_after_the_deletion_is_not_begun_again() -> None:
    """Foreground deletion ends the pods first; then they fail, and there is no grace."""
    slow = job("slow", 1, hang="running", ignore_deletion_for="1h", grace="30")
    deleted = Once(is_ready, deletes_component(0, propagation="Foreground"))
    graces = AT_ONCE | {"forcefulDeletionGracePeriodDuration": "1s"}
    life = live(slow, acts=(deleted,), periods=graces)
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Failed"]
    message = "deleted by another client: Job slow"
    assert condition(life.in_phase("Failed"), UNHEALTHY)[1:] == ("MissingComponent", message)


def test_one_that_is_being_reset_goes_on() -> None:
    """The reset deletes everything anyway."""
    sick = pod("sick", fail_attempts="1", **FAILS)
    slow = pod("slow", run_for="9s", ignore_deletion_for="1h", grace="30")
    deleted = Once(in_phase("Resetting"), deletes_component(1), after=1.0)
    life = live(sick, slow, acts=(deleted,), periods=AT_ONCE)
    done = life.in_phase("Succeeded")
    assert (retries(done), done["status"]["attempt"]) == (1, 2)
    assert "Failed" not in life.phases()


PAUSE = AT_ONCE | {"retryPausePeriodDuration": LONG}
KEPT = AT_ONCE | {"retryLimit": "0", "deletionOnFailureGracePeriodDuration": LONG}
TOO_MANY = 7  # pods for the quota of these lives
GOING = [
    pytest.param(in_phase(""), job("d", 1), {}, id="no phase"),
    pytest.param(in_phase("Suspended"), job("d", TOO_MANY), {}, id="Suspended"),
    pytest.param(is_resuming, job("d", 1), {}, id="Resuming"),
    pytest.param(is_ready, job("d", hang="running"), {}, id="Running"),
    pytest.param(in_phase("Resetting"), pod("d", **FAILS), PAUSE, id="Resetting"),
    pytest.param(pauses, pod("d", **FAILS), PAUSE, id="the retry pause"),
    pytest.param(in_phase("Failed"), pod("d", **FAILS), KEPT, id="Failed, kept for debugging"),
    pytest.param(in_phase("Succeeded"), job("d", 1), {}, id="Succeeded"),
    pytest.param(
        lambda item: phase(item) == "Succeeded" and DEPLOYED not in true_conditions(item),
        job("d", 1),
        {"successTTLDuration": "1ms"},
        id="Succeeded, its TTL over",
    ),
]


@pytest.mark.parametrize(("seen", "component", "periods"), GOING)
def test_an_appwrapper_that_is_deleted_leaves_nothing_in_any_phase(
    seen: Callable[[JsonObject], bool], component: JsonObject, periods: dict[str, str]
) -> None:
    deleted = Once(seen, lambda world: world.acts.user.delete(NAME))
    life = live(component, acts=(deleted,), periods=periods)
    assert life.events[-1].type.value == "DELETED"
    assert (life.left(JOBS), life.left(PODS)) == ([], [])
