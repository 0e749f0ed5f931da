"""What is unhealthy, with real operators: its grace, a retry, and the conditions at every step.

Each grace period and limit: tests/simulation/lives/test_retries.py.
"""

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job, pytorch_job, scaled
from tests.support.builders.pods import pod_template
from tests.support.cluster.failing_lives import ended, failing
from tests.support.cluster.lives import Lives
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
ONCE = [("",), ("Suspended",), ("Resuming",), ("Running",)]


async def test_a_retry_keeps_the_quota_and_begins_healthy(lives: Lives) -> None:
    """Its first attempt fails, the second one comes through."""
    body = appwrapper("second", failing("second", fail_attempts="1"), annotations=AT_ONCE)
    life = await lives.begin(body)
    done = await life.until_phase("Succeeded")
    assert (retries(done), done["status"]["attempt"]) == (1, 2)
    whole = [QUOTA, DEPLOYED, UNHEALTHY, READY]
    healthy = {("Running", QUOTA, DEPLOYED), ("Running", QUOTA, DEPLOYED, READY)}
    assert [step for step in steps(life, *whole) if step not in healthy] == [
        ("",),
        ("Suspended",),
        ("Resuming", QUOTA, DEPLOYED),
        ("Resetting", QUOTA, DEPLOYED, UNHEALTHY),
        # Everything is gone, and the quota is kept. The next attempt is healthy until it is not.
        ("Resetting", QUOTA, UNHEALTHY),
        ("Resuming", QUOTA, DEPLOYED),
        ("Succeeded", DEPLOYED, READY),
    ]
    assert unhealthy_reasons(life) == ["FoundFailedPods"]
    resetting = await life.until_phase("Resetting")
    assert DELETING in true_conditions(resetting)
    assert retries(resetting) == 1


def failing_training(name: str) -> JsonObject:
    """A master that fails, and a worker that would run on."""
    return pytorch_job(
        name,
        "Never",
        Master=pod_template(container="pytorch", run_for="300ms", exit_code="3"),
        Worker=pod_template(container="pytorch", hang="running"),
    )


@pytest.mark.parametrize(
    ("name", "component", "message"),
    [
        ("gone-job", job("gone-job", 1, run_for="300ms", exit_code="3"), "Job gone-job: "),
        ("gone-torch", failing_training("gone-torch"), "PyTorchJob gone-torch: "),
    ],
    ids=["Job", "PyTorchJob"],
)
async def test_a_component_that_reports_its_failure_gets_no_grace_period(
    cluster: RunningCluster, lives: Lives, name: str, component: JsonObject, message: str
) -> None:
    if component["kind"] == "PyTorchJob" and "training-operator" not in cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    patient = {"failureGracePeriodDuration": LONG, "retryLimit": "0"}
    life = await lives.begin(appwrapper(name, component, annotations=patient))
    failed = await life.until_phase("Failed")
    unhealthy = condition(failed, UNHEALTHY)
    assert (unhealthy.status, unhealthy.reason) == ("True", "FailedComponent")
    assert unhealthy.message.startswith(f"retryLimit is 0: {message}")
    await ended(life, after=failed)


async def test_a_failed_pod_that_is_replaced_within_its_grace_heals(lives: Lives) -> None:
    """Its ReplicaSet is slow to replace it: the namespace takes no more pods meanwhile."""
    patient = {"failureGracePeriodDuration": LONG}
    life = await lives.begin(
        appwrapper("healing", scaled("Deployment", "healing", 1), annotations=patient)
    )
    await life.until(lambda item: READY in true_conditions(item), "ready")
    [name] = await lives.names(PODS, life)
    async with lives.forbidden("pods"):
        await lives.patch_pod(name, {"phase": "Failed", "reason": "Evicted"})
        sick = await life.until(lambda item: UNHEALTHY in true_conditions(item), "unhealthy")
    assert condition(sick, UNHEALTHY)[:2] == ("True", "FoundFailedPods")
    assert (phase(sick), true_conditions(sick) & {QUOTA, DEPLOYED}) == (
        "Running",
        {QUOTA, DEPLOYED},
    )
    healed = await life.until(
        lambda item: (
            version_of(item) > version_of(sick)
            and READY in true_conditions(item)
            and UNHEALTHY not in true_conditions(item)
        ),
        "healed",
    )
    assert condition(healed, UNHEALTHY)[:2] == ("False", "FoundNoFailedPods")
    assert steps(life) == ONCE
    assert (retries(healed), healed["status"]["attempt"]) == (0, 1)


async def test_pods_that_are_not_even_made_are_reset_after_the_admission_grace(
    lives: Lives,
) -> None:
    """The namespace takes no more pods, so the Job makes none. The warm-up is long."""
    graces = {"admissionGracePeriodDuration": "1s", "warmupGracePeriodDuration": LONG}
    body = appwrapper(
        "unmade", job("unmade", run_for="1s"), annotations={**AT_ONCE, "retryLimit": "1", **graces}
    )
    async with lives.forbidden("pods"):
        life = await lives.begin(body)
        failed = await life.until_phase("Failed")
        await life.check_the_promise_to_kueue()  # it has seen all pods by then
        assert life.pod_events == []
    assert retries(failed) == 1
    assert condition(failed, UNHEALTHY) == (
        "True",
        "InsufficientPodsReady",
        "retries exhausted (1 of 1): 0 of 2 pods exist",
    )


async def test_a_long_admission_grace_waits_for_pods_that_are_made_late(lives: Lives) -> None:
    """The other side: the same namespace takes them before the period is over."""
    graces = {"admissionGracePeriodDuration": LONG, "warmupGracePeriodDuration": LONG}
    body = appwrapper("made-late", job("made-late", run_for="300ms"), annotations=AT_ONCE | graces)
    async with lives.forbidden("pods"):
        life = await lives.begin(body)
        await life.until_phase("Running")
        await lives.event_messages("made-late", "FailedCreate")  # of the Job
    done = await life.until_phase("Succeeded")
    assert (retries(done), unhealthy_reasons(life)) == (0, [])
