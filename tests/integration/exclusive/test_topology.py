"""Under a Topology of Kueue's (topology-aware scheduling) a reset leaves nodes that are bad.

Kueue assigns the nodes and pins pods to them. So where a reset has to leave a node, Kueue must
assign others: its Workload is evicted, and goes on at its place in the queue.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.cluster.gpu_nodes import RUNS, gpu_job
from tests.support.cluster.life import Life
from tests.support.cluster.racks import PREFERRED, RACK, REQUIRED, Racks, rack_of, racks, racks_team

pytestmark = [pytest.mark.kueue, pytest.mark.long]

SOON = AT_ONCE | {"warmupGracePeriodDuration": "10s"}
HOW = {"required": {REQUIRED: RACK}, "preferred": {PREFERRED: RACK}, "none": {}}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: LocalCluster) -> AsyncIterator[None]:
    async with racks_team(cluster):
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def nodes(cluster: LocalCluster, team: None) -> AsyncIterator[Racks]:
    async with racks(cluster) as nodes:
        yield nodes


def placed(name: str, how: str = "required", **simulation: str) -> JsonObject:
    """Two pods of 8 GPUs, for which the topology is asked for in that way, or in none."""
    body = gpu_job(name, 2, **simulation)
    body["spec"]["template"]["metadata"]["annotations"] |= HOW[how]
    return appwrapper(name, body, annotations=SOON)


async def runs_elsewhere(life: Life, before: JsonObject) -> JsonObject:
    """All of its pods run, in a later attempt."""
    return await life.until(
        lambda item: (
            true_conditions(item) == RUNS
            and item["status"]["attempt"] > before["status"]["attempt"]
        ),
        "all of its pods running in another attempt",
    )


@pytest.mark.parametrize("how", HOW)
async def test_an_evicted_node_is_left_though_kueue_assigned_it(nodes: Racks, how: str) -> None:
    life = await nodes.runs(placed(f"evict-{how}", how))
    before = life.events[-1].object
    bad, other = await nodes.nodes_of(life)
    if how != "none":
        assert rack_of(bad) == rack_of(other)
    await nodes.label(bad, "EVICT")
    again = await runs_elsewhere(life, before)
    after = await nodes.nodes_of(life)
    print(life.phases(), after)
    assert bad not in after
    assert again["status"].get("resettingCount", 0) == 0
    assert version_of(again) > version_of(before)
    await life.check_the_promise_to_kueue()
