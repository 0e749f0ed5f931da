"""Pods that ended well and are gone, and components that want fewer of their pods for a while."""

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from shared.kube.client import PatchType
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions
from tests.support.builders.jobs import job, restarted_job, scaled
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.life import Life, exists
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.resources import JOBS
from tests.support.cluster.stages import (
    CRASH_LOOP,
    IMPATIENT,
    LONG,
    NOW,
    STAYS_PENDING,
    falls,
    running,
    until_pending,
    waits_for_no_pod,
)
from tests.support.life_record import DEPLOYED, QUOTA, READY, unhealthy_reasons
from tests.support.patience import comes_to

RUNS = {QUOTA, DEPLOYED, READY}
TO_SUCCESS = ["", "Suspended", "Resuming", "Running", "Succeeded"]


async def until_ready(life: Life) -> JsonObject:
    return await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")


async def test_an_index_that_succeeded_counts_when_its_pod_is_gone(
    cluster: RunningCluster, lives: Lives
) -> None:
    """A researcher cleans up, as PodGC, a drain and the removal of a node do."""
    body = restarted_job("indexed", 2, hang="running")
    body["spec"]["completionMode"] = "Indexed"
    life = await lives.begin(appwrapper("indexed", body, annotations=LONG | IMPATIENT))
    await until_ready(life)
    first, second = await lives.names(PODS, life)
    await lives.patch_pod(first, {"phase": "Succeeded"})

    async def completed() -> object:
        return (await lives.client.get(JOBS, NAMESPACE, "indexed"))["status"].get("succeeded")

    await comes_to(completed, 1)
    await lives.annotate("indexed", admissionGracePeriodDuration="0s")
    alice = member_of(cluster, NAMESPACE)
    await alice("delete", "pod", first, "--namespace", NAMESPACE)
    assert not await exists(lives.client, PODS, NAMESPACE, first)
    await lives.patch_pod(second, CRASH_LOOP)
    await falls(life, "1 of 2 pods run or succeeded; 1 pod crashes again and again")
    await lives.patch_pod(second, {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS
    assert unhealthy_reasons(life) == []
    await life.check_the_promise_to_kueue()


async def test_a_stateful_set_waits_for_its_first_pod_as_long_as_that_takes_to_be_ready(
    lives: Lives,
) -> None:
    """It makes one pod after the other, and its model may take an hour to load."""
    body = scaled("StatefulSet", "ordered", 2)
    del body["spec"]["podManagementPolicy"]
    body["spec"]["template"]["metadata"]["annotations"] = pod_template(**STAYS_PENDING)["metadata"][
        "annotations"
    ]
    life = await lives.begin(appwrapper("ordered", body, annotations=LONG | IMPATIENT))
    await comes_to(lambda: lives.names(PODS, life), ["ordered-0"])
    await until_pending(lives, "ordered-0")
    await lives.annotate("ordered", admissionGracePeriodDuration="0s")
    await lives.patch_pod("ordered-0", running(ready=False))
    await waits_for_no_pod(life)
    await lives.annotate("ordered", **LONG)
    await lives.patch_pod("ordered-0", running(ready=True))
    await comes_to(lambda: lives.names(PODS, life), ["ordered-0", "ordered-1"])
    await until_pending(lives, "ordered-1")
    await lives.patch_pod("ordered-1", running(ready=True))
    await until_ready(life)
    assert life.phases() == TO_SUCCESS[:-1]
    assert unhealthy_reasons(life) == []


async def test_a_suspended_job_wants_no_pod_until_it_is_resumed(lives: Lives) -> None:
    body = job("on-hold", run_for="500ms")
    body["spec"]["suspend"] = True
    life = await lives.begin(appwrapper("on-hold", body, annotations=NOW | IMPATIENT))
    waiting = await waits_for_no_pod(life)
    assert true_conditions(waiting) == {QUOTA, DEPLOYED}
    await lives.annotate("on-hold", **LONG)
    resume = {"spec": {"suspend": False}}
    await lives.client.patch(JOBS, NAMESPACE, "on-hold", resume, PatchType.MERGE)
    await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS
    assert unhealthy_reasons(life) == []
    statuses = [each.object["status"] for each in life.events if phase(each.object) == "Running"]
    timers = [each.get("timers") or {} for each in statuses]
    # That no period runs was written once: no pass takes one to have begun with the conditions.
    assert len({each["unready"]["began"] for each in timers if "unready" in each}) == 1
    await life.check_the_promise_to_kueue()
