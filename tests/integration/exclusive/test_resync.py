"""What no watch told of is found all the same, a while later, and counted as a repair."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from controller.main import Controller
from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS
from shared.config.configuration import Configuration
from shared.kube.client import KubeClient, Propagation
from shared.kube.http_client import connect
from shared.process.sources import Sources
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.life import Life
from tests.support.team import NAMESPACE

CONFIGURATION = Configuration.model_validate(
    {"controllerManager": {"health": {"bindAddress": "0"}, "metrics": {"bindAddress": "0"}}}
)


@pytest.fixture
async def client(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[KubeClient]:
    """The product's own controller is away meanwhile, and ten minutes are one second."""
    monkeypatch.setattr("controller.runtime.worker.RESYNC", timedelta(seconds=1))
    await cluster.processes.stop("controller")
    client = await connect(str(cluster.kubeconfig))
    try:
        yield client
    finally:
        await client.close()
        await cluster.processes.restart("controller")


def make_deaf(controller: Controller) -> None:
    """It hears of each AppWrapper once, and of nothing that happens to it afterwards."""
    heard: set[tuple[str, str]] = set()
    queue = controller._queue
    add = queue.add

    def add_once(key: tuple[str, str]) -> None:
        if key not in heard:
            heard.add(key)
            add(key)

    queue.add = add_once  # type: ignore[method-assign]


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(controller.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


@pytest.mark.parametrize("deaf", [True, False], ids=["a deaf one", "one that hears everything"])
async def test_a_controller_brings_a_life_to_its_end_and_tells_what_it_had_missed(
    client: KubeClient, deaf: bool
) -> None:
    controller = Controller(client, CONFIGURATION, sources=Sources.of_the_machine())
    if deaf:
        make_deaf(controller)
    name = f"resync-{'deaf' if deaf else 'hears'}"
    async with Life(client, NAMESPACE, name) as life, running(controller):
        body = appwrapper(name, job(name, 2, run_for="2s"))
        await client.create(APPWRAPPERS, NAMESPACE, body)
        await life.until_phase("Succeeded")
        await client.delete(
            APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )
        await life.until_deleted()
        await life.check_the_promise_to_kueue()
    repairs = controller._metrics.registry.get_sample_value("appwrapper_resync_repairs_total")
    assert repairs is not None
    if deaf:
        # Kueue's start, the pods' end and the deletion at least.
        assert repairs >= 3
    else:
        assert repairs == 0
