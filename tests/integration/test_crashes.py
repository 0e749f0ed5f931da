"""A controller that dies between any two of its writes, and the one that comes after it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from controller.main import Controller
from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from shared.config.configuration import Configuration
from shared.kube.client import KubeClient, Propagation, WatchEventType
from shared.kube.connect import connect
from shared.kube.resource import APPWRAPPERS, EVENTS, Resource
from tests.appwrapper_life import Life, appwrapper, job, listed, true_conditions

NAMESPACE = "team1"
JOBS = Resource("batch", "v1", "jobs", "Job")
WRITES = frozenset({"create", "update", "patch", "delete"})
CONFIGURATION = Configuration.model_validate(
    {"controllerManager": {"health": {"bindAddress": "0"}, "metrics": {"bindAddress": "0"}}}
)


class Crash(BaseException):
    """The process is gone. No handler of the product catches this."""


class CrashingClient:
    """The real client, until a write: then the process dies, before or after it was carried out."""

    def __init__(self, client: KubeClient, write: int, *, carried_out: bool) -> None:
        self._client = client
        self._write = write
        self._carried_out = carried_out
        self.written: list[str] = []

    def __getattr__(self, method: str) -> Any:
        real = getattr(self._client, method)
        if method not in WRITES:
            return real

        async def write(resource: Resource, *args: Any, **kwargs: Any) -> Any:
            if resource == EVENTS:
                return await real(resource, *args, **kwargs)
            if len(self.written) >= self._write:
                raise Crash  # everything stops at once
            self.written.append(f"{method} {resource.plural}")
            if len(self.written) == self._write:
                if self._carried_out:
                    await real(resource, *args, **kwargs)
                raise Crash
            return await real(resource, *args, **kwargs)

        return write


@pytest.fixture
async def client(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """The product's own controller is away meanwhile."""
    await cluster.processes.stop("controller")
    client = await connect(str(cluster.kubeconfig))
    try:
        yield client
    finally:
        await client.close()
        await cluster.processes.restart("controller")


async def dies(client: KubeClient, write: int, *, carried_out: bool) -> list[str]:
    """Runs a controller until its death; what it wrote."""
    crashing = CrashingClient(client, write, carried_out=carried_out)
    fatal: Any = crashing
    with pytest.raises(BaseException) as died:
        async with asyncio.timeout(20):
            await Controller(fatal, CONFIGURATION).run(asyncio.Event())
    assert _is_crash(died.value), died.value
    return crashing.written


def _is_crash(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_is_crash(each) for each in error.exceptions)
    return isinstance(error, Crash)


class Successor:
    """A controller that works until the end of the block."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def __aenter__(self) -> None:
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(Controller(self._client, CONFIGURATION).run(self._stop))

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        await self._task


async def jobs_made(life: Life, client: KubeClient, version: str) -> list[JsonObject]:
    """Every Job that was ever created for it since `version`."""
    made = []
    async with asyncio.timeout(10):
        async for event in client.watch(JOBS, NAMESPACE, resource_version=version):
            if event.type is WatchEventType.ADDED:
                made.append(event.object)
            if event.type is WatchEventType.DELETED:
                return made
    return made


# What one life takes: Suspended, finalizer, Resuming, the Job, Running (and PodsReady), Succeeded.
@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", range(1, 7))
async def test_a_crash_on_the_way_to_success(
    client: KubeClient, write: int, carried_out: bool
) -> None:
    name = f"crash-{write}-{'after' if carried_out else 'before'}"
    version = await _version(client)
    async with Life(client, NAMESPACE, name) as life:
        await client.create(APPWRAPPERS, NAMESPACE, appwrapper(name, job(name, 1, run_for="400ms")))
        await dies(client, write, carried_out=carried_out)
        async with Successor(client):
            ended = await life.until_phase("Succeeded")
            assert ended["status"]["attempt"] == 1
            assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
            life.check_the_promise_to_kueue()
            await client.delete(
                APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
            )
            await life.until_deleted()
        assert len(await jobs_made(life, client, version)) == 1


# Terminating, the Job's deletion, the conditions, the finalizer.
@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", range(1, 5))
async def test_a_crash_during_deletion(client: KubeClient, write: int, carried_out: bool) -> None:
    name = f"crash-delete-{write}-{'after' if carried_out else 'before'}"
    async with Life(client, NAMESPACE, name) as life:
        async with Successor(client):
            await client.create(
                APPWRAPPERS, NAMESPACE, appwrapper(name, job(name, 1, hang="running"))
            )
            await life.until(lambda item: "PodsReady" in true_conditions(item), "its pod running")
        await client.delete(
            APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )
        await dies(client, write, carried_out=carried_out)
        async with Successor(client):
            await life.until_deleted()
        life.check_the_promise_to_kueue()
    assert [
        job for job in await listed(client, JOBS, NAMESPACE) if job["metadata"]["name"] == name
    ] == []


async def test_kill_9_of_the_process_and_a_restart(cluster: LocalCluster) -> None:
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
        life.check_the_promise_to_kueue()


async def _version(client: KubeClient) -> str:
    version = ""
    async for page in client.list_pages(JOBS, NAMESPACE):
        version = page.resource_version
    return version
