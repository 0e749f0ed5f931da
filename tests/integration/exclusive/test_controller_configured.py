"""Rules of the controller under other configurations than the default one."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import PODS, JsonObject
from shared.api.times import parse_time
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions, version_of
from tests.support.builders.jobs import restarted_job, scaled
from tests.support.builders.pods import pod_of, pod_template
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.reconfigured import reconfigured
from tests.support.life_record import DEPLOYED, QUOTA, READY, Condition, condition
from tests.support.patience import until_found

RUNS = {QUOTA, DEPLOYED, READY}
TO_SUCCESS = ["", "Suspended", "Resuming", "Running", "Succeeded"]
PERIOD = timedelta(seconds=2)
# A state lasts so long that a slow controller sees it: each run of the pod, each time that it is
# down, and each start.
RUN, DOWN = f"{stretched(12.0):.0f}s", f"{stretched(8.0):.0f}s"
START = f"{stretched(15.0):.0f}s"  # below the default of the period of reports


@pytest.mark.long
async def test_a_pod_that_crashed_twice_counts_again_once_it_is_stable(
    lives: Lives, cluster: LocalCluster
) -> None:
    async with reconfigured(cluster, "controller", stabilityPeriod="2s"):
        simulation = {"run_for": RUN, "fail_restarts": "2", "restart_after": DOWN}
        component = restarted_job("stable", 1, **simulation)
        life = await lives.begin(appwrapper("stable", component))
        first = await life.until(lambda item: true_conditions(item) == RUNS, "that it runs")
        crashed = await life.until(
            lambda item: (
                version_of(item) > version_of(first) and true_conditions(item) == RUNS - {READY}
            ),
            "that it does not run",
        )
        assert condition(crashed, READY) == Condition(
            "False", "InsufficientPodsReady", "0 of 1 pods run; 1 pod crashes again and again"
        )
        again = await life.until(
            lambda item: version_of(item) > version_of(crashed) and true_conditions(item) == RUNS,
            "that it runs again",
        )
        await life.until_phase("Succeeded")
    await life.caught_up()  # its pod comes by another watch
    assert since_ready(again) >= last_start(life) + PERIOD
    assert life.phases() == TO_SUCCESS


@pytest.mark.long
async def test_problems_are_reported_again_after_the_configured_period(
    lives: Lives, cluster: LocalCluster
) -> None:
    """After 75 seconds by default; then the second pod would be back, and never missed."""
    body = scaled("Deployment", "flaps", 1)
    slow_start = pod_template(start_after=START)["metadata"]["annotations"]
    body["spec"]["template"]["metadata"]["annotations"] = slow_start
    async with reconfigured(cluster, "controller", flapPeriod="2s"):
        life = await lives.begin(appwrapper("flaps", body))
        seen = 0
        for _ in range(2):
            ran = await life.until(_has(RUNS, after=seen), "that it runs")
            [pod] = await until_found(partial(the_only_pod, lives, life))
            await lives.client.delete(
                PODS, NAMESPACE, pod, uid=None, propagation=Propagation.BACKGROUND
            )
            fell = await life.until(_has(RUNS - {READY}, after=version_of(ran)), "that it is told")
            seen = version_of(fell)
        await life.until(_has(RUNS, after=seen), "that it runs again")
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]


async def the_only_pod(lives: Lives, life: Life) -> list[str] | None:
    """Once the one before it has gone."""
    found = await lives.names(PODS, life)
    return found if len(found) == 1 else None


def _has(conditions: set[str], *, after: int) -> Callable[[JsonObject], bool]:
    return lambda item: version_of(item) > after and true_conditions(item) == conditions


def since_ready(item: JsonObject) -> datetime:
    [found] = [each for each in item["status"]["conditions"] if each["type"] == READY]
    return parse_time(found["lastTransitionTime"])


def last_start(life: Life) -> datetime:
    """Of the pod's only container, after its second restart."""
    [status] = [
        event.object["status"]["containerStatuses"][0]
        for event in life.pod_events
        if event.object["status"].get("phase") == "Succeeded"
    ][:1]
    assert status["restartCount"] == 2
    return parse_time(status["state"]["terminated"]["startedAt"])


@pytest.mark.long
async def test_an_annotation_starts_the_recorder_from_the_configured_image(
    lives: Lives, cluster: LocalCluster
) -> None:
    """The API server and the team's Pod Security accept what the controller adds."""
    image = "registry.example.com/team/appwrapper-controller:0.1.0"
    errors: JsonObject = {"errorAggregation": {"recorderImage": image}}
    template = pod_template(run_for="1s")
    template["spec"]["containers"][0]["command"] = ["torchrun", "train.py"]
    body = appwrapper(
        "recorded", pod_of(template, name="recorded"), annotations={"recorder": "true"}
    )
    async with (
        reconfigured(cluster, faultTolerance=errors),
        reconfigured(cluster, "controller", faultTolerance=errors),
    ):
        life = await lives.begin(body)
        await life.until_phase("Succeeded")
    await life.caught_up()
    spec = life.pod_events[0].object["spec"]
    [copying], [main] = spec["initContainers"], spec["containers"]
    assert (copying["name"], copying["image"]) == ("appwrapper-recorder", image)
    assert main["command"] == ["python3", "/opt/appwrapper/worker", "--", "torchrun", "train.py"]
    assert {each["mountPath"] for each in main["volumeMounts"]} >= {"/opt/appwrapper"}
