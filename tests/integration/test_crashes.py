"""A controller that dies between any two of its writes, and the one that comes after it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from controller.main import Controller
from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from shared.config.configuration import Configuration
from shared.kube.client import KubeClient, Propagation, WatchEventType
from shared.kube.connect import connect
from shared.kube.resource import APPWRAPPERS, EVENTS, Resource
from tests.appwrapper_life import PATIENCE_SECONDS, Life, appwrapper, job, listed, true_conditions

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

    def __init__(self, client: KubeClient, moment: str, *, carried_out: bool) -> None:
        self._client = client
        self._moment = moment
        self._carried_out = carried_out
        self._phase = ""
        self._dead = False
        self.written: list[str] = []

    def __getattr__(self, method: str) -> Any:
        real = getattr(self._client, method)
        if method not in WRITES:
            return real

        async def write(resource: Resource, *args: Any, **kwargs: Any) -> Any:
            if resource == EVENTS:
                return await real(resource, *args, **kwargs)
            if self._dead:
                raise Crash  # everything stops at once
            self.written.append(self._described(method, resource, args, kwargs))
            if self.written[-1] == self._moment:
                self._dead = True
                if self._carried_out:
                    await real(resource, *args, **kwargs)
                raise Crash
            return await real(resource, *args, **kwargs)

        return write

    def _described(
        self, method: str, resource: Resource, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str:
        """`create jobs`, `status Running`, `status again` (the same phase), `patch appwrappers`."""
        if kwargs.get("subresource") != "status":
            return f"{method} {resource.plural}"
        phase = args[2]["status"]["phase"]
        changed, self._phase = phase != self._phase, phase
        return f"status {phase}" if changed else "status again"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """The product's own controller is away from the first test that asks for it to the last."""
    await cluster.processes.stop("controller")
    client = await connect(str(cluster.kubeconfig))
    try:
        yield client
    finally:
        await client.close()
        await cluster.processes.restart("controller")


async def dies(client: KubeClient, moment: str, *, carried_out: bool) -> list[str]:
    """Runs a controller until its death; what it wrote."""
    crashing = CrashingClient(client, moment, carried_out=carried_out)
    fatal: Any = crashing
    with pytest.raises(BaseException) as died:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await Controller(fatal, CONFIGURATION).run(asyncio.Event())
    assert _is_crash(died.value), (died.value, crashing.written)
    return crashing.written


def _is_crash(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_is_crash(each) for each in error.exceptions)
    return isinstance(error, Crash)


def name_of(test: str, moment: int, carried_out: bool) -> str:
    return f"{test}-{moment}-{'after' if carried_out else 'before'}"


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
    async for page in client.list_pages(JOBS, NAMESPACE):
        version = page.resource_version
    return version
