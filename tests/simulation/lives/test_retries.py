"""Unhealthy AppWrappers: their grace, their retries, and the conditions at every step."""

import pytest

from shared.api.objects import PODS, JsonObject
from tests.simulation.lives.lived import NAME, Once, live
from tests.simulation.workloads import job, pod, pytorch
from tests.support.builders.appwrappers import AT_ONCE, phase, true_conditions
from tests.support.cluster.resources import JOBS
from tests.support.life_record import (
    DELETING,
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    condition,
    retries,
    steps,
    unhealthy_reasons,
)

LONG = "1h"
FAILS = {"run_for": "300ms", "exit_code": "1"}
HELD = (QUOTA, DEPLOYED)
ONCE = ["", "Suspended", "Resuming", "Running"]


def test_a_failed_pod_without_grace_and_retries_fails_step_by_step() -> None:
    life = live(pod("p", **FAILS), periods={**AT_ONCE, "retryLimit": "0"})
    failed = life.in_phase("Failed")
    assert condition(failed, UNHEALTHY)[:2] == ("True", "FoundFailedPods")
    assert "resettingCount" not in failed["status"]
    assert condition(life.events[-1].object, UNHEALTHY).status == "True"
    assert steps(life, *HELD) == [
        ("",),
        ("Suspended",),
        ("Resuming", *HELD),
        ("Running", *HELD),
        ("Failed", *HELD),
        ("Failed",),
    ]
    assert life.left(PODS) == []


def test_a_retry_keeps_the_quota_and_begins_healthy() -> None:
    life = live(pod("p", fail_attempts="1", **FAILS), periods=AT_ONCE)
    done = life.in_phase("Succeeded")
    assert (retries(done), done["status"]["attempt"]) == (1, 2)
    healthy = {("Running", *HELD), ("Running", *HELD, READY)}
    seen = steps(life, *HELD, UNHEALTHY, READY)
    assert [step for step in seen if step not in healthy] == [
        ("",),
        ("Suspended",),
        ("Resuming", *HELD),
        ("Resetting", *HELD, UNHEALTHY),
        # Everything is gone, and the quota is kept. The next attempt is healthy until it is not.
        ("Resetting", QUOTA, UNHEALTHY),
        ("Resuming", *HELD),
        ("Succeeded", DEPLOYED, READY),
    ]
    assert unhealthy_reasons(life) == ["FoundFailedPods"]
    resetting = life.in_phase("Resetting")
    assert DELETING in true_conditions(resetting)
    assert retries(resetting) == 1


@pytest.mark.parametrize("limit", [0, 2])
def test_a_failing_job_has_as_many_retries_as_its_limit(limit: int) -> None:
    life = live(job("j", 1, **FAILS), periods={**AT_ONCE, "retryLimit": str(limit)})
    failed = life.in_phase("Failed")
    assert (retries(failed), failed["status"]["attempt"]) == (limit, limit + 1)
    again = ["Resetting", "Resuming", "Running"]
    assert life.phases() == [*ONCE, *(again * limit), "Failed"]
    assert (life.left(JOBS), life.left(PODS)) == ([], [])


COMPONENTS = [
    pytest.param(job("j", 1, **FAILS), "Job j: ", id="Job"),
    pytest.param(pytorch("t", worker=FAILS), "PyTorchJob t: ", id="PyTorchJob"),
]


@pytest.mark.parametrize(("component", "text"), COMPONENTS)
def test_a_component_that_reports_its_failure_gets_no_grace(
    component: JsonObject, text: str
) -> None:
    life = live(component, periods={"failureGracePeriodDuration": LONG, "retryLimit": "0"})
    unhealthy = condition(life.in_phase("Failed"), UNHEALTHY)
    assert (unhealthy.status, unhealthy.reason) == ("True", "FailedComponent")
    assert unhealthy.message.startswith(f"retryLimit is 0: {text}")


EXIT_CODES = [
    pytest.param({"terminalExitCodes": "3,7"}, "is in terminalExitCodes", id="a terminal code"),
    pytest.param({"terminalExitCodes": "4"}, "", id="not among the terminal ones"),
    pytest.param(
        {"retryableExitCodes": "4,5"},
        "is not in retryableExitCodes",
        id="not among the retryable ones",
    ),
    pytest.param({"retryableExitCodes": "3"}, "", id="a retryable code"),
]


@pytest.mark.parametrize(("codes", "forbids"), EXIT_CODES)
def test_exit_codes_decide_about_the_retry(codes: dict[str, str], forbids: str) -> None:
    spent = 0 if forbids else 1
    failing = pod("p", run_for="300ms", exit_code="3")
    life = live(failing, periods={**AT_ONCE, "retryLimit": "1", **codes})
    failed = life.in_phase("Failed")
    assert retries(failed) == spent
    assert life.phases().count("Resetting") == spent
    assert unhealthy_reasons(life) == ["FoundFailedPods"]
    why = f"no retry: exit code 3 of p {forbids}; " if forbids else "retries exhausted (1 of 1)"
    assert condition(failed, UNHEALTHY).message.startswith(why)


def test_a_failed_pod_without_replacement_fails_its_appwrapper_when_the_grace_ends() -> None:
    life = live(
        pod("p", **FAILS), periods={"failureGracePeriodDuration": "1500ms", "retryLimit": "0"}
    )
    failed = life.in_phase("Failed")
    waiting = life.first(lambda item: UNHEALTHY in true_conditions(item))
    assert (phase(waiting), condition(waiting, UNHEALTHY).reason) == ("Running", "FoundFailedPods")
    assert true_conditions(waiting) >= {*HELD}
    assert 1.5 <= life.at(failed) - life.at(waiting) < 1.6


STUCK = [
    pytest.param("init", id="init containers that never end"),
    pytest.param("pending", id="containers that never start"),
]


@pytest.mark.parametrize("hang", STUCK)
def test_pods_that_never_run_are_reset_after_the_warm_up_until_no_retry_is_left(hang: str) -> None:
    graces = {"admissionGracePeriodDuration": LONG, "warmupGracePeriodDuration": "1s"}
    life = live(pod("p", hang=hang), periods={**AT_ONCE, "retryLimit": "1", **graces})
    failed = life.in_phase("Failed")
    assert retries(failed) == 1
    text = condition(failed, UNHEALTHY)
    assert (text.status, text.reason) == ("True", "InsufficientPodsReady")
    expected = "retries exhausted (1 of 1): 0 of 1 pods run or succeeded; not running: p on n0"
    assert text.message == expected
    assert not any(READY in true_conditions(event.object) for event in life.events)
    assert life.phases() == [*ONCE, "Resetting", "Resuming", "Running", "Failed"]


def test_a_failed_appwrapper_keeps_components_and_quota_for_its_grace_period() -> None:
    kept = {**AT_ONCE, "retryLimit": "0", "deletionOnFailureGracePeriodDuration": "2s"}
    life = live(pod("p", **FAILS), periods=kept)
    failed = life.in_phase("Failed")
    assert true_conditions(failed) >= {*HELD, UNHEALTHY}
    assert DELETING not in true_conditions(failed)
    deleting = life.first(lambda item: DELETING in true_conditions(item))
    assert 2.0 <= life.at(deleting) - life.at(failed) < 2.1
    assert steps(life, *HELD, DELETING)[-3:] == [
        ("Failed", *HELD),
        ("Failed", *HELD, DELETING),
        ("Failed",),
    ]
    assert life.left(PODS) == []


def test_an_admin_or_user_may_change_the_grace_while_it_runs() -> None:
    """A longer grace is waited for; the shorter one ends at once."""
    key = "workload.codeflare.dev.appwrapper/failureGracePeriodDuration"

    def sick(item: JsonObject) -> bool:
        return UNHEALTHY in true_conditions(item)

    shorter = Once(sick, lambda world: world.acts.user.annotate(NAME, key, "1s"), after=3.0)
    periods = {"failureGracePeriodDuration": LONG, "retryLimit": "0"}
    life = live(pod("p", **FAILS), acts=(shorter,), periods=periods)
    assert 3.0 <= life.at(life.in_phase("Failed")) - life.at(life.first(sick)) < 3.1
