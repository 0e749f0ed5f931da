"""A controller that dies between any two of its writes, and the one that comes after it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import KubeClient, Propagation, WatchEventType
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job
from tests.support.cluster.crashes import (
    Successor,
    controller_away,
    dies,
    name_of,
)
from tests.support.cluster.life import Life, listed
from tests.support.cluster.resources import JOBS
from tests.support.patience import PATIENCE_SECONDS
from tests.support.team import NAMESPACE


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """The product's own controller is away from the first test that asks for it to the last."""
    async with controller_away(cluster) as found:
        yield found


async def jobs_made(client: KubeClient, name: str, version: str) -> list[JsonObject]:
    """Every Job of that name created since `version`, once the last of them is gone."""
    made: list[JsonObject] = []
    watch = client.watch(JOBS, NAMESPACE, resource_version=version)
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(watch) as events:
        async for event in events:
            if event.object["metadata"].get("name") != name:
                continue
            if event.type is WatchEventType.ADDED:
                made.append(event.object)
            if event.type is WatchEventType.DELETED:
                break
    return made


async def test_kill_9_of_the_process_and_a_restart(cluster: LocalCluster) -> None:
    """First of all: those after it have the product's own controller away."""
    client = cluster.client
    async with Life(client, NAMESPACE, "crash-kill") as life:
        await client.create(
            APPWRAPPERS, NAMESPACE, appwrapper("crash-kill", job("crash-kill", run_for="1s"))
        )
        await life.until_phase("Resuming")
        await cluster.processes.stop("controller", patience=0)
        await cluster.processes.restart("controller")
        await life.until_phase("Succeeded")
        await client.delete(
            APPWRAPPERS, NAMESPACE, "crash-kill", uid=None, propagation=Propagation.BACKGROUND
        )
        await life.until_deleted()
        await life.check_the_promise_to_kueue()


# What one life writes. PodsReady may come with Running, so it has no moment of its own.
ON_THE_WAY = (
    "status Suspended",
    "patch appwrappers",  # the finalizer
    "status Resuming",
    "create jobs",
    "status Running",
    "status Succeeded",
)


@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("moment", ON_THE_WAY)
async def test_a_crash_on_the_way_to_success(
    client: KubeClient, moment: str, carried_out: bool
) -> None:
    name = name_of("crash", ON_THE_WAY.index(moment), carried_out)
    version = await _version(client)
    async with Life(client, NAMESPACE, name) as life:
        await client.create(APPWRAPPERS, NAMESPACE, appwrapper(name, job(name, 1, run_for="400ms")))
        await dies(client, moment, carried_out=carried_out)
        async with Successor(client):
            ended = await life.until_phase("Succeeded")
            assert ended["status"]["attempt"] == 1
            assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
            await life.check_the_promise_to_kueue()
            await client.delete(
                APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
            )
            await life.until_deleted()
        assert len(await jobs_made(client, name, version)) == 1


DURING_DELETION = (
    "status Terminating",
    "delete jobs",
    "status again",  # the conditions: everything is gone
    "patch appwrappers",  # the finalizer
)


@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("moment", DURING_DELETION)
async def test_a_crash_during_deletion(client: KubeClient, moment: str, carried_out: bool) -> None:
    name = name_of("crash-delete", DURING_DELETION.index(moment), carried_out)
    async with Life(client, NAMESPACE, name) as life:
        async with Successor(client):
            await client.create(
                APPWRAPPERS, NAMESPACE, appwrapper(name, job(name, 1, hang="running"))
            )
            await life.until(lambda item: "PodsReady" in true_conditions(item), "its pod running")
        await client.delete(
            APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )
        await dies(client, moment, carried_out=carried_out)
        async with Successor(client):
            await life.until_deleted()
        await life.check_the_promise_to_kueue()
    assert [
        job for job in await listed(client, JOBS, NAMESPACE) if job["metadata"]["name"] == name
    ] == []


async def _version(client: KubeClient) -> str:
    version = ""
    async for page in client.pages(JOBS, NAMESPACE):
        version = page.resource_version
    return version
