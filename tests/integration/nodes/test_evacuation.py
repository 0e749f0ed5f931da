"""What Autopilot's labels on nodes do to running workloads (cases 65 and 72).

A node that Autopilot tags NoExecute is left at once by whoever uses its GPUs, which needs
a retry but spends none; the rerun stays away from it; other tags do nothing to pods that run.
"""

from collections.abc import AsyncIterator

import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.builders.autopilot import GPU
from tests.support.builders.pods import pod
from tests.support.cluster.gpu_nodes import (
    PAGE,
    RUNS,
    GpuNodes,
    gpu_appwrapper,
    gpu_job,
    gpu_nodes,
    since,
    typed,
    unhealthy,
)
from tests.support.cluster.life import Life
from tests.support.cluster.reconfigured import reconfigured
from tests.support.walkthrough import commands_below

EVACUATIONS = "appwrapper_evacuations_total"
RUN_AGAIN = "appwrapper_evacuation_seconds_count"
LOST = "appwrapper_unschedulable_capacity"


@pytest_asyncio.fixture
async def nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    async with gpu_nodes(cluster) as nodes:
        yield nodes


async def runs_again(life: Life, before: JsonObject, attempt: int = 2) -> JsonObject:
    """All of its pods run, in that attempt."""
    return await life.until(
        lambda item: (
            version_of(item) > version_of(before)
            and true_conditions(item) == RUNS
            and item["status"]["attempt"] == attempt
        ),
        f"all of its pods running in attempt {attempt}",
    )


async def test_an_evicted_node_is_left_at_once_and_no_retry_is_spent(nodes: GpuNodes) -> None:
    life = await nodes.runs(gpu_appwrapper("evict", pods=2, retryLimit="1"))
    bad, good = sorted((await nodes.pods(life)).values())
    assert bad != good
    beside = await nodes.runs(gpu_appwrapper("evict-beside", gpus=0, node=bad))
    elsewhere = await nodes.runs(gpu_appwrapper("evict-elsewhere"))
    bystanders = {**await nodes.pods(beside), **await nodes.pods(elsewhere)}
    before = await nodes.pods(life)
    (driven,) = (uid for uid, node in before.items() if node == bad)
    counts = [nodes.value(EVACUATIONS, resource=GPU), nodes.value(RUN_AGAIN)]

    await nodes.label(bad, "EVICT")
    await nodes.shows(LOST, 8, resource=GPU, reason="label")
    resetting = await life.until_phase("Resetting")
    await life.caught_up()  # its pods come by another watch
    names = {event.object["metadata"]["uid"]: event.object for event in life.pod_events}
    assert unhealthy(resetting) == (
        "True",
        "AutopilotNoExecute",
        f"node {bad} (autopilot.ibm.com/gpuhealth=EVICT): "
        f"pod {names[driven]['metadata']['name']} uses {GPU}",
    )
    assert {"QuotaReserved", "ResourcesDeployed"} <= true_conditions(resetting)
    again = await runs_again(life, resetting)
    assert again["status"].get("resettingCount", 0) == 0
    assert life.phases() == [
        *("", "Suspended", "Resuming", "Running"),
        *("Resetting", "Resuming", "Running"),
    ]
    after = await nodes.pods(life)
    assert len(after) == 2
    assert bad not in after.values()
    assert not after.keys() & before.keys()
    assert {**await nodes.pods(beside), **await nodes.pods(elsewhere)} == bystanders
    for other in (beside, elsewhere):
        assert other.phases() == ["", "Suspended", "Resuming", "Running"]
    await life.check_the_promise_to_kueue()
    await nodes.shows(EVACUATIONS, counts[0] + 1, resource=GPU)
    await nodes.shows(RUN_AGAIN, counts[1] + 1)
    await nodes.label(bad, "PASS")
    await nodes.shows(LOST, 0, resource=GPU, reason="label")


async def test_the_commands_of_the_page_work(cluster: LocalCluster, nodes: GpuNodes) -> None:
    take_out, give_back = commands_below("## Evacuation", PAGE).splitlines()
    await nodes.label("gpu-node-1", "PASS")  # and no label in the end
    assert await typed(cluster, take_out) == "node/gpu-node-1 labeled\n"
    shown = await typed(cluster, commands_below("## What a label does", PAGE))
    (row,) = (line for line in shown.splitlines() if line.startswith("gpu-node-1 "))
    assert row.split()[-1] == "EVICT"
    assert await typed(cluster, give_back) == "node/gpu-node-1 unlabeled\n"


async def test_other_labels_do_nothing_to_running_pods(nodes: GpuNodes) -> None:
    life = await nodes.runs(gpu_appwrapper("tag"))
    before = life.events[-1].object
    pods = await nodes.pods(life)
    (node,) = pods.values()
    for label in ("PASS", "WARN", "TESTING", "ERR"):  # the last is the gravest: it stays
        await nodes.label(node, label)
    # The watch of nodes keeps their order: once EVICT was acted on, ERR was seen before it.
    witness = await nodes.runs(gpu_appwrapper("tag-witness"))
    await nodes.label(await nodes.node_of(witness), "EVICT")
    await witness.until_phase("Resetting")
    assert since(life, before) == []
    assert await nodes.pods(life) == pods


async def test_without_a_retry_left_it_fails(nodes: GpuNodes) -> None:
    life = await nodes.runs(gpu_appwrapper("evict-no-retry", retryLimit="0"))
    bad = await nodes.node_of(life)
    count = nodes.value(EVACUATIONS, resource=GPU)
    await nodes.label(bad, "EVICT")
    failed = await life.until_phase("Failed")
    status, reason, message = unhealthy(failed)
    assert (status, reason) == ("True", "AutopilotNoExecute")
    assert message.startswith(
        f"retryLimit is 0: node {bad} (autopilot.ibm.com/gpuhealth=EVICT): pod "
    )
    await life.until(
        lambda item: true_conditions(item) == {"Unhealthy"}, "all deleted, the quota given back"
    )
    assert await nodes.pods(life) == {}
    assert nodes.value(EVACUATIONS, resource=GPU) == count


async def test_a_pod_without_gpus_keeps_running_beside_one_that_must_go(nodes: GpuNodes) -> None:
    """Within one AppWrapper the whole of it is reset; alone, a pod without GPUs would stay."""
    driver = pod("evict-driver", hang="running")
    both = appwrapper("evict-both", driver, gpu_job("evict-both"), annotations=AT_ONCE)
    life = await nodes.runs(both)
    alone = await nodes.runs(gpu_appwrapper("evict-alone", gpus=0))
    stays = await nodes.pods(alone)
    for node in {*(await nodes.pods(life)).values(), *stays.values()}:
        await nodes.label(node, "EVICT")
    again = await runs_again(life, await life.until_phase("Resetting"))
    assert again["status"].get("resettingCount", 0) == 0
    assert await nodes.pods(alone) == stays
    assert alone.phases() == ["", "Suspended", "Resuming", "Running"]


BROKEN = {"key": "example.com/broken", "value": "yes", "effect": "NoExecute"}
# Nothing keeps pods off a node that is tagged so: the webhook does not know of the label.
WITHOUT_INJECTION = {"injectAntiAffinities": False, "resourceTaints": {GPU: [BROKEN]}}


async def test_a_pod_that_is_put_on_a_tagged_node_again_and_again_uses_up_its_retries(
    cluster: LocalCluster, nodes: GpuNodes
) -> None:
    async with reconfigured(cluster, "controller", autopilot=WITHOUT_INJECTION):
        life = await nodes.runs(gpu_appwrapper("evict-loop", node="gpu-node-2", retryLimit="2"))
        await nodes.label("gpu-node-2", "yes", key="example.com/broken")
        free = await life.until_phase("Resetting")
        assert free["status"].get("resettingCount", 0) == 0
        failed = await life.until_phase("Failed")
        assert failed["status"]["resettingCount"] == 2
        assert unhealthy(failed)[1] == "AutopilotNoExecute"
        counts = [
            event.object["status"].get("resettingCount", 0)
            for event in life.events
            if event.object.get("status", {}).get("phase") == "Resetting"
        ]
        # Moves right after the label are free too; from some seconds on each is counted.
        assert counts == sorted(counts)
        assert set(counts) == {0, 1, 2}


async def test_a_label_on_an_unwatched_node_counts_from_the_next_watch(
    cluster: LocalCluster, nodes: GpuNodes
) -> None:
    async with reconfigured(cluster, "controller", autopilot={"monitorNodes": False}):
        life = await nodes.runs(gpu_appwrapper("evict-unwatched"))
        bad = await nodes.node_of(life)
        await nodes.label(bad, "EVICT")
        # A life that begins after the label ends: the controller works, and has had its time.
        other = await nodes.begin(
            appwrapper("evict-unwatched-2", gpu_job("evict-unwatched-2", run_for="1s"))
        )
        await other.until_phase("Succeeded")
        assert life.phases() == ["", "Suspended", "Resuming", "Running"]
    again = await runs_again(life, await life.until_phase("Resetting"))
    # The process began after the label. Whether the pod was there before is unknown: a free move.
    assert again["status"].get("resettingCount", 0) == 0
    assert await nodes.node_of(life) != bad
