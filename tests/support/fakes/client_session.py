"""A real client, its loopback server and its clock."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from shared.api.objects import PODS
from shared.kube.client import WatchEvent
from shared.kube.connection import Timeouts
from shared.kube.credentials import FixedCredential
from shared.kube.http_client import HttpKubeClient
from shared.kube.kubeconfig import Credentials
from shared.kube.requests import Request
from tests.support.fakes.api_server import ScriptedServer, scripted_server
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock


class Tokens:
    """An authorization source that returns one value after the other."""

    def __init__(self, *values: str) -> None:
        self.values = list(values)
        self.rejected: list[bool] = []

    def read(self, *, rejected: bool) -> str | None:
        self.rejected.append(rejected)
        return self.values.pop(0) if len(self.values) > 1 else self.values[0]


class Session:
    """A client, its server and its clock."""

    def __init__(self, server: ScriptedServer, client: HttpKubeClient, clock: FakeClock):
        self.server = server
        self.client = client
        self.clock = clock

    @property
    def sent(self) -> list[str]:
        return [f"{request.method} {request.target}" for request in self.server.received]

    async def watched(self) -> list[WatchEvent]:
        return [event async for event in self.client.watch(PODS, "ns", resource_version="5")]


@asynccontextmanager
async def opened(
    tokens: Tokens | None = None,
    timeouts: Timeouts | None = None,
    clock: FakeClock | None = None,
    permit: Callable[[Request], None] | None = None,
) -> AsyncIterator[Session]:
    clock = clock or ImpatientClock()
    async with scripted_server() as server:
        source = tokens or FixedCredential(None)
        client = HttpKubeClient(
            Credentials(server.url, FixedCredential(None), source),
            clock,
            user_agent="test/1",
            timeouts=timeouts,
            permit=permit,
        )
        try:
            yield Session(server, client, clock)
        finally:
            await client.close()
