"""A TCP proxy that stands in for a Service: it sends new connections to ready replicas only."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import httpx

from localcluster.cluster import LocalCluster
from localcluster.machine.ports import HOST
from shared.kube.client import KubeError, PatchType
from tests.support.cluster.webhook_certificates import BOTH, configuration, create
from tests.support.patience import comes_to

# Seconds. A drain period must be longer, as in a cluster with kube-proxy.
_PROBE_PERIOD = 0.05
# Seconds until the last call of the API server has ended.
_LATEST_CALL = 0.5


class ServiceProxy:
    """Spreads connections over the replicas whose /readyz is 200, in turn.

    If a replica refuses a connection, the client's request fails, as behind kube-proxy. Tests that
    kill a replica set `tries_others`, because the probe notices the end a moment later.
    """

    def __init__(self) -> None:
        self.tries_others = False
        self.refused = 0  # connections
        self._ready: dict[int, bool] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self.received = 0  # grows with each connection, and with all that clients send

    async def add(self, port: int) -> None:
        """Makes the webhook at this port a replica; returns once it is ready."""
        self._ready[port] = False
        await self.sends_to(port)

    async def sends_to(self, port: int) -> None:
        """Waits until the replica at this port is ready."""

        async def is_ready() -> bool:
            return self._ready[port]

        await comes_to(is_ready, True)

    async def probe(self) -> None:
        """Follows the readiness of all replicas until cancelled."""
        async with httpx.AsyncClient(verify=False) as http:
            while True:
                for port in list(self._ready):
                    try:
                        answer = await http.get(f"https://{HOST}:{port}/readyz")
                        self._ready[port] = answer.status_code == 200
                    except httpx.TimeoutException:
                        pass  # a kubelet waits for more than one late answer
                    except httpx.TransportError:
                        self._ready[port] = False
                await asyncio.sleep(_PROBE_PERIOD)

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connects a client with the next ready replica, until one side closes."""
        self._count()
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            await self._connect(reader, writer)
        finally:
            writer.close()

    def cut(self) -> None:
        """Ends all connections."""
        for task in self._connections:
            task.cancel()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for port in [each for each, ready in self._ready.items() if ready]:
            self._ready[port] = self._ready.pop(port)  # the last in turn
            try:
                from_replica, to_replica = await asyncio.open_connection(HOST, port)
                break
            except ConnectionRefusedError:
                self.refused += 1
                if not self.tries_others:
                    return
        else:
            return
        try:
            await asyncio.gather(
                _copy(reader, to_replica, self._count), _copy(from_replica, writer)
            )
        finally:
            to_replica.close()

    def _count(self) -> None:
        self.received += 1


async def _copy(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    heard: Callable[[], None] = lambda: None,
) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(65536):
            heard()
            writer.write(chunk)
            await writer.drain()
    writer.close()


def port_of_webhook(cluster: LocalCluster) -> int:
    """Returns the port of the cluster's own webhook."""
    return int(cluster.processes["webhook"].spec.address.rpartition(":")[2])


@asynccontextmanager
async def behind_a_service(cluster: LocalCluster) -> AsyncIterator[ServiceProxy]:
    """Lets the API server call the webhook through a proxy, as its Service would lead there."""
    own = port_of_webhook(cluster)
    proxy = ServiceProxy()
    server = await asyncio.start_server(proxy.connect, HOST, 0)
    probing = asyncio.create_task(proxy.probe())
    try:
        await _call(cluster, server.sockets[0].getsockname()[1])
        yield proxy
    finally:
        await _call(cluster, own)
        await _until_not_called(cluster, proxy)
        await asyncio.sleep(_LATEST_CALL)
        probing.cancel()
        server.close()
        proxy.cut()


async def _call(cluster: LocalCluster, port: int) -> None:
    """Makes the API server call this port for each webhook of both configurations."""
    for resource, name in BOTH.items():
        entries = (await configuration(cluster, resource))["webhooks"]
        path = "/webhooks/{}/clientConfig/service/port"
        operations = [
            {"op": "add", "path": path.format(index), "value": port}
            for index in range(len(entries))
        ]
        await cluster.client.patch(resource, None, name, operations, PatchType.JSON)


async def _until_not_called(cluster: LocalCluster, proxy: ServiceProxy) -> None:
    """Waits until the API server has read both configurations: a create goes past the proxy."""

    async def goes_past() -> bool:
        before = proxy.received
        with suppress(KubeError):  # a test may have stopped the cluster's own webhook
            await create(cluster)
        return proxy.received == before

    await comes_to(goes_past, True)
