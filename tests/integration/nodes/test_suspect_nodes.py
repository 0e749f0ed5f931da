"""Suspect nodes of a whole fleet, over a restart, and what `suspectNodes: Required` does."""

import asyncio
import io
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from cli import main as program
from cli.terminal import Terminal
from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, EVENTS, NODES, PODS, JsonObject
from shared.kube.client import PatchType
from tests.support.builders.annotations import prefixed
from tests.support.builders.autopilot import GPU
from tests.support.cluster.answers import created
from tests.support.cluster.gpu_nodes import GpuNodes, gpu_appwrapper, gpu_nodes
from tests.support.cluster.life import Life, listed
from tests.support.cluster.people import admin
from tests.support.cluster.reconfigured import reconfigured
from tests.support.patience import comes_to, until_found
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.long

METRIC = "appwrapper_suspect_nodes"
SELECTOR = "workload.codeflare.dev/uid"


@pytest_asyncio.fixture
async def nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    async with gpu_nodes(cluster) as nodes:
        yield nodes


async def pods_of(nodes: GpuNodes, life: Life, number: int, attempt: int) -> list[JsonObject]:
    """Once so many of that attempt run."""
    uid = life.events[0].object["metadata"]["uid"]
    selector = f"{SELECTOR}={uid},workload.codeflare.dev/attempt={attempt}"

    async def look() -> list[JsonObject] | None:
        found = await listed(nodes.client, PODS, NAMESPACE, selector)
        running = [each for each in found if each["status"].get("phase") == "Running"]
        return running if len(running) == number else None

    return await until_found(look)


async def fail(nodes: GpuNodes, item: JsonObject) -> str:
    """As its kubelet would report it. Returns its node."""
    (container,) = item["status"]["containerStatuses"]
    state = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T10:00:00Z"}
    status = {
        "phase": "Failed",
        "containerStatuses": [{**container, "state": {"terminated": state}}],
    }
    name = item["metadata"]["name"]
    await nodes.client.patch(
        PODS, NAMESPACE, name, {"status": status}, PatchType.MERGE, subresource="status"
    )
    return str(item["spec"]["nodeName"])


def required(item: JsonObject) -> list[str]:
    affinity = item["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [
        value
        for term in terms
        for each in term["matchExpressions"]
        if each["key"] == "kubernetes.io/hostname"
        for value in each["values"]
    ]


def preferred(item: JsonObject) -> list[str]:
    affinity = item["spec"]["affinity"]["nodeAffinity"]
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return [
        value
        for term in terms
        for each in term["preference"]["matchExpressions"]
        if each["key"] == "kubernetes.io/hostname"
        for value in each["values"]
    ]


async def test_nodes_are_forbidden_only_while_others_have_room(nodes: GpuNodes) -> None:
    """The controller is started anew between the failure and the next attempt."""
    async with reconfigured(nodes.cluster, "controller", suspectNodes="Required"):
        body = gpu_appwrapper("required", retryLimit="9", retryPausePeriodDuration="1h")
        life = await nodes.runs(body)
        (first,) = await pods_of(nodes, life, 1, attempt=1)
        bad = await fail(nodes, first)
        await life.until_phase("Resetting")
        await nodes.cluster.processes.restart("controller")
        at_once = {"metadata": {"annotations": prefixed(retryPausePeriodDuration="0s")}}
        await nodes.client.patch(APPWRAPPERS, NAMESPACE, "required", at_once, PatchType.MERGE)
        (again,) = await pods_of(nodes, life, 1, attempt=2)
        assert (required(again), preferred(again)) == ([bad], [bad])
        assert again["spec"]["nodeName"] != bad
        # Now nothing but the two that failed has room.
        worse = again["spec"]["nodeName"]
        for number in range(1, 9):
            if (name := f"gpu-node-{number}") not in (bad, worse):
                await nodes.label(name, "ERR")
        await nodes.shows("appwrapper_unschedulable_capacity", 48, resource=GPU, reason="label")
        assert await fail(nodes, again) == worse
        (last,) = await pods_of(nodes, life, 1, attempt=3)
        assert required(last) == []
        assert sorted(preferred(last)) == sorted([bad, worse])
        assert last["spec"]["nodeName"] in (bad, worse)


async def blamed(nodes: GpuNodes, name: str, user: str, node: str) -> Life:
    """An AppWrapper of that user fails on the node, for good."""
    body = gpu_appwrapper(name, node=node, retryLimit="0")
    life = await nodes.followed(name)
    # With the right to create Jobs, which members of a team lack.
    who = admin(nodes.cluster).impersonating(user, "system:masters")
    said = await created(who, body, NAMESPACE)
    assert said.code == 201, said.object
    await life.until(lambda _: True, "seen from its creation on")
    (failing,) = await pods_of(nodes, life, 1, attempt=1)
    assert await fail(nodes, failing) == node
    await life.until_phase("Failed")
    return life


async def events_about(nodes: GpuNodes, node: str) -> list[JsonObject]:
    found = await listed(nodes.client, EVENTS, "default")
    return [
        each
        for each in found
        if (each["involvedObject"].get("kind"), each["reason"]) == ("Node", "SuspectNode")
        and each["involvedObject"]["name"] == node
    ]


async def check(cluster: LocalCluster) -> list[str]:
    """What `appwrapper check` says of nodes that several users suspect."""
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(io.StringIO(), out, err, {})
    argv = ["check", "--kubeconfig", str(cluster.kubeconfig), "-o", "json"]
    await asyncio.to_thread(program.main, argv, terminal)
    assert err.getvalue() == ""
    found = json.loads(out.getvalue())["findings"]
    return [
        f"{each['about']}: {each['message']}" for each in found if "failed first" in each["message"]
    ]


async def test_a_node_that_fails_two_users_is_reported_whatever_restarts(nodes: GpuNodes) -> None:
    node = "gpu-node-3"
    await blamed(nodes, "alices", "alice", node)
    await blamed(nodes, "alices-too", "alice", node)
    await nodes.shows(METRIC, 0)
    assert await events_about(nodes, node) == []
    assert await check(nodes.cluster) == []
    await nodes.cluster.processes.restart("controller")
    await blamed(nodes, "bobs", "bob", node)
    await nodes.shows(METRIC, 1)

    async def told() -> int:
        return len(await events_about(nodes, node))

    await comes_to(told, 1)
    (event,) = await events_about(nodes, node)
    names = f"{NAMESPACE}/alices, {NAMESPACE}/alices-too, {NAMESPACE}/bobs"
    words = f"AppWrappers of 2 users failed first on it within a day ({names}): check its hardware"
    assert event["type"] == "Warning"
    assert event["message"] == f"{words}; to keep new pods off it: kubectl cordon {node}"
    seen = await nodes.cluster.client.get(NODES, None, node)
    assert event["involvedObject"]["uid"] == seen["metadata"]["uid"]
    assert await check(nodes.cluster) == [f"node {node}: {words}"]
    # Whoever begins anew forgets nothing, and says it once more.
    await nodes.cluster.processes.restart("controller")
    await nodes.shows(METRIC, 1)
    await comes_to(told, 2)
