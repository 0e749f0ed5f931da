"""Root causes beside nodes that Autopilot has flagged."""

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import PODS, JsonObject
from shared.kube.client import Conflict, NotFound, Propagation
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.autopilot import GPU
from tests.support.builders.pods import pod
from tests.support.cluster.failed_workers import (
    RunningWorkers,
    column,
    fails_as,
    folder_of,
    operators_log,
    running,
    world_of,
)
from tests.support.cluster.gpu_nodes import GpuNodes, gpu_appwrapper, gpu_nodes, unhealthy
from tests.support.cluster.lives import NAMESPACE, Lives, slow_to_go
from tests.support.root_cause_cases.case import PATIENT, STORE
from tests.support.root_cause_cases.recorded import ON_A_BAD_NODE
from tests.support.root_cause_cases.workers import End, leave, raised


@pytest_asyncio.fixture
async def nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    async with gpu_nodes(cluster) as nodes:
        yield nodes


def on_gpus(name: str, workers: int = 2, **simulation: str) -> list[JsonObject]:
    """Workers on nodes of their own."""
    pods = [pod(f"{name}-{index}", hang="running", **simulation) for index in range(workers)]
    for each in pods:
        each["spec"]["containers"][0]["resources"] = {"limits": {GPU: "8"}}
    return pods


async def test_a_pod_ended_by_an_evacuation_is_no_root_cause(
    lives: Lives, cluster: LocalCluster, nodes: GpuNodes
) -> None:
    """Cases 17 and 18: no retry is spent, and what was left behind is not the next attempt's."""
    pods = [slow_to_go(each) for each in on_gpus("driven", ignore_deletion_for="1h")]
    body = appwrapper("driven", *pods, annotations={**PATIENT, "errorStore": STORE})
    life = await lives.begin(body)
    workers = await running(lives, life, 2)
    ended = End(after=1, code=143, record=raised("SystemExit: SECRET-18", rank=0))
    leave(folder_of(cluster, life), workers.record(0, ended))
    await nodes.label(workers.node(0), "EVICT")
    resetting = await life.until_phase("Resetting")
    await workers.end({0: ended, 1: End(after=1, code=143)})
    for index in range(2):
        # An ended pod goes as soon as the controller deletes it. The next attempt's has its name.
        with suppress(NotFound, Conflict):
            await lives.client.delete(
                PODS,
                NAMESPACE,
                workers.name(index),
                uid=workers.pods[index]["metadata"]["uid"],
                propagation=Propagation.BACKGROUND,
                grace_period_seconds=0,
            )
    again = await running(lives, life, 2, attempt=2)
    assert unhealthy(resetting)[:2] == ("True", "AutopilotNoExecute")
    quiet = await world_of(lives, life.events[-1].object, events=0)
    assert (quiet.root_cause, quiet.history, quiet.events) == ({}, (), ())
    assert (quiet.retries, quiet.suspects) == (0, ())
    assert await column(cluster, "driven") == ""
    # The next attempt has a failure of its own.
    await again.end(
        {1: End(after=1, record=raised("OSError: SECRET-19", recoverable=True, rank=1))}
    )
    await lives.annotate("driven", failureGracePeriodDuration="0s")
    reset = await life.until(
        lambda item: phase(item) == "Resetting" and item["status"]["attempt"] == 2, "a retry"
    )
    world = await world_of(lives, reset)
    assert (world.root_cause["attempt"], world.root_cause["pod"]) == (2, "driven-1")
    assert world.retries == 1
    assert "SECRET" not in operators_log(cluster)
    await lives.annotate("driven", forcefulDeletionGracePeriodDuration="0s")


async def test_an_error_on_a_flagged_node_is_the_nodes(
    lives: Lives, cluster: LocalCluster, nodes: GpuNodes
) -> None:
    """Case 19: broken hardware raises Python's exceptions too."""

    async def label(workers: RunningWorkers) -> None:
        await nodes.label(workers.node(0), "ERR")
        # The watch of nodes keeps their order: once the second label was acted on, so was the
        # first.
        witness = await nodes.runs(gpu_appwrapper("flagged-witness"))
        await nodes.label(await nodes.node_of(witness), "EVICT")
        await witness.until_phase("Resetting")

    world = await fails_as(lives, ON_A_BAD_NODE, "flagged", *on_gpus("flagged", 1), before=label)
    assert await column(cluster, "flagged") == world.root_cause["summary"]
    assert "SECRET" not in operators_log(cluster)
