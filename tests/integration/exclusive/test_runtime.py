"""The runtime, when the network, the API server or an admin takes something away."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from localcluster.access import kubeconfig as kubeconfigs
from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS
from shared.kube.client import KubeClient, Propagation
from shared.kube.connection import Timeouts
from shared.kube.http_client import HttpKubeClient
from shared.kube.informer import Informer
from shared.kube.kubeconfig import Credentials, load_credentials
from shared.process.clock import SystemClock
from shared.process.sources import Sources
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.jobs import job
from tests.support.cluster.controller_process import controller
from tests.support.cluster.life import Life, ends_well
from tests.support.cluster.stages import LONG
from tests.support.cluster.unreliable_proxy import UnreliableProxy
from tests.support.patience import PATIENCE_SECONDS
from tests.support.team import NAMESPACE

SELECTOR = "runtime-test=yes"
# The product's limits add up to 44 s; these to less than 5.
SHORT = Timeouts(request=2.0, connect=1.0, overtime=1.0)
SHORT_WATCH = 3.0


async def until(seen: Callable[[], bool], what: str) -> None:
    """Fails if it never comes true."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not seen():  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"never {what}") from None


class ConfigMaps:
    """A few ConfigMaps of a test, made and deleted behind the back of whoever watches them."""

    def __init__(self, client: KubeClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix
        self._left: set[str] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Removes what is left, or the next test would hear of it."""
        for name in tuple(self._left):
            await self.delete(name)

    async def create(self, name: str) -> None:
        self._left.add(name)
        metadata = {"name": f"{self._prefix}-{name}", "labels": {"runtime-test": "yes"}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        await self._client.create(CONFIGMAPS, NAMESPACE, body)

    async def delete(self, name: str) -> None:
        self._left.discard(name)
        await self._client.delete(
            CONFIGMAPS,
            NAMESPACE,
            f"{self._prefix}-{name}",
            uid=None,
            propagation=Propagation.BACKGROUND,
        )


class Watcher:
    """An informer of these ConfigMaps, and which it has heard of, in order."""

    def __init__(self, informer: Informer[str], prefix: str) -> None:
        self.informer = informer
        self._prefix = prefix
        self.heard: list[str] = []
        informer.add_handler(
            lambda change: self.heard.append(
                f"{'-' if change.new is None else '+'}{change.key[1].removeprefix(prefix + '-')}"
            )
        )

    async def hears(self, *changes: str) -> None:
        """Waits for these changes; together with all before them they are all there are."""
        await until(lambda: set(changes) <= set(self.heard), f"heard of {changes}: {self.heard}")


@asynccontextmanager
async def watching(credentials: Credentials, prefix: str) -> AsyncIterator[Watcher]:
    clock = SystemClock()
    client = HttpKubeClient(credentials, clock, user_agent="runtime-test/1", timeouts=SHORT)
    informer: Informer[str] = Informer(
        client,
        CONFIGMAPS,
        transform=lambda raw: str(raw["metadata"]["name"]),
        sources=Sources.of_the_machine(),
        namespace=NAMESPACE,
        label_selector=SELECTOR,
        watch_seconds=SHORT_WATCH,
    )
    watcher = Watcher(informer, prefix)
    running = asyncio.create_task(informer.run())
    try:
        yield watcher
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await client.close()


def through(proxy: UnreliableProxy, cluster: LocalCluster) -> Credentials:
    """The administrator's, over the proxy."""
    return replace(load_credentials(str(cluster.kubeconfig)), server=proxy.url)


@asynccontextmanager
async def open_connections_lost(proxy: UnreliableProxy) -> AsyncIterator[None]:
    proxy.lose_connections()
    assert proxy.held > 0
    yield


@asynccontextmanager
async def all_connections_lost(proxy: UnreliableProxy) -> AsyncIterator[None]:
    proxy.swallow()
    seen = proxy.accepted
    yield
    await until(lambda: proxy.accepted > seen, "tried a new connection while none leads anywhere")
    proxy.heal()


@asynccontextmanager
async def server_away(proxy: UnreliableProxy) -> AsyncIterator[None]:
    await proxy.refuse()
    yield
    await asyncio.sleep(1)  # long enough to be refused more than once
    await proxy.accept()


@pytest.mark.parametrize(
    ("failure", "prefix"),
    [
        pytest.param(open_connections_lost, "lost", id="open connections lead nowhere"),
        pytest.param(all_connections_lost, "swallowed", id="new ones neither"),
        pytest.param(server_away, "refused", id="the server is away"),
    ],
)
async def test_a_watch_that_got_lost_is_noticed_and_misses_nothing(
    cluster: LocalCluster,
    failure: Callable[[UnreliableProxy], AbstractAsyncContextManager[None]],
    prefix: str,
) -> None:
    async with (
        ConfigMaps(cluster.client, prefix) as maps,
        UnreliableProxy(cluster.access.server) as proxy,
        watching(through(proxy, cluster), prefix) as watcher,
    ):
        await maps.create("listed")
        await watcher.hears("+listed")
        # Only a watch can tell this one, so there is one to get lost. The other was in the list.
        await maps.create("before")
        await watcher.hears("+before")
        connections = proxy.accepted
        async with failure(proxy):
            await maps.create("meanwhile")
            await maps.delete("before")
            # On a busy machine this takes as long as it takes to notice that a watch leads nowhere.
            noticed = failure is open_connections_lost and proxy.accepted > connections
            assert noticed or watcher.heard == ["+listed", "+before"]
        await watcher.hears("+meanwhile", "-before")
        await maps.delete("meanwhile")
        await watcher.hears("-meanwhile")
        assert watcher.heard == ["+listed", "+before", "+meanwhile", "-before", "-meanwhile"]


async def test_a_token_that_is_void_is_waited_for_until_its_file_is_replaced(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    real = load_credentials(
        str(await cluster.service_account_kubeconfig("appwrapper-system", "appwrapper-controller"))
    )
    header = real.authorization.read(rejected=False)
    assert header is not None
    token = tmp_path / "token"
    token.write_text("void")
    file = kubeconfigs.write(
        tmp_path / "kubeconfig",
        server=cluster.access.server,
        authority=cluster.access.authority,
        user=kubeconfigs.with_token_file(token),
    )
    clock = SystemClock()
    client = HttpKubeClient(load_credentials(str(file)), clock, user_agent="runtime-test/1")
    informer: Informer[str] = Informer(
        client,
        APPWRAPPERS,
        transform=lambda raw: str(raw["metadata"]["name"]),
        sources=Sources.of_the_machine(),
    )
    running = asyncio.create_task(informer.run())
    try:
        await until(lambda: informer._backoff.failures(None) >= 2, "was refused twice")
        assert not informer.synced
        token.write_text(header.removeprefix("Bearer "))
        await until(lambda: informer.synced, "listed under the new token")
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await client.close()


async def test_a_process_waits_for_the_api_server_and_survives_its_absence(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(UnreliableProxy(cluster.access.server))
        await proxy.refuse()  # before the process starts: it may be quick
        process = await stack.enter_async_context(controller(cluster, tmp_path, proxy.url))
        await process.becomes("/healthz")
        await until(lambda: process.output.count("again in") >= 2, "tried twice")
        assert not await process.is_ready()
        await proxy.accept()
        await process.becomes("/readyz")
        await proxy.refuse()
        before = process.output.count("again in")
        await until(lambda: process.output.count("again in") >= before + 2, "lost it again")
        await process.becomes("/readyz")  # its caches are filled; they may be a little old
        process.child.signal(signal.SIGTERM)
        assert await process.ended() == 0
        assert "Traceback" not in process.output


async def test_sigterm_while_nothing_answers_ends_the_process_well(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    async with (
        UnreliableProxy(cluster.access.server) as proxy,
        controller(cluster, tmp_path, proxy.url) as process,
    ):
        proxy.swallow()
        await process.becomes("/healthz")
        await until(lambda: proxy.held > 0, "waits for an answer")
        process.child.signal(signal.SIGTERM)
        assert await process.ended() == 0
        assert "SIGTERM: finishing what is running" in process.output
        assert "Traceback" not in process.output


async def test_sigterm_in_the_middle_of_a_burst_loses_nothing(cluster: LocalCluster) -> None:
    """What is in hand is finished, nothing new is begun, and the next process goes on."""
    names = [f"sigterm-{number}" for number in range(20)]
    client = cluster.client
    old = cluster.processes["controller"]
    logged_before = old.log.stat().st_size
    async with Life(client, NAMESPACE, names[-1]) as last:
        for name in names:
            body = appwrapper(name, job(name, 1, run_for="300ms"), annotations=LONG)
            await client.create(APPWRAPPERS, NAMESPACE, body)
        await last.until(lambda item: phase(item) != "", "its first status")
        await cluster.processes.stop("controller", patience=PATIENCE_SECONDS)
        assert old.child.exit_code == 0
        logged = old.log.read_bytes()[logged_before:].decode()
        assert "Traceback" not in logged
        assert '"level":"error"' not in logged.replace(" ", "")
        await cluster.processes.restart("controller")
        for name in names:
            await ends_well(client, NAMESPACE, name)
    for name in names:
        await client.delete(
            APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )
