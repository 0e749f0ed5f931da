"""What is unhealthy: its grace, its retries, their end, and the conditions at every step."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from shared.kube.client import WatchEventType
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job, pytorch_job, scaled
from tests.support.builders.pods import pod, pod_template
from tests.support.cluster.failing_lives import ended, failing
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE, Lives
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
ONCE = [("",), ("Suspended",), ("Resuming",), ("Running",)]


async def test_a_failed_pod_without_grace_and_retries_fails_it_step_by_step(lives: Lives) -> None:
    body = appwrapper("hopeless", failing("hopeless"), annotations={**AT_ONCE, "retryLimit": "0"})
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY)[:2] == ("True", "FoundFailedPods")
    assert "resettingCount" not in failed["status"]
    last = await ended(life, after=failed)
    assert condition(last, UNHEALTHY).status == "True"
    assert steps(life, QUOTA, DEPLOYED) == [
        ("",),
        ("Suspended",),
        ("Resuming", QUOTA, DEPLOYED),
        ("Running", QUOTA, DEPLOYED),
        ("Failed", QUOTA, DEPLOYED),
        ("Failed",),
    ]
    started = version_of(await life.until_phase("Resuming"))
    states = [event.object for event in life.events if version_of(event.object) >= started]
    assert not any(item["spec"].get("suspend") for item in states)
    assert await lives.names(PODS, life) == []


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


@pytest.mark.parametrize("limit", [0, 2])
async def test_a_failing_job_has_as_many_retries_as_its_limit_says(
    lives: Lives, limit: int
) -> None:
    name = f"limit-{limit}"
    body = appwrapper(
        name,
        job(name, 1, run_for="100ms", exit_code="3"),
        annotations={**AT_ONCE, "retryLimit": str(limit)},
    )
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert (retries(failed), failed["status"]["attempt"]) == (limit, limit + 1)
    again = ["Resetting", "Resuming", "Running"]
    assert life.phases() == ["", "Suspended", "Resuming", "Running", *(again * limit), "Failed"]
    await ended(life, after=failed)
    assert await lives.names(JOBS, life) == []


def failing_training(name: str) -> JsonObject:
    """A master that fails, and a worker that would run on."""
    return pytorch_job(
        name,
        "Never",
        Master=pod_template(container="pytorch", run_for="300ms", exit_code="3"),
        Worker=pod_template(container="pytorch", hang="running"),
    )


@pytest.mark.parametrize(
    ("name", "component", "said"),
    [
        ("gone-job", job("gone-job", 1, run_for="300ms", exit_code="3"), "Job gone-job: "),
        ("gone-torch", failing_training("gone-torch"), "PyTorchJob gone-torch: "),
    ],
    ids=["Job", "PyTorchJob"],
)
async def test_a_component_that_says_it_failed_gets_no_grace(
    cluster: RunningCluster, lives: Lives, name: str, component: JsonObject, said: str
) -> None:
    if component["kind"] == "PyTorchJob" and "training-operator" not in cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    patient = {"failureGracePeriodDuration": LONG, "retryLimit": "0"}
    life = await lives.begin(appwrapper(name, component, annotations=patient))
    failed = await life.until_phase("Failed")
    unhealthy = condition(failed, UNHEALTHY)
    assert (unhealthy.status, unhealthy.reason) == ("True", "FailedComponent")
    assert unhealthy.message.startswith(f"retryLimit is 0: {said}")
    await ended(life, after=failed)


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
async def test_exit_codes_decide_about_the_retry(
    lives: Lives, codes: dict[str, str], forbids: str
) -> None:
    spent = 0 if forbids else 1
    name = f"codes-{'-'.join(codes).lower()}-{spent}"
    component = failing(name, exit_code="3")
    body = appwrapper(name, component, annotations={**AT_ONCE, "retryLimit": "1", **codes})
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert retries(failed) == spent
    assert life.phases().count("Resetting") == spent
    assert unhealthy_reasons(life) == ["FoundFailedPods"]
    why = (
        f"no retry: exit code 3 of {name} {forbids}; " if forbids else "retries exhausted (1 of 1)"
    )
    assert condition(failed, UNHEALTHY).message.startswith(why)


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


async def test_a_failed_pod_that_nobody_replaces_is_reset_when_its_grace_is_over(
    lives: Lives,
) -> None:
    """It says that it is unhealthy first, while it waits in Running."""
    grace = {"failureGracePeriodDuration": "1500ms", "retryLimit": "0"}
    life = await lives.begin(appwrapper("left-alone", failing("left-alone"), annotations=grace))
    await life.until_phase("Failed")
    waited = [
        event.object
        for event in life.events
        if phase(event.object) == "Running" and UNHEALTHY in true_conditions(event.object)
    ]
    assert [condition(each, UNHEALTHY).reason for each in waited] == ["FoundFailedPods"]
    assert true_conditions(waited[0]) >= {QUOTA, DEPLOYED}


STUCK: list[Any] = [
    pytest.param(
        lambda: with_init(pod("stuck-init", hang="init")),
        {"admissionGracePeriodDuration": LONG, "warmupGracePeriodDuration": "1s"},
        r"0 of 1 pods run or succeeded; not running: stuck-init (on gpu-node-\d+|without a node)",
        id="init containers that never end: warm-up",
    ),
    pytest.param(
        lambda: pod("stuck-image", hang="pending"),
        {"admissionGracePeriodDuration": LONG, "warmupGracePeriodDuration": "1s"},
        r"0 of 1 pods run or succeeded; not running: stuck-image (on gpu-node-\d+|without a node)",
        id="containers that never start: warm-up",
    ),
]


def with_init(body: JsonObject) -> JsonObject:
    body["spec"]["initContainers"] = [{"name": "prepare", "image": "none"}]
    return body


@pytest.mark.parametrize(("component", "graces", "message"), STUCK)
async def test_pods_that_never_run_are_reset_after_the_warm_up_until_no_retry_is_left(
    lives: Lives, component: Callable[[], JsonObject], graces: dict[str, str], message: str
) -> None:
    template = component()
    name = template["metadata"]["name"]
    body = appwrapper(name, template, annotations={**AT_ONCE, "retryLimit": "1", **graces})
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert retries(failed) == 1
    said = condition(failed, UNHEALTHY)
    assert (said.status, said.reason) == ("True", "InsufficientPodsReady")
    assert re.fullmatch(rf"retries exhausted \(1 of 1\): {message}", said.message), said.message
    assert not any(READY in true_conditions(event.object) for event in life.events)
    again = ["Resetting", "Resuming", "Running", "Failed"]
    assert life.phases() == ["", "Suspended", "Resuming", "Running", *again]
    await ended(life, after=failed)


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
        await lives.told("made-late", "FailedCreate")  # of the Job
    done = await life.until_phase("Succeeded")
    assert (retries(done), unhealthy_reasons(life)) == (0, [])


async def test_what_failed_is_kept_for_its_grace_with_its_quota(lives: Lives) -> None:
    """For whoever looks into it; a suspension ends it early (test_suspension.py)."""
    kept = {**AT_ONCE, "retryLimit": "0", "deletionOnFailureGracePeriodDuration": "2s"}
    body = appwrapper("autopsy", failing("autopsy"), annotations=kept)
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert true_conditions(failed) >= {QUOTA, DEPLOYED, UNHEALTHY}
    assert DELETING not in true_conditions(failed)
    await ended(life, after=failed)
    await life.check_the_promise_to_kueue()  # and the pods' events are here
    deleting = min(
        version_of(each.object) for each in life.events if DELETING in true_conditions(each.object)
    )
    going = [
        version_of(each.object)
        for each in life.pod_events
        if "deletionTimestamp" in each.object["metadata"] or each.type is WatchEventType.DELETED
    ]
    assert min(going) > deleting > version_of(failed)
    assert not await exists(lives.client, PODS, NAMESPACE, "autopsy")
    assert steps(life, QUOTA, DEPLOYED, DELETING)[-3:] == [
        ("Failed", QUOTA, DEPLOYED),
        ("Failed", QUOTA, DEPLOYED, DELETING),
        ("Failed",),
    ]
