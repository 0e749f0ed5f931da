"""Many AppWrappers at once: all pods fail in the same moment, and their namespace is deleted.

A rack whose nodes turn bad: tests/integration/nodes/test_topology.py.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, NAMESPACES, PODS, JsonObject
from shared.kube.client import KubeClient, PatchType, Propagation
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, phase, true_conditions
from tests.support.builders.pods import pod
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.faulty_lives import RUNS
from tests.support.cluster.life import exists, listed
from tests.support.cluster.reconfigured import reconfigured
from tests.support.cluster.stages import LONG
from tests.support.observer.observer import Observer
from tests.support.patience import PATIENCE_SECONDS, comes_to

pytestmark = pytest.mark.long

TEAM = "fleet"
MANY = 100
BURST = 20  # of the reset rate, so that most wait
SIDE_BY_SIDE = 16


async def together(work: Iterable[Awaitable[object]]) -> None:
    """Await all, a few at a time."""
    turns = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(each: Awaitable[object]) -> None:
        async with turns:
            await each

    async with asyncio.TaskGroup() as group:
        for each in work:
            group.create_task(one(each))


async def all_run(client: KubeClient, attempt: int) -> None:
    """Wait until all pods of all AppWrappers run, in this attempt."""

    async def how_many() -> int:
        await asyncio.sleep(5)  # a list of all of them is expensive
        return sum(
            true_conditions(each) == RUNS and each["status"]["attempt"] == attempt
            for each in await listed(client, APPWRAPPERS, TEAM)
        )

    await comes_to(how_many, MANY, 3 * PATIENCE_SECONDS)


async def test_all_pods_of_a_team_fail_at_once_and_then_its_namespace_is_deleted(
    cluster: LocalCluster, observer: Observer
) -> None:
    """Each AppWrapper has one retry and no failure, and nothing of the namespace is left."""
    client = cluster.client
    names = [f"fleet-{number}" for number in range(MANY)]

    def fail(each: JsonObject) -> Awaitable[object]:
        return client.patch(
            PODS,
            TEAM,
            each["metadata"]["name"],
            {"status": {"phase": "Failed"}},
            PatchType.MERGE,
            subresource="status",
        )

    async with (
        reconfigured(cluster, "controller", resetRateLimit={"burst": BURST}),
        another_team(cluster, TEAM, team_documents(TEAM)),
    ):
        await together(
            client.create(
                APPWRAPPERS,
                TEAM,
                appwrapper(name, pod(name, hang="running"), annotations=AT_ONCE | LONG),
            )
            for name in names
        )
        await all_run(client, 1)
        await together(fail(each) for each in await listed(client, PODS, TEAM))
        await all_run(client, 2)
        found = await listed(client, APPWRAPPERS, TEAM)
        assert Counter(each["status"].get("resettingCount") for each in found) == {1: MANY}
        assert Counter(map(phase, found)) == {"Running": MANY}

        await client.delete(NAMESPACES, None, TEAM, uid=None, propagation=Propagation.BACKGROUND)
        await comes_to(lambda: exists(client, NAMESPACES, None, TEAM), False, 3 * PATIENCE_SECONDS)
    for name in names:
        assert "AppWrapper Failed" not in observer.story_of(TEAM, name)
