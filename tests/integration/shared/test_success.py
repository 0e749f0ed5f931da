"""From running to success, and what becomes of the resources afterwards."""

import asyncio

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job, master_and_workers
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.lives import NAMESPACE, Lives, slow_to_go
from tests.support.cluster.resources import JOBS
from tests.support.life_record import (
    DELETING,
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    condition,
    slow_writes,
    steps,
)
from tests.support.observer.observer import Observer
from tests.support.patience import comes_to

RUNS = {QUOTA, DEPLOYED, READY}


def pods_in(life: Life, name: str, phase: str) -> int:
    """The revision at which the pod was first seen in this phase."""
    return next(
        int(event.object["metadata"]["resourceVersion"])
        for event in life.pod_events
        if event.object["metadata"]["name"] == name and event.object["status"]["phase"] == phase
    )


def first(life: Life, *held: str, phase: str = "Running") -> int:
    """The revision at which it was first in this phase with all these conditions."""
    return next(
        int(event.object["metadata"]["resourceVersion"])
        for event in life.events
        if (event.object.get("status") or {}).get("phase") == phase
        and true_conditions(event.object) >= {*held}
    )


async def test_conditions_at_the_start_and_while_running(lives: Lives) -> None:
    life = await lives.begin(appwrapper("starts", job("starts", 1, hang="running")))
    starting = await life.until_phase("Resuming")
    assert starting["metadata"]["finalizers"] == ["workload.codeflare.dev/finalizer"]
    reported = {kind: condition(starting, kind) for kind in (QUOTA, DEPLOYED, READY, UNHEALTHY)}
    assert {kind: (each.status, each.reason) for kind, each in reported.items()} == {
        QUOTA: ("True", "Resuming"),
        DEPLOYED: ("True", "Resuming"),
        READY: ("False", "Resuming"),
        UNHEALTHY: ("False", "Resuming"),
    }
    ready = await life.until(lambda item: READY in true_conditions(item), "all pods ready")
    assert condition(ready, READY)[:2] == ("True", "SufficientPodsReady")
    assert condition(ready, DEPLOYED)[:2] == ("True", "ComponentsCreated")
    [component] = ready["status"]["componentStatus"]
    [made] = component["conditions"]
    assert (made["type"], made["status"], made["reason"]) == (
        "ResourcesDeployed",
        "True",
        "ComponentCreatedSuccessfully",
    )
    assert (component["apiVersion"], component["kind"], component["name"]) == (
        "batch/v1",
        "Job",
        "starts",
    )
    [owner] = (await lives.client.get(JOBS, NAMESPACE, "starts"))["metadata"]["ownerReferences"]
    assert (owner["controller"], owner["blockOwnerDeletion"]) == (True, True)


async def test_pods_ready_is_false_until_the_last_of_them_runs(lives: Lives) -> None:
    soon = pod("partly-soon", run_for="60s")
    late = pod("partly-late", run_for="60s", start_after="5s")
    life = await lives.begin(appwrapper("partly", soon, late))
    ready = await life.until(lambda item: READY in true_conditions(item), "all pods ready")
    assert true_conditions(ready) == RUNS
    await life.check_the_promise_to_kueue()  # it has seen all pods by then
    assert pods_in(life, "partly-soon", "Running") < pods_in(life, "partly-late", "Running")
    assert pods_in(life, "partly-late", "Running") < first(life, READY)
    assert steps(life, READY) == [
        ("",),
        ("Suspended",),
        ("Resuming",),
        ("Running",),
        ("Running", READY),
    ]


async def test_it_keeps_running_until_the_last_pod_has_succeeded(lives: Lives) -> None:
    life = await lives.begin(
        appwrapper("one-by-one", pod("one", run_for="300ms"), pod("two", hang="running"))
    )
    await life.until(lambda item: READY in true_conditions(item), "all pods ready")

    async def first_pod() -> str:
        return str((await lives.client.get(PODS, NAMESPACE, "one"))["status"]["phase"])

    await comes_to(first_pod, "Succeeded")
    await asyncio.sleep(2)  # time enough to end too early
    await lives.patch_pod("two", {"phase": "Succeeded"})
    ended = await life.until_phase("Succeeded")
    await life.check_the_promise_to_kueue()  # it has seen all pods by then
    one, two = (pods_in(life, name, "Succeeded") for name in ("one", "two"))
    assert one < two < first(life, phase="Succeeded")
    assert true_conditions(ended) == {DEPLOYED, READY}
    assert steps(life, QUOTA, DEPLOYED, READY, UNHEALTHY)[-2:] == [
        ("Running", QUOTA, DEPLOYED, READY),
        ("Succeeded", DEPLOYED, READY),
    ]


async def test_a_healthy_life_takes_no_more_than_seven_watch_events(
    lives: Lives, observer: Observer
) -> None:
    """Create, Suspended, Kueue's start, Resuming, Running, PodsReady, Succeeded.

    If Kueue and the pods are quick, neither Suspended nor PodsReady has a write of its own.
    """
    life = await lives.begin(appwrapper("quiet", job("quiet", run_for="500ms")))
    await life.until_phase("Succeeded")
    most = 7 + slow_writes(life)
    story = observer.story_of(NAMESPACE, "quiet")
    assert 4 <= observer.changes_of(NAMESPACE, "quiet") <= most, story


async def test_a_succeeded_appwrapper_keeps_its_resources_for_the_success_ttl(lives: Lives) -> None:
    """Both sides: with a long TTL everything stays, with a short one all but the AppWrapper go."""
    for name, ttl in (("kept", "1h"), ("short", "1s")):
        body = appwrapper(
            name, job(name, 1, run_for="200ms"), annotations={"successTTLDuration": ttl}
        )
        life = await lives.begin(body)
        ended = await life.until_phase("Succeeded")
        assert true_conditions(ended) == {DEPLOYED, READY}
    empty = await life.until(
        lambda item: (
            not true_conditions(item) & {DEPLOYED, DELETING}
            and item.get("status", {}).get("phase") == "Succeeded"
        ),
        "its resources gone",
    )
    assert true_conditions(empty) <= {READY}
    assert condition(empty, DEPLOYED).reason == "DeletionComplete"
    assert await lives.names(PODS, life) == []
    assert await lives.names(JOBS, life) == []
    assert await exists(lives.client, APPWRAPPERS, NAMESPACE, "short")
    assert await exists(lives.client, JOBS, NAMESPACE, "kept")


async def test_stragglers_hold_the_quota_until_they_are_removed_with_a_warning(
    cluster: RunningCluster, lives: Lives
) -> None:
    """The master has succeeded, and the workers would run for ever."""
    if "training-operator" not in cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    training = master_and_workers("left-over", hang="running")
    grace = {"failureGracePeriodDuration": "2s"}
    life = await lives.begin(appwrapper("left-over", training, annotations=grace))
    await life.until_phase("Succeeded")
    await life.check_the_promise_to_kueue()  # it has seen all pods by then
    assert pods_in(life, "left-over-master-0", "Succeeded") < first(life, phase="Succeeded")
    assert steps(life, QUOTA, DEPLOYED)[-2:] == [
        ("Running", QUOTA, DEPLOYED),
        ("Succeeded", DEPLOYED),
    ]
    assert await lives.event_messages("left-over", "StragglersRemoved") == [
        "2 pods outlived their component"
    ]
    pods = await listed(
        lives.client, PODS, NAMESPACE, "workload.codeflare.dev/appwrapper=left-over"
    )
    staying = [each["metadata"]["name"] for each in pods]
    assert staying == ["left-over-master-0"]


async def test_a_helper_that_does_not_go_is_forced_with_a_warning(lives: Lives) -> None:
    """Its pod is on a node that ends nothing, say. The work is done, and holds quota meanwhile."""
    board = slow_to_go(job("stuck-board", 1, hang="running", ignore_deletion_for="1h"))
    board["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 2
    body = appwrapper(
        "stuck",
        job("stuck-work", 1, hang="running"),
        board,
        annotations={"forcefulDeletionGracePeriodDuration": "3s"},
    )
    helper = {"workload.codeflare.dev.appwrapper/helper": "true"}
    body["spec"]["components"][1]["annotations"] = helper
    life = await lives.begin(body)
    uid = life.events[0].object["metadata"]["uid"]

    async def running() -> list[str]:
        pods = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
        return [each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Running"]

    async def number_running() -> int:
        return len(await running())

    # A helper's pod that no node runs yet would go at once.
    await comes_to(number_running, 2)
    [work] = [each for each in await running() if each.startswith("stuck-work-")]
    await lives.patch_pod(work, {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    assert await lives.event_messages("stuck", "StragglersRemoved") == [
        "helpers are not deleted in time: Job stuck-board; their pods are forced"
    ]
    assert not await exists(lives.client, JOBS, NAMESPACE, "stuck-board")
    assert len(await lives.names(PODS, life)) == 1
    await life.check_the_promise_to_kueue()


async def test_an_appwrapper_of_another_controller_is_never_touched(lives: Lives) -> None:
    """Neither while it could start, nor with podSetInfos, nor when it is deleted."""
    body = appwrapper("foreign", job("foreign", run_for="1s"))
    body["spec"]["managedBy"] = "example.com/other"
    foreign = await lives.begin(body)
    await foreign.until(
        lambda item: bool(item["spec"]["components"][0].get("podSetInfos")), "Kueue's start"
    )
    ours = await lives.begin(appwrapper("ours", job("ours", 1, run_for="200ms")))
    await ours.until_phase("Succeeded")
    now = await lives.client.get(APPWRAPPERS, NAMESPACE, "foreign")
    assert not now["spec"].get("suspend")
    assert now["spec"]["components"][0]["podSetInfos"]
    assert "status" not in now
    assert "finalizers" not in now["metadata"]
    assert not await exists(lives.client, JOBS, NAMESPACE, "foreign")
    assert await lives.names(PODS, foreign) == []
