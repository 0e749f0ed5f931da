"""Kinds whose definition goes and comes back, while it is used and while it is not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from localcluster.access.running import RunningCluster
from shared.kube.client import KubeClient, Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.builders.operated_kinds import leader_worker_set
from tests.support.cluster.followed import followed, reported
from tests.support.cluster.life import Life, exists
from tests.support.cluster.resources import LEADER_WORKER_SETS
from tests.support.cluster.served_kinds import served
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.long


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


@asynccontextmanager
async def using_it(client: KubeClient, name: str) -> AsyncIterator[Life]:
    """The Kind is there as long as the AppWrapper is."""
    body = appwrapper(name, leader_worker_set(name))
    async with served(client, LEADER_WORKER_SETS), followed(client, NAMESPACE, body) as life:
        yield life


def log_lines(cluster: RunningCluster) -> list[str]:
    lines = (cluster.logs / "controller.log").read_text(errors="replace").splitlines()
    return [line for line in lines if "leaderworkerset" in line.lower()]


async def until_it_is_made(client: KubeClient, life: Life, name: str) -> None:
    await life.until_phase("Running")
    assert await exists(client, LEADER_WORKER_SETS, NAMESPACE, name)


async def test_one_that_goes_while_it_is_used_fails_what_used_it(
    client: KubeClient,
) -> None:
    """With the definition the API server deletes the objects, and says so."""
    body = appwrapper("vanishing", leader_worker_set("vanishing"))
    async with AsyncExitStack() as kind:
        await kind.enter_async_context(served(client, LEADER_WORKER_SETS))
        async with followed(client, NAMESPACE, body) as life:
            await until_it_is_made(client, life, "vanishing")
            await kind.aclose()
            failed = await life.until_phase("Failed")
            message = "deleted by another client: LeaderWorkerSet vanishing"
            assert reported(failed, "Unhealthy") == ("True", "MissingComponent", message)
            async with followed(
                client, NAMESPACE, appwrapper("stays", job("stays", pods=1, run_for="100ms"))
            ) as beside:
                await beside.until_phase("Succeeded")


async def test_a_kind_that_returns_is_watched_again_without_a_hot_loop_meanwhile(
    cluster: RunningCluster, client: KubeClient
) -> None:
    async with using_it(client, "before") as life:
        await until_it_is_made(client, life, "before")
    before = len(log_lines(cluster))
    # Nobody uses the Kind, and nobody tells the controller that it is gone.
    await asyncio.sleep(10)
    assert len(log_lines(cluster)) - before <= 20
    async with using_it(client, "after") as life:
        await until_it_is_made(client, life, "after")
        await client.delete(
            LEADER_WORKER_SETS, NAMESPACE, "after", uid=None, propagation=Propagation.BACKGROUND
        )
        failed = await life.until_phase("Failed")
        message = "deleted by another client: LeaderWorkerSet after"
        assert reported(failed, "Unhealthy") == ("True", "MissingComponent", message)


async def test_one_that_is_not_there_yet_fails_what_wants_it_and_then_no_more(
    client: KubeClient,
) -> None:
    async with followed(client, NAMESPACE, appwrapper("early", leader_worker_set("early"))) as life:
        failed = await life.until_phase("Failed")
        _, reason, message = reported(failed, "Unhealthy")
        assert reason == "CreateFailed"
        assert message.startswith(
            'spec.components[0]: no matches for kind "LeaderWorkerSet" in version '
            '"leaderworkerset.x-k8s.io/v1"'
        )
    async with using_it(client, "later") as life:
        await until_it_is_made(client, life, "later")
