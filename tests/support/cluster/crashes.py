"""Runs controllers that die at a chosen write, and their successors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.replica import Replica
from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, EVENTS, Resource
from shared.config.configuration import Configuration
from shared.kube.client import KubeClient
from shared.kube.http_client import connect
from shared.process.sources import Sources
from tests.support.patience import PATIENCE_SECONDS

WRITES = frozenset({"create", "update", "patch", "delete"})
CONFIGURATION = Configuration.model_validate(
    {"controllerManager": {"health": {"bindAddress": "0"}, "metrics": {"bindAddress": "0"}}}
)


class Crash(BaseException):
    """Ends the process. No handler of the product catches this."""


class CrashingClient:
    """The real client, until a write: then the process dies, before or after the write."""

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
        """Formats `create jobs`, `status Running`, `status again` (same phase), `patch
        appwrappers`.
        """
        if kwargs.get("subresource") != "status" or resource != APPWRAPPERS:
            return f"{method} {resource.plural}"
        phase = args[2]["status"]["phase"]
        changed, self._phase = phase != self._phase, phase
        return f"status {phase}" if changed else "status again"


@asynccontextmanager
async def controller_away(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """Stops the product's own controller; yields a client for its replacement."""
    await cluster.processes.stop("controller")
    client = await connect(str(cluster.kubeconfig))
    try:
        yield client
    finally:
        await client.close()
        await cluster.processes.restart("controller")


async def dies(client: KubeClient, moment: str, *, carried_out: bool) -> list[str]:
    """Runs a controller until its death; returns its writes."""
    crashing = CrashingClient(client, moment, carried_out=carried_out)
    fatal: Any = crashing
    controller = Replica(fatal, CONFIGURATION, sources=Sources.of_the_machine())
    with pytest.raises(BaseException) as died:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await controller.run(asyncio.Event())
    assert _is_crash(died.value), (died.value, crashing.written)
    return crashing.written


def _is_crash(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_is_crash(each) for each in error.exceptions)
    return isinstance(error, Crash)


def name_of(test: str, moment: int, carried_out: bool) -> str:
    return f"{test}-{moment}-{'after' if carried_out else 'before'}"


class Successor:
    """A controller that runs until the end of the block."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def __aenter__(self) -> None:
        self._stop = asyncio.Event()
        controller = Replica(self._client, CONFIGURATION, sources=Sources.of_the_machine())
        self._task = asyncio.create_task(controller.run(self._stop))

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        await self._task
