"""A node that sends no heartbeat any more: its AppWrapper moves in time, without a retry."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.names import LABEL_UID
from shared.api.objects import EVENTS, NODES, PODS, JsonObject
from shared.api.times import parse_time
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import phase, true_conditions
from tests.support.cluster.gpu_nodes import RUNS, GpuNodes, gpu_appwrapper, gpu_nodes, unhealthy
from tests.support.cluster.life import listed
from tests.support.patience import PATIENCE_SECONDS, comes_to
from tests.support.team import NAMESPACE

HEARTBEAT = "simulation.localcluster.dev/heartbeat"
GRACE = 5
TARGET = 30


@pytest_asyncio.fixture
async def nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    async with gpu_nodes(cluster) as nodes:
        yield nodes


def said(item: JsonObject) -> str:
    """Returns the message of PodsReady."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return next((each["message"] for each in conditions if each["type"] == "PodsReady"), "")


async def test_the_next_attempt_runs_elsewhere_in_time_and_no_retry_is_spent(
    nodes: GpuNodes,
) -> None:
    body = gpu_appwrapper(
        "unreachable",
        unreachableGracePeriodDuration=f"{GRACE}s",
        retryPausePeriodDuration="1h",
        retryLimit="1",
    )
    life = await nodes.runs(body)
    node = await nodes.node_of(life)

    await nodes.label(node, "stopped", HEARTBEAT)
    text = f"on node {node}, which does not answer since "
    try:
        # The node controller waits for most of a minute.
        await life.until(lambda item: text in said(item), "a silent node", 2 * PATIENCE_SECONDS)
        status, since = await ready(nodes, node)
        assert status == "Unknown"
        again = await life.until(
            lambda item: true_conditions(item) == RUNS and item["status"]["attempt"] == 2,
            "all of its pods running in attempt 2",
        )
        assert again["status"].get("resettingCount", 0) == 0
        assert life.phases()[-4:] == ["Running", "Resetting", "Resuming", "Running"]
        resetting = next(each.object for each in life.events if phase(each.object) == "Resetting")
        assert unhealthy(resetting)[:2] == ("True", "NodeUnreachable")
        assert resetting["status"]["rootCause"]["node"] == node
        assert resetting["status"]["suspectNodes"][0]["unreachable"] is True
        uid = again["metadata"]["uid"]
        (pod,) = await listed(nodes.client, PODS, NAMESPACE, f"{LABEL_UID}={uid}")
        assert pod["spec"]["nodeName"] != node
        made = parse_time(pod["metadata"]["creationTimestamp"])
        assert (made - parse_time(since)).total_seconds() <= GRACE + TARGET
        events = await listed(nodes.client, EVENTS, NAMESPACE)
        forced = [
            each["message"]
            for each in events
            if each["reason"] == "ForcedOnUnreachableNode"
            and each["involvedObject"]["name"] == "unreachable"
        ]
        assert text in forced[0]
        await life.check_the_promise_to_kueue()
    finally:
        await nodes.label(node, None, HEARTBEAT)
        await comes_to(lambda: answers(nodes, node), True)


@pytest.mark.long  # the garbage collector of pods waits for most of a minute, after the node's
async def test_a_node_that_its_cloud_removes_meanwhile_spends_no_retry_either(
    nodes: GpuNodes,
) -> None:
    body = gpu_appwrapper("removed", retryPausePeriodDuration="1h", retryLimit="1")
    life = await nodes.runs(body)
    node = await nodes.node_of(life)
    stored = await nodes.client.get(NODES, None, node)
    await nodes.label(node, "stopped", HEARTBEAT)
    try:
        text = f"on node {node}, which does not answer since "
        await life.until(lambda item: text in said(item), "a silent node", 2 * PATIENCE_SECONDS)
        await nodes.client.delete(NODES, None, node, uid=None, propagation=Propagation.BACKGROUND)
        again = await life.until(
            lambda item: true_conditions(item) == RUNS and item["status"]["attempt"] == 2,
            "all of its pods running in attempt 2",
            2 * PATIENCE_SECONDS,
        )
        assert again["status"].get("resettingCount", 0) == 0
        resetting = next(each.object for each in life.events if phase(each.object) == "Resetting")
        status, reason, message = unhealthy(resetting)
        assert (status, reason) == ("True", "NodeUnreachable")
        assert f"{node}, which was removed" in message
        assert resetting["status"]["rootCause"]["node"] == node
        suspect = resetting["status"]["suspectNodes"][0]
        assert (suspect["node"], suspect["unreachable"]) == (node, True)
        await life.check_the_promise_to_kueue()
    finally:
        kept = ("name", "labels", "annotations")
        metadata = {key: stored["metadata"][key] for key in kept if key in stored["metadata"]}
        await nodes.client.create(NODES, None, {**stored, "metadata": metadata})
        await comes_to(lambda: answers(nodes, node), True)


async def ready(nodes: GpuNodes, node: str) -> tuple[str, str]:
    """Returns the status of the node's condition Ready, and since when it is so."""
    item = await nodes.client.get(NODES, None, node)
    (found,) = (each for each in item["status"]["conditions"] if each["type"] == "Ready")
    return found["status"], found["lastTransitionTime"]


async def answers(nodes: GpuNodes, node: str) -> bool:
    return (await ready(nodes, node))[0] == "True"
