"""What admission puts into pod templates, and where the pods land: the real API server and Kueue.

Pods get Coscheduler's name here.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import NODES, PODS, JsonObject
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.autopilot import HEALTH
from tests.support.builders.wrapped_kinds import (
    LEADER_WORKER_SET,
    NAME,
    pod,
    pytorch_job,
    template,
)
from tests.support.cluster.life import listed
from tests.support.cluster.own_team import own_nodes
from tests.support.cluster.settled import until_settled
from tests.support.cluster.submitting_team import NOWHERE, Team, wrapping
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE


@pytest.fixture
async def team(cluster: RunningCluster) -> AsyncIterator[Team]:
    found = Team(cluster)
    yield found
    await found.clean_up()


# What is stored


async def test_while_the_name_is_to_be_generated_pods_get_it_from_the_controller(
    team: Team,
) -> None:
    stored = await team.create(pod(), generateName="injected-")
    name = stored["metadata"]["name"]
    template = stored["spec"]["components"][0]["template"]
    assert "labels" not in template["metadata"]
    await comes_to(lambda: team.pod_phases(name), {NAME: "Running"})


async def test_the_same_file_again_changes_nothing(team: Team) -> None:
    file = json.dumps(
        wrapping(pytorch_job(Master=template(8)), LEADER_WORKER_SET, name=NAME, labels=NOWHERE)
    )
    await team.kubectl("apply", "-f", "-", stdin=file)
    before = await until_settled(team.stored)
    for command in ("apply", "replace"):
        await team.kubectl(command, "-f", "-", stdin=file)
        after = await team.stored()
        assert after["spec"] == before["spec"]
        assert after["metadata"]["generation"] == before["metadata"]["generation"]


# Where pods land


@asynccontextmanager
async def health(client: KubeClient, value: str) -> AsyncIterator[list[str]]:
    """Autopilot's label on every node of ours, taken off again; the nodes' names."""
    names = [str(node["metadata"]["name"]) for node in await own_nodes(client)]
    for name in names:
        await tag(client, name, value)
    try:
        yield names
    finally:
        for name in names:
            await tag(client, name, None)


async def tag(client: KubeClient, node: str, value: str | None) -> None:
    change = {"metadata": {"labels": {HEALTH: value}}}
    await client.patch(NODES, None, node, change, PatchType.MERGE)


async def test_gpu_pods_land_only_on_nodes_that_autopilot_has_not_tagged(team: Team) -> None:
    async def scheduling() -> dict[str, str]:
        """Of each pod: its node, or why it has none."""
        pods = await listed(team.client, PODS, NAMESPACE, f"{LABEL_APPWRAPPER}={NAME}")
        return {
            pod["metadata"]["name"]: pod["spec"].get("nodeName") or unscheduled(pod) for pod in pods
        }

    async with health(team.client, "ERR") as nodes:
        await team.create(pod(8, name="gpu"), pod(name="cpu"))
        # Nothing but the tag stands between the pod and eight empty nodes.
        await comes_to(lambda: among(scheduling, nodes), {"cpu": "a node", "gpu": "Unschedulable"})
        for index, node in enumerate(nodes):
            await tag(team.client, node, ("TESTING", "EVICT", "ERR")[index % 3])
        healed = nodes[5]
        await tag(team.client, healed, "PASS")
        await comes_to(team.pod_phases, {"cpu": "Running", "gpu": "Running"})
        assert (await scheduling())["gpu"] == healed


async def among(scheduling: Callable[[], Awaitable[dict[str, str]]], nodes: list[str]) -> Any:
    return {
        pod: "a node" if place in nodes else place for pod, place in (await scheduling()).items()
    }


def unscheduled(pod: JsonObject) -> str:
    conditions = pod["status"].get("conditions", [])
    return "".join(each["reason"] for each in conditions if each["type"] == "PodScheduled")
