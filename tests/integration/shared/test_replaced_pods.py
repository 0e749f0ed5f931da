"""Pods that go while it runs, and those that come in their place."""

import asyncio

from localcluster.machine.slowness import stretched
from shared.api.objects import PODS, JsonObject
from shared.kube.client import Propagation, WatchEventType
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.builders.jobs import job, scaled
from tests.support.builders.pods import pod, pod_template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, slow_to_go
from tests.support.cluster.resources import JOBS
from tests.support.life_record import (
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    condition,
    steps,
    unhealthy_reasons,
)
from tests.support.patience import comes_to

RUNS = {QUOTA, DEPLOYED, READY}
LONG = "1h"
PATIENT = dict.fromkeys(
    ("admissionGracePeriodDuration", "warmupGracePeriodDuration", "failureGracePeriodDuration"),
    LONG,
)
# A busy machine replaces a pod in this time, and starts it six seconds later.
WARMUP_SECONDS = round(stretched(32))


async def runs(life: Life, *, after: int = 0) -> JsonObject:
    return await life.until(
        lambda item: version_of(item) > after and true_conditions(item) == RUNS, "all pods ready"
    )


async def falls(life: Life, *, after: int) -> JsonObject:
    return await life.until(
        lambda item: version_of(item) > after and READY not in true_conditions(item),
        "fewer pods than expected",
    )


async def delete_pod(lives: Lives, name: str) -> None:
    await lives.client.delete(PODS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND)


async def test_a_pod_that_comes_in_the_place_of_another_gets_a_whole_warm_up(lives: Lives) -> None:
    """That of the first one is over by then, and there is neither grace nor a retry."""
    body = scaled("Deployment", "warms-up", 1)
    slow_start = pod_template(start_after="6s")["metadata"]["annotations"]
    body["spec"]["template"]["metadata"]["annotations"] = slow_start
    graces = {
        "admissionGracePeriodDuration": LONG,
        "warmupGracePeriodDuration": f"{WARMUP_SECONDS}s",
        "failureGracePeriodDuration": "0s",
        "retryLimit": "0",
    }
    life = await lives.begin(appwrapper("warms-up", body, annotations=graces))
    first = await runs(life)
    await asyncio.sleep(WARMUP_SECONDS)
    [before] = await lives.names(PODS, life)
    await delete_pod(lives, before)
    fallen = await falls(life, after=version_of(first))
    assert condition(fallen, READY)[:2] == ("False", "InsufficientPodsReady")
    await runs(life, after=version_of(fallen))
    assert before not in await lives.names(PODS, life)
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]
    assert unhealthy_reasons(life) == []


async def test_a_pod_that_is_being_deleted_does_not_count_as_running(lives: Lives) -> None:
    """Its containers still run; that somebody deletes a component is no news before it is gone."""
    # Pods get no more time to end than this. One that has a second does not ignore its deletion.
    graces = {"warmupGracePeriodDuration": LONG, "forcefulDeletionGracePeriodDuration": "3s"}
    template = slow_to_go(pod("leaving", hang="running", ignore_deletion_for="1h"))
    life = await lives.begin(appwrapper("leaving", template, annotations=graces))
    ready = await runs(life)
    await delete_pod(lives, "leaving")
    fallen = await falls(life, after=version_of(ready))
    assert (phase(fallen), true_conditions(fallen)) == ("Running", {QUOTA, DEPLOYED})
    left = await lives.client.get(PODS, NAMESPACE, "leaving")
    assert left["status"]["phase"] == "Running"
    assert "deletionTimestamp" in left["metadata"]


async def test_a_failed_pod_that_its_job_replaced_is_no_trouble_any_more(lives: Lives) -> None:
    """The Job keeps the failed pod, and takes its time before it makes another."""
    component = job("tries-again", 1, hang="running")
    component["spec"]["backoffLimit"] = 3
    body = appwrapper("tries-again", component, annotations={"failureGracePeriodDuration": LONG})
    life = await lives.begin(body)
    ready = await runs(life)
    [failed] = await lives.names(PODS, life)
    await lives.patch_pod(failed, {"phase": "Failed"})
    fallen = await falls(life, after=version_of(ready))
    healed = await runs(life, after=version_of(fallen))
    assert condition(healed, UNHEALTHY)[:2] == ("False", "FoundNoFailedPods")
    uid = healed["metadata"]["uid"]
    pods = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
    assert sorted(each["status"]["phase"] for each in pods) == ["Failed", "Running"]
    assert steps(life) == [("",), ("Suspended",), ("Resuming",), ("Running",)]
    assert healed["status"]["attempt"] == 1


async def test_a_job_whose_pods_are_deleted_again_and_again_never_has_more(lives: Lives) -> None:
    """Each of them goes on for two seconds, and only then another takes its place."""
    researcher = member_of(lives.cluster, NAMESPACE)
    body = slow_to_go(job("haunted", 1, hang="running", ignore_deletion_for="2s"))
    body["spec"]["backoffLimit"] = 1000
    life = await lives.begin(appwrapper("haunted", body, annotations=PATIENT))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    [made] = await listed(
        lives.client, JOBS, NAMESPACE, "workload.codeflare.dev/appwrapper=haunted"
    )
    assert made["spec"]["podReplacementPolicy"] == "Failed"
    for _ in range(2):
        [before] = await running(lives, life)
        await researcher("delete", "pod", before, "-n", NAMESPACE, "--wait=false")

        async def replaced(before: str = before) -> bool:
            return await running(lives, life) not in ([], [before])

        await comes_to(replaced, True)
    await life.check_the_promise_to_kueue()  # it has seen all pods by then
    assert most_at_once(life) == 1
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]


async def running(lives: Lives, life: Life) -> list[str]:
    uid = life.events[0].object["metadata"]["uid"]
    pods = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
    return [each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Running"]


def most_at_once(life: Life) -> int:
    """The largest number of its pods that had not ended, at any moment."""
    under_way: set[str] = set()
    most = 0
    for event in life.pod_events:
        pod = event.object
        gone = event.type is WatchEventType.DELETED or pod["status"].get("phase") in (
            "Succeeded",
            "Failed",
        )
        (under_way.discard if gone else under_way.add)(pod["metadata"]["uid"])
        most = max(most, len(under_way))
    return most
