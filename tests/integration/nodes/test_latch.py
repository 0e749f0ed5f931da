"""Nodes that stay bad after their label is gone, tests that do not end, and NVSentinel's labels."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
import yaml

from localcluster.cluster import LocalCluster
from shared.api.objects import CONFIGMAPS, EVENTS, NODES, JsonObject
from shared.api.times import parse_time
from shared.kube.client import PatchType
from shared.process.clock import SystemClock
from tests.support.builders.appwrappers import true_conditions
from tests.support.builders.autopilot import GPU, REQUIRED
from tests.support.cluster.gpu_nodes import (
    PAGE,
    RUNS,
    GpuNodes,
    gpu_appwrapper,
    gpu_nodes,
    since,
    typed,
    unhealthy,
)
from tests.support.cluster.life import Life, listed
from tests.support.cluster.reconfigured import reconfigured
from tests.support.cluster.resources import JOBS
from tests.support.manifests import ROOT
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE
from tests.support.walkthrough import blocks_of, commands_below

LATCHED = "appwrapper_nodes_latched"
NO_EXECUTE = "appwrapper_nodes_no_execute"
HOSTNAME = "kubernetes.io/hostname"
STATE = "dgxc.nvidia.com/nvsentinel-state"
CLEARED = "workload.codeflare.dev/latch-cleared"


@pytest_asyncio.fixture
async def nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    async with gpu_nodes(cluster) as nodes:
        yield nodes
    for node in await listed(cluster.client, NODES, None):
        await annotate(nodes, node["metadata"]["name"], None)


async def cleared_second_passed(nodes: GpuNodes, node: str) -> bool:
    """Whether a new label comes after all that the annotation clears: its whole second."""
    item = await nodes.client.get(NODES, None, node)
    cleared = parse_time(item["metadata"]["annotations"][CLEARED])
    return SystemClock().now() >= cleared + timedelta(seconds=1)


async def annotate(nodes: GpuNodes, node: str, value: str | None) -> None:
    patch = {"metadata": {"annotations": {CLEARED: value}}}
    await nodes.client.patch(NODES, None, node, patch, PatchType.MERGE)


async def moved(life: Life, attempt: int) -> JsonObject:
    """All of its pods run in that attempt."""
    return await life.until(
        lambda item: true_conditions(item) == RUNS and item["status"]["attempt"] == attempt,
        f"all of its pods running in attempt {attempt}",
    )


async def avoided_hosts(nodes: GpuNodes, name: str) -> list[str]:
    """What the Job of that AppWrapper forbids its pods."""
    job = await nodes.client.get(JOBS, NAMESPACE, name)
    node_affinity = job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = node_affinity[REQUIRED]["nodeSelectorTerms"]
    return [
        host
        for each in term["matchExpressions"]
        if each["key"] == HOSTNAME
        for host in each["values"]
    ]


async def latches(nodes: GpuNodes) -> list[str]:
    """The names of nodes that are written down."""
    item = await nodes.client.get(CONFIGMAPS, "appwrapper-system", "appwrapper-node-health")
    text = item.get("data", {}).get("latches", "{}")
    return sorted(json.loads(text).get(GPU, {}))


async def event_messages(nodes: GpuNodes, node: str, reason: str) -> list[str]:
    """Messages of Warning events on the node."""
    found = await listed(nodes.client, EVENTS, "default", "")
    return [
        each["message"]
        for each in found
        if (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == ("Node", node)
        and (each["type"], each["reason"]) == ("Warning", reason)
    ]


async def evacuated(nodes: GpuNodes, name: str) -> tuple[Life, str]:
    """An AppWrapper that an EVICT label has driven off its node; that node."""
    life = await nodes.runs(gpu_appwrapper(name, retryLimit="1"))
    bad = await nodes.node_of(life)
    await nodes.label(bad, "EVICT")
    again = await moved(life, 2)
    assert again["status"].get("resettingCount", 0) == 0
    assert await nodes.node_of(life) != bad
    return life, bad


async def test_a_node_whose_label_is_overwritten_stays_bad_until_an_admin_clears_it(
    cluster: LocalCluster, nodes: GpuNodes
) -> None:
    async with reconfigured(cluster, "controller", nodeHealth={"latch": "12h"}):
        life, bad = await evacuated(nodes, "latch")
        assert await avoided_hosts(nodes, "latch") == [bad]
        earlier = await event_messages(nodes, bad, "NodeLatched")
        await nodes.label(bad, "PASS")  # as Autopilot's next periodic check does
        await nodes.shows(LATCHED, 1, resource=GPU)
        await nodes.shows(NO_EXECUTE, 1, resource=GPU)
        await comes_to(lambda: latches(nodes), [bad])

        async def says_until() -> list[str]:
            messages = await event_messages(nodes, bad, "NodeLatched")
            return [text.partition(" until ")[0] for text in messages if text not in earlier]

        label = "label autopilot.ibm.com/gpuhealth=EVICT is gone"
        await comes_to(says_until, [f"{label}; for {GPU} the node stays NoExecute"])

        await cluster.processes.stop("controller", patience=0)
        await cluster.processes.restart("controller")
        await nodes.shows(LATCHED, 1, resource=GPU)
        # With the one above they fill all other nodes.
        others = await nodes.runs(gpu_appwrapper("latch-others", pods=6))
        assert bad not in (await nodes.pods(others)).values()
        assert await avoided_hosts(nodes, "latch-others") == [bad]

        named = commands_below("### Clearing a latch", PAGE).replace("gpu-node-1", bad)
        assert await typed(cluster, named) == f"node/{bad} annotated\n"
        await nodes.shows(LATCHED, 0, resource=GPU)
        await comes_to(lambda: latches(nodes), [])
        last = await nodes.runs(gpu_appwrapper("latch-last"))
        assert await nodes.node_of(last) == bad
        for each in (others, last):
            assert each.phases() == ["", "Suspended", "Resuming", "Running"]
        assert life.phases()[4:] == ["Resetting", "Resuming", "Running"]
        # The word stays on the Node. A later label is latched all the same.
        await comes_to(lambda: cleared_second_passed(nodes, bad), True)
        await nodes.label(bad, "EVICT")
        await last.until_phase("Resetting")
        await nodes.label(bad, "PASS")
        await nodes.shows(LATCHED, 1, resource=GPU)
        for each in (life, others, last):
            await each.check_the_promise_to_kueue()


@pytest.mark.long
async def test_a_label_that_goes_while_no_controller_runs_leaves_a_latch_too(
    cluster: LocalCluster, nodes: GpuNodes
) -> None:
    async with reconfigured(cluster, "controller", nodeHealth={"latch": "12h"}):
        _, first = await evacuated(nodes, "latch-away")
        await comes_to(lambda: latches(nodes), [first])
        await cluster.processes.stop("controller", patience=0)
        try:
            await nodes.label(first, "PASS")
        finally:
            await cluster.processes.restart("controller")
        await nodes.shows(LATCHED, 1, resource=GPU)
        _, second = await evacuated(nodes, "latch-second")
        assert second != first
        await nodes.label(second, "WARN")
        await nodes.shows(LATCHED, 2, resource=GPU)
        await annotate(nodes, first, "true")

        async def complains() -> bool:
            texts = await event_messages(nodes, first, "LatchNotCleared")
            return any('"true" is not a time such as ' in each for each in texts)

        await comes_to(complains, True)
        await nodes.shows(LATCHED, 2, resource=GPU)
        page = blocks_of(ROOT / PAGE)
        everywhere = next(each.commands for each in page if "nodes --all" in each.commands)
        await typed(cluster, everywhere)
        await nodes.shows(NO_EXECUTE, 0, resource=GPU)
        await comes_to(lambda: latches(nodes), [])


@pytest.mark.long
async def test_a_latch_ends_by_itself(cluster: LocalCluster, nodes: GpuNodes) -> None:
    async with reconfigured(cluster, "controller", nodeHealth={"latch": "3s"}):
        life, bad = await evacuated(nodes, "latch-ends")
        before = life.events[-1].object
        # Other tests may have latched the same node: the scheduler chooses.
        earlier = await event_messages(nodes, bad, "NodeLatched")
        await nodes.label(bad, "PASS")

        async def number_of_events() -> int:
            return len({*await event_messages(nodes, bad, "NodeLatched")} - {*earlier})

        await comes_to(number_of_events, 1)
        await nodes.shows(NO_EXECUTE, 0, resource=GPU)
        await comes_to(lambda: latches(nodes), [])
        fresh = await nodes.runs(gpu_appwrapper("latch-ended", node=bad))
        assert await avoided_hosts(nodes, "latch-ended") == []
        assert await nodes.node_of(fresh) == bad
        assert since(life, before) == []


@pytest.mark.long
async def test_pods_that_nothing_keeps_off_a_latched_node_use_up_their_retries(
    cluster: LocalCluster, nodes: GpuNodes
) -> None:
    """Without injection each attempt comes back to the node, and no label is there any more."""
    latching = {"autopilot": {"injectAntiAffinities": False}, "nodeHealth": {"latch": "12h"}}
    async with (
        reconfigured(cluster, "webhook", autopilot={"injectAntiAffinities": False}),
        reconfigured(cluster, "controller", **latching),
    ):
        body = gpu_appwrapper("latch-loop", node="gpu-node-2", retryLimit="2")
        life = await nodes.runs(body)
        await nodes.label("gpu-node-2", "EVICT")
        free = await life.until_phase("Resetting")
        assert free["status"].get("resettingCount", 0) == 0
        await nodes.label("gpu-node-2", "PASS")
        failed = await life.until_phase("Failed")
        assert failed["status"]["resettingCount"] == 2
        status, reason, message = unhealthy(failed)
        assert (status, reason) == ("True", "AutopilotNoExecute")
        place = "node gpu-node-2 (autopilot.ibm.com/gpuhealth=EVICT, latched): pod latch-loop-"
        assert message.startswith(f"retries exhausted (2 of 2): {place}")


@pytest.mark.long
async def test_labels_that_open_the_breaker_and_are_corrected_leave_no_latch(
    cluster: LocalCluster, nodes: GpuNodes
) -> None:
    limits = {"percent": 30, "minimumNodes": 4, "window": "10m"}  # the third of 8 opens it
    changes: dict[str, Any] = {"evacuationBreaker": limits, "nodeHealth": {"latch": "12h"}}
    async with reconfigured(cluster, "controller", **changes):
        wrong = [f"gpu-node-{number}" for number in (1, 2, 3)]
        for node in wrong:
            await nodes.label(node, "EVICT")
        await nodes.shows("appwrapper_evacuation_breaker_open", 1, resource=GPU)
        await comes_to(lambda: latches(nodes), wrong)
        for node in wrong:
            await nodes.label(node, "PASS")
        await nodes.shows(NO_EXECUTE, 0, resource=GPU)
        await nodes.shows("appwrapper_evacuation_breaker_open", 0, resource=GPU)
        await comes_to(lambda: latches(nodes), [])


@pytest.mark.long
async def test_a_test_that_does_not_end_is_reported(cluster: LocalCluster, nodes: GpuNodes) -> None:
    async with reconfigured(cluster, "controller", nodeHealth={"testingTimeout": "1s"}):
        await nodes.label("gpu-node-3", "TESTING")
        await nodes.shows("appwrapper_nodes_test_overdue", 1, resource=GPU)

        async def overdue() -> list[str]:
            return await event_messages(nodes, "gpu-node-3", "TestOverdue")

        label = "autopilot.ibm.com/gpuhealth"
        await comes_to(
            overdue,
            [
                f"label {label}=TESTING for longer than 1s (nodeHealth.testingTimeout): its {GPU} "
                "counts as unschedulable. See why the test does not end; to give the node back: "
                f"kubectl label node gpu-node-3 {label}-"
            ],
        )
        await typed(cluster, f"kubectl label node gpu-node-3 {label}-")
        await nodes.shows("appwrapper_nodes_test_overdue", 0, resource=GPU)


def nvsentinel() -> JsonObject:
    """The section `autopilot` that the page gives."""
    text = (ROOT / PAGE).read_text().split("\n## NVSentinel\n")[1]
    found: JsonObject = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    return dict(found["appwrapper"]["autopilot"])


@pytest.mark.long
async def test_nvsentinel_quarantines_drains_and_repairs_a_node(
    cluster: LocalCluster, nodes: GpuNodes
) -> None:
    """Cordon and labels as NVSentinel writes them; the cordon is left out where labels must do."""
    section = nvsentinel()
    async with AsyncExitStack() as stack:
        for program in ("webhook", "controller"):
            await stack.enter_async_context(reconfigured(cluster, program, autopilot=section))
        life = await nodes.runs(gpu_appwrapper("sentinel", retryLimit="1"))
        bad = await nodes.node_of(life)
        await typed(cluster, f"kubectl cordon {bad}")
        await nodes.label(bad, "quarantined", STATE)
        resetting = await life.until_phase("Resetting")
        status, reason, message = unhealthy(resetting)
        assert (status, reason) == ("True", "AutopilotNoExecute")
        assert message.startswith(f"node {bad} ({STATE}=quarantined): pod ")
        again = await moved(life, 2)
        assert again["status"].get("resettingCount", 0) == 0
        assert await nodes.node_of(life) != bad
        await typed(cluster, f"kubectl uncordon {bad}")
        states = ("draining", "drain-succeeded", "remediating", "remediation-succeeded")
        for state in states:
            await nodes.label(bad, state, STATE)
            await nodes.shows(NO_EXECUTE, 1, resource=GPU)
        others = await nodes.runs(gpu_appwrapper("sentinel-others", pods=6))
        assert bad not in (await nodes.pods(others)).values()
        await nodes.label(bad, None, STATE)
        await nodes.shows(NO_EXECUTE, 0, resource=GPU)  # else the next pod there must leave it
        last = await nodes.runs(gpu_appwrapper("sentinel-last"))
        assert await nodes.node_of(last) == bad
        for each in (life, others, last):
            assert each.phases()[-1] == "Running"
            await each.check_the_promise_to_kueue()
