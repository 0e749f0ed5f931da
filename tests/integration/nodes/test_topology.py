"""Under a Topology of Kueue's (topology-aware scheduling) a reset leaves nodes that are bad.

Kueue assigns the nodes and pins pods to them. So where a reset has to leave a node, Kueue must
assign others: its Workload is evicted, and goes on at its place in the queue.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import JsonObject
from shared.kube.client import KubeClient
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.autopilot import GPU
from tests.support.builders.pods import pod
from tests.support.cluster.crashes import Successor, controller_away, dies
from tests.support.cluster.gpu_nodes import RUNS, gpu_job
from tests.support.cluster.life import Life
from tests.support.cluster.racks import (
    PREFERRED,
    RACK,
    REQUIRED,
    Racks,
    rack_of,
    racks,
    racks_team,
)
from tests.support.life_record import QUOTA, UNHEALTHY, condition
from tests.support.patience import PATIENCE_SECONDS, comes_to

# A start on a slow machine needs a part of it; pods that cannot start are waited for.
SOON = AT_ONCE | {"warmupGracePeriodDuration": f"{stretched(30.0):.0f}s"}
HOW: dict[str, dict[str, str]] = {
    "required": {REQUIRED: RACK},
    "preferred": {PREFERRED: RACK},
    "none": {},
}
STARTED = ["", "Suspended", "Resuming", "Running"]
RESET = ["Resetting", "Resuming", "Running"]
MOVED = ["Resetting", "Suspending", "Suspended", "Resuming", "Running"]
LABEL = "autopilot.ibm.com/gpuhealth=EVICT"
GIVEN_BACK = (
    "Kueue was asked to assign other nodes, so the quota is released. Kueue keeps its place in "
    "the queue; another workload can get the quota first"
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: LocalCluster) -> AsyncIterator[None]:
    async with racks_team(cluster):
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def nodes(cluster: LocalCluster, team: None) -> AsyncIterator[Racks]:
    async with racks(cluster) as nodes:
        yield nodes


def placed(name: str, how: str = "required", **annotations: str) -> JsonObject:
    """Two pods of 8 GPUs, for which the topology is asked for in that way, or in none."""
    body = gpu_job(name, 2)
    body["spec"]["template"]["metadata"]["annotations"] |= HOW[how]
    return appwrapper(name, body, annotations=SOON | annotations)


async def runs_again(life: Life, attempt: int = 2) -> JsonObject:
    """All of its pods run, in that attempt or a later one."""
    return await life.until(
        lambda item: true_conditions(item) == RUNS and item["status"]["attempt"] >= attempt,
        f"all of its pods running in attempt {attempt}",
        2 * PATIENCE_SECONDS,  # a node that is silent counts as unreachable after a minute
    )


def retries(item: JsonObject) -> int:
    return int(item["status"].get("resettingCount", 0))


def asked(life: Life) -> set[str]:
    """What it says, in Resetting, of Kueue and other nodes."""
    conditions = [
        condition(each.object, UNHEALTHY)
        for each in life.events
        if phase(each.object) == "Resetting"
    ]
    return {each.message for each in conditions if each.reason == "NodesReassigned"}


@pytest.mark.kueue
@pytest.mark.parametrize("how", HOW)
async def test_an_evicted_node_is_left_though_kueue_assigned_it(nodes: Racks, how: str) -> None:
    name = f"evict-{how}"
    life = await nodes.runs(placed(name, how, retryLimit="1"))
    bad, other = await nodes.nodes_of(life)
    if how != "none":
        assert rack_of(bad) == rack_of(other)
    workload = (await nodes.workload(life))["metadata"]
    await nodes.label(bad, "EVICT")
    again = await runs_again(life)
    after = await nodes.nodes_of(life)
    assert bad not in after
    if how != "none":
        assert rack_of(after[0]) == rack_of(after[1])
    assert (again["status"]["attempt"], retries(again)) == (2, 0)
    assert life.phases() == STARTED + MOVED
    problem = (
        f"its pods are assigned to node {bad} ({LABEL}); Kueue is asked to evict Workload "
        f"{workload['name']} and to assign other nodes: the quota is released for a moment, and "
        "another workload can get it"
    )
    assert asked(life) == {problem}
    messages = [f"waits for other nodes: {problem}"]
    await comes_to(lambda: nodes.event_messages(name, "NodesReassigned"), messages)
    waiting = await life.until(
        lambda item: phase(item) == "Suspended" and item["status"].get("attempt") == 1, "waiting"
    )
    assert condition(waiting, QUOTA) == ("False", "NodesReassigned", GIVEN_BACK)
    assert condition(again, QUOTA) == ("True", "Resuming", "")
    now = await nodes.workload(life)
    assert now["metadata"]["uid"] == workload["uid"]
    assert "Evicted" not in true_conditions(now)
    await life.check_the_promise_to_kueue()


@pytest.mark.kueue
@pytest.mark.long
async def test_both_nodes_of_a_rack_turn_bad_at_once(nodes: Racks) -> None:
    life = await nodes.runs(placed("evict-both", retryLimit="1"))
    bad = await nodes.nodes_of(life)
    await asyncio.gather(nodes.label(bad[0], "EVICT"), nodes.label(bad[1], "EVICT"))
    again = await runs_again(life)
    after = await nodes.nodes_of(life)
    assert rack_of(after[0]) == rack_of(after[1]) != rack_of(bad[0])
    assert retries(again) == 0
    await life.check_the_promise_to_kueue()


@pytest.mark.long
async def test_a_failed_pod_on_a_good_node_gives_no_quota_back(nodes: Racks) -> None:
    life = await nodes.runs(placed("fails"))
    before = await nodes.nodes_of(life)
    await nodes.fail_pod(life, before[0])
    again = await runs_again(life)
    assert await nodes.nodes_of(life) == before
    assert (life.phases(), retries(again)) == (STARTED + RESET, 1)


@pytest.mark.kueue
@pytest.mark.long
@pytest.mark.parametrize("which", [0, 1], ids=["on it", "beside it"])
async def test_a_cordoned_node_is_left_when_a_pod_fails(nodes: Racks, which: int) -> None:
    """Kueue 0.19 replaces the node by itself, or is asked to; 0.16 is asked."""
    life = await nodes.runs(placed(f"cordon-{which}", retryLimit="1"))
    before = await nodes.nodes_of(life)
    await nodes.cordon(before[0])
    await nodes.fail_pod(life, before[which])
    again = await runs_again(life)
    assert before[0] not in await nodes.nodes_of(life)
    assert retries(again) == 1
    await life.check_the_promise_to_kueue()


@pytest.mark.kueue
@pytest.mark.long
async def test_a_pod_that_is_drained_from_a_cordoned_node_runs_elsewhere(nodes: Racks) -> None:
    """Its successor is pinned to the same node by Kueue 0.16, and cannot run there."""
    life = await nodes.runs(placed("drained", "none", retryLimit="1"))
    bad, _ = await nodes.nodes_of(life)
    await nodes.cordon(bad)
    before = {each["metadata"]["uid"] for each in await nodes.pods(life)}
    await nodes.drain(life, bad)

    async def run_elsewhere() -> bool:
        pods = await nodes.pods(life)
        run = [each["status"].get("phase") for each in pods] == ["Running"] * 2
        return run and {each["metadata"]["uid"] for each in pods} != before

    # A quick successor may run before the controller has told that a pod is missing.
    await comes_to(run_elsewhere, True)
    stored = await nodes.stored(life)
    again = await life.until(
        lambda item: version_of(item) >= version_of(stored) and true_conditions(item) == RUNS,
        "all of its pods running again",
    )
    assert bad not in await nodes.nodes_of(life)
    assert retries(again) <= 1
    await life.check_the_promise_to_kueue()


@pytest.mark.kueue
@pytest.mark.long
async def test_a_silent_node_is_left(nodes: Racks) -> None:
    """Kueue replaces it by itself, or is asked to: that depends on how the pod there ended."""
    body = placed("silent", forcefulDeletionGracePeriodDuration="2s")
    spec = body["spec"]["components"][0]["template"]["spec"]["template"]["spec"]
    spec["tolerations"] = [
        {
            "key": f"node.kubernetes.io/{why}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 1,
        }
        for why in ("not-ready", "unreachable")
    ]
    life = await nodes.runs(body)
    bad, _ = await nodes.nodes_of(life)
    await nodes.silence(bad)
    again = await runs_again(life)
    assert bad not in await nodes.nodes_of(life)
    assert retries(again) <= 1
    await life.check_the_promise_to_kueue()


@pytest.mark.kueue
@pytest.mark.long
async def test_without_a_free_rack_it_waits_in_its_queue_and_does_not_fail(nodes: Racks) -> None:
    life = await nodes.runs(placed("full", retryLimit="1"))
    others = [await nodes.runs(placed(f"full-{number}")) for number in range(3)]
    bad, _ = await nodes.nodes_of(life)
    await nodes.label(bad, "EVICT")
    await life.until(
        lambda item: (
            phase(item) == "Suspended" and condition(item, QUOTA).reason == "NodesReassigned"
        ),
        "in its queue again",
    )
    await nodes.label(bad, None)
    again = await runs_again(life)
    assert retries(again) == 0
    # Meanwhile Kueue may have preempted a newer one for it, which then waits for its turn.
    for each in others:
        assert {"Resetting", "Failed"}.isdisjoint(each.phases())


@pytest.mark.long
async def test_kueue_is_asked_again_until_it_is_back(cluster: LocalCluster, nodes: Racks) -> None:
    """A bare pod, which goes though Kueue's webhook for Jobs is away."""
    body = pod("kueue-away", hang="running")
    body["spec"]["containers"][0]["resources"] = {"limits": {GPU: "8"}}
    life = await nodes.runs(appwrapper("kueue-away", body, annotations=SOON | {"retryLimit": "1"}))
    (bad,) = await nodes.nodes_of(life)
    await cluster.processes.stop("kueue")
    try:
        await nodes.label(bad, "EVICT")
        await life.until(
            lambda item: (
                phase(item) == "Resetting"
                and condition(item, UNHEALTHY).reason == "NodesReassigned"
            ),
            "Kueue asked for other nodes",
        )
    finally:
        await cluster.processes.restart("kueue")
    again = await runs_again(life)
    assert bad not in await nodes.nodes_of(life)
    assert (again["status"]["attempt"], retries(again)) == (2, 0)
    assert life.phases() == STARTED + MOVED
    assert len(asked(life)) == 1


MOMENTS = (
    "status Resetting",
    "status again",  # the pause, which is over at once, or the words
    "patch workloads",
    "status Suspending",
    "status Suspended",
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def alone(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """The product's own controller is away from the first test that asks for it to the last."""
    async with controller_away(cluster) as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_crash_on_the_way_to_other_nodes(
    nodes: Racks, alone: KubeClient, moment: str, carried_out: bool
) -> None:
    name = f"crash-{MOMENTS.index(moment)}-{'after' if carried_out else 'before'}"
    async with Successor(alone):
        life = await nodes.runs(placed(name, retryLimit="1"))
    bad, _ = await nodes.nodes_of(life)
    await nodes.label(bad, "EVICT")
    await dies(alone, moment, carried_out=carried_out)
    async with Successor(alone):
        again = await runs_again(life)
        assert bad not in await nodes.nodes_of(life)
        assert (again["status"]["attempt"], retries(again)) == (2, 0)
        assert life.phases() == STARTED + MOVED
        await life.check_the_promise_to_kueue()
        await nodes.put_back()
