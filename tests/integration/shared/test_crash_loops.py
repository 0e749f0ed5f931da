"""Pods whose containers crash in place: in phase Running all the time, and yet not running."""

import re
from typing import Any

import pytest

from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions
from tests.support.builders.jobs import pytorch_job, restarted_job, scaled
from tests.support.builders.pods import pod_template
from tests.support.cluster.life import Life
from tests.support.cluster.lives import Lives
from tests.support.cluster.stages import LONG
from tests.support.life_record import DEPLOYED, QUOTA, READY, UNHEALTHY, condition
from tests.support.patience import comes_to

RUNS = {QUOTA, DEPLOYED, READY}
TO_SUCCESS = ["", "Suspended", "Resuming", "Running", "Succeeded"]
NO_GRACE = {
    "admissionGracePeriodDuration": "0s",
    "warmupGracePeriodDuration": "0s",
    "failureGracePeriodDuration": "0s",
}


def restarts(life: Life, attempt: int = 1) -> list[int]:
    """How often each container of an attempt was restarted at the last look, in no order."""
    last = {event.object["metadata"]["name"]: event.object for event in life.pod_events}
    return [
        status["restartCount"]
        for pod in last.values()
        if pod["metadata"]["labels"][LABEL_ATTEMPT] == str(attempt)
        for status in pod["status"].get("containerStatuses") or ()
    ]


async def until_both_crash(life: Life, attempt: int) -> None:
    """From the second restart on each counts as not running, whatever its container does."""

    async def seen() -> list[bool]:
        return [each >= 2 for each in restarts(life, attempt)]

    await comes_to(seen, [True, True])


def ready_changes(life: Life) -> list[bool]:
    """Whether PodsReady was True while the AppWrapper ran; each change of it once."""
    seen: list[bool] = []
    for event in life.events:
        ready = READY in true_conditions(event.object)
        if phase(event.object) == "Running" and seen[-1:] != [ready]:
            seen.append(ready)
    return seen


async def test_one_restart_in_place_is_no_trouble_whatever_the_periods(lives: Lives) -> None:
    body = appwrapper("once", restarted_job("once", run_for="5s", fail_restarts="1"))
    life = await lives.begin(body)
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    await lives.annotate("once", **NO_GRACE)
    await life.until_phase("Succeeded")
    await life.caught_up()
    assert restarts(life) == [1, 1]
    assert life.phases() == TO_SUCCESS
    assert ready_changes(life) in ([True], [False, True])
    assert not any(UNHEALTHY in true_conditions(event.object) for event in life.events)


def a_deployment(**simulation: str) -> JsonObject:
    """Its containers are run again whatever they end with."""
    body = scaled("Deployment", "loops")
    annotations = pod_template(**simulation)["metadata"]["annotations"]
    body["spec"]["template"]["metadata"]["annotations"] = annotations
    return body


def a_pytorch_job(**simulation: str) -> JsonObject:
    """Its operator writes into the pods what each role says of restarts."""
    template = pod_template(container="pytorch", **simulation)
    del template["spec"]["restartPolicy"]
    return pytorch_job("loops", "OnFailure", Master=template, Worker=template)


CRASHES: dict[str, Any] = {"run_for": "300ms", "exit_code": "1", "restart_after": "200ms"}


@pytest.mark.parametrize(
    "component",
    [restarted_job("loops", **CRASHES), a_deployment(**CRASHES), a_pytorch_job(**CRASHES)],
    ids=["Job", "Deployment", "PyTorchJob"],
)
async def test_a_crash_loop_that_goes_on_is_reset_and_failed_in_the_end(
    lives: Lives, component: JsonObject
) -> None:
    limits = LONG | {
        "failureGracePeriodDuration": "1s",
        "retryPausePeriodDuration": "1h",
        "retryLimit": "1",
    }
    life = await lives.begin(appwrapper("loops", component, annotations=limits))
    await until_both_crash(life, attempt=1)
    await lives.annotate("loops", warmupGracePeriodDuration="0s")
    await life.until_phase("Resetting")
    await lives.annotate("loops", warmupGracePeriodDuration="1h", retryPausePeriodDuration="0s")
    await until_both_crash(life, attempt=2)
    await lives.annotate("loops", warmupGracePeriodDuration="0s")
    failed = await life.until_phase("Failed")
    assert life.phases() == [*TO_SUCCESS[:-1], "Resetting", "Resuming", "Running", "Failed"]
    reported = condition(failed, UNHEALTHY)
    assert (reported.status, reported.reason) == ("True", "InsufficientPodsReady")
    each = r"loops\S* on gpu-node-\d+"
    why = (
        rf"retries exhausted \(1 of 1\): {each} failed first \(exit code \d+\); "
        f"0 of 2 pods run or succeeded; not running: {each}, {each}; 2 pods crash again and again"
    )
    assert re.fullmatch(why, reported.message), reported.message
    assert not any(
        event.object["status"].get("phase") == "Failed"
        and "deletionTimestamp" not in event.object["metadata"]
        for event in life.pod_events
    )
    await life.check_the_promise_to_kueue()
