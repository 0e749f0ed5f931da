"""Rules of the controller under other configurations than the default one."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import PODS, JsonObject
from shared.api.times import parse_time
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions, version_of
from tests.support.builders.jobs import restarted_job, scaled
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, slow_to_go
from tests.support.cluster.reconfigured import reconfigured
from tests.support.life_record import DEPLOYED, QUOTA, READY, Condition, condition
from tests.support.patience import comes_to

RUNS = {QUOTA, DEPLOYED, READY}
TO_SUCCESS = ["", "Suspended", "Resuming", "Running", "Succeeded"]
PERIOD = timedelta(seconds=2)
GHOST_PERIOD = timedelta(seconds=8)


@pytest.mark.long
async def test_a_pod_that_crashed_twice_counts_again_once_it_is_stable(
    lives: Lives, cluster: LocalCluster
) -> None:
    async with reconfigured(cluster, "controller", stabilityPeriod="2s"):
        component = restarted_job("stable", 1, run_for="6s", fail_restarts="2")
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
    assert since_ready(again) >= last_start(life) + PERIOD
    assert life.phases() == TO_SUCCESS


@pytest.mark.long
async def test_problems_are_reported_again_after_the_configured_period(
    lives: Lives, cluster: LocalCluster
) -> None:
    """After 75 seconds by default; then the second pod would be back, and never missed."""
    body = scaled("Deployment", "flaps", 1)
    slow_start = pod_template(start_after="4s")["metadata"]["annotations"]
    body["spec"]["template"]["metadata"]["annotations"] = slow_start
    async with reconfigured(cluster, "controller", flapPeriod="2s"):
        life = await lives.begin(appwrapper("flaps", body))
        seen = 0
        for _ in range(2):
            ran = await life.until(_has(RUNS, after=seen), "that it runs")
            [pod] = await lives.names(PODS, life)
            await lives.client.delete(
                PODS, NAMESPACE, pod, uid=None, propagation=Propagation.BACKGROUND
            )
            fell = await life.until(_has(RUNS - {READY}, after=version_of(ran)), "that it is told")
            seen = version_of(fell)
        await life.until(_has(RUNS, after=seen), "that it runs again")
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]


@pytest.mark.long
async def test_a_deleted_and_replaced_pod_is_forced_after_the_configured_period(
    lives: Lives, cluster: LocalCluster
) -> None:
    """A researcher deletes pods that ignore it, of what asked for a day's patience with them."""
    researcher = member_of(cluster, NAMESPACE)
    body = slow_to_go(scaled("Deployment", "haunted", 1))
    ignores = pod_template(hang="running", ignore_deletion_for="1h")["metadata"]["annotations"]
    body["spec"]["template"]["metadata"]["annotations"] = ignores
    asked = {"forcefulDeletionGracePeriodDuration": "24h"}
    deleted: list[str] = []
    operators = {"forcefulDeletionGracePeriod": f"{GHOST_PERIOD.seconds}s"}
    # Under the shorter period the pods would get it as their grace period, and end in time.
    life = await lives.begin(appwrapper("haunted", body, annotations=asked))
    await comes_to(lambda: running(lives, life), 1)
    async with reconfigured(cluster, "controller", faultTolerance=operators):
        for number in range(3):
            await comes_to(lambda number=number: running(lives, life), number + 1)  # type: ignore[misc]
            [fresh] = set(await lives.names(PODS, life)) - set(deleted)
            await researcher("delete", "pod", fresh, "-n", NAMESPACE, "--wait=false")
            deleted.append(fresh)
        await comes_to(lambda: still_there(lives, life, deleted), False)
        said = "; ".join(await lives.told("haunted", "ReplacedPodsForced"))
        await life.until(lambda item: true_conditions(item) == RUNS, "that it runs")
        await lives.annotate("haunted", forcefulDeletionGracePeriodDuration="0s")
    assert all(name in said for name in deleted)
    assert all(lasted(life, name) >= GHOST_PERIOD for name in deleted)
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]


async def running(lives: Lives, life: Life) -> int:
    uid = life.events[0].object["metadata"]["uid"]
    pods = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
    return sum(each["status"]["phase"] == "Running" for each in pods)


async def still_there(lives: Lives, life: Life, names: list[str]) -> bool:
    return not set(names).isdisjoint(await lives.names(PODS, life))


def lasted(life: Life, name: str) -> timedelta:
    """From the moment in which its deletion was asked for until its container ended."""
    states = [each.object for each in life.pod_events if each.object["metadata"]["name"] == name]
    metadata = next(each["metadata"] for each in states if "deletionTimestamp" in each["metadata"])
    grace = timedelta(seconds=metadata["deletionGracePeriodSeconds"])
    [status] = states[-1]["status"]["containerStatuses"]
    ended = parse_time(status["state"]["terminated"]["finishedAt"])
    return ended - (parse_time(metadata["deletionTimestamp"]) - grace)


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
