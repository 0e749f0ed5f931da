"""Create nodes that run nothing, and send the heartbeats of their kubelets."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Self

from bench.errors import BenchError
from bench.load.requests import AT_ONCE, create_all, delete_all
from shared.api.objects import LEASES, NODES, JsonObject
from shared.api.times import format_precise_time, format_time
from shared.kube.client import KubeClient, KubeError, PatchType
from shared.process.clock import SystemClock

_LEASES_OF_NODES: Final = "kube-node-lease"
# A kubelet renews its lease every 10 s; its node counts as dead after 40 s. Neither operator reads
# leases, so fewer are sent: the machine has less to do.
_LEASE_SECONDS: Final = 25.0
# Images and labels make a node as large as in a real cluster: the kubelet reports 50 images, device
# plugins and feature discovery write labels.
_IMAGES: Final = 50
_LABELS: Final = 60
_DIGEST: Final = "sha256:" + "0123456789abcdef" * 4
_SOUND: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
_LABEL: Final = "bench.localcluster.dev/bystander"
_TAINT: Final = {"key": _LABEL, "effect": "NoSchedule"}
_READS: Final = 60


class Kubelets:
    """`async with Kubelets(client, 2_000) as kubelets:` adds that many nodes, all Ready.

    They take no pods. Their leases are renewed all the time, their statuses only inside
    `reporting`. Entering ends when two lists of the nodes, `pause_seconds` apart, are equal.
    """

    def __init__(self, client: KubeClient, count: int, *, pause_seconds: float = 3.0) -> None:
        self._client = client
        self._pause_seconds = pause_seconds
        self._clock = SystemClock()
        self._names = [f"bystander-{number}" for number in range(count)]
        self.reports = 0
        """Number of statuses that were sent."""

    async def __aenter__(self) -> Self:
        """Create the nodes, and wait until their writes end. Raise KubeError, BenchError."""
        await create_all(self._client, LEASES, [_lease(name) for name in self._names])
        # Leases are renewed before the nodes exist: creating all nodes may take so long that the
        # first would count as dead.
        self._leases = asyncio.create_task(self._evenly(_LEASE_SECONDS, self._renew))
        now = format_time(self._clock.now())
        try:
            await create_all(self._client, NODES, [node(name, now) for name in self._names])
            await self._until_at_rest()
        except BaseException:
            await _end(self._leases)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Delete the nodes. Raise KubeError, or BenchError if a lease could not be renewed."""
        try:
            await _end(self._leases)
        finally:
            await delete_all(self._client, LEASES, self._names, _LEASES_OF_NODES)
            await delete_all(self._client, NODES, self._names, None)

    @asynccontextmanager
    async def reporting(self, seconds: float) -> AsyncIterator[None]:
        """Inside the context, send each node's status once in so many seconds, evenly spread.

        Raise BenchError if a status could not be sent.
        """
        task = asyncio.create_task(self._evenly(seconds, self._report))
        try:
            yield
        finally:
            await _end(task)

    async def _evenly(self, seconds: float, send: Callable[[str], Awaitable[None]]) -> None:
        """Send until cancelled; on a slow machine as fast as it can."""
        slots = asyncio.Semaphore(AT_ONCE)
        began = self._clock.monotonic()

        async def one(name: str) -> None:
            try:
                await send(name)
            finally:
                slots.release()

        async with asyncio.TaskGroup() as group:
            for number, name in enumerate(itertools.cycle(self._names)):
                due = began + number * seconds / len(self._names)
                await self._clock.sleep(max(0.0, due - self._clock.monotonic()))
                await slots.acquire()
                group.create_task(one(name))

    async def _until_at_rest(self) -> None:
        """Wait until the controller manager has annotated the nodes and removed taints."""
        before: dict[str, str] = {}
        for _ in range(_READS):
            pages = self._client.pages(NODES, label_selector=_LABEL, metadata_only=True)
            now = {
                each["metadata"]["name"]: each["metadata"]["resourceVersion"]
                async for page in pages
                for each in page.items
            }
            if now == before and len(now) == len(self._names):
                return
            before = now
            await self._clock.sleep(self._pause_seconds)
        raise BenchError(f"{len(self._names)} nodes do not come to rest on this machine.")

    async def _report(self, name: str) -> None:
        status = {"status": {"conditions": _conditions(format_time(self._clock.now()))}}
        await self._client.patch(NODES, None, name, status, PatchType.MERGE, subresource="status")
        self.reports += 1

    async def _renew(self, name: str) -> None:
        spec = {"spec": {"renewTime": format_precise_time(self._clock.now())}}
        await self._client.patch(LEASES, _LEASES_OF_NODES, name, spec, PatchType.MERGE)


async def _end(task: asyncio.Task[None]) -> None:
    """Raise BenchError if one of the task's requests failed."""
    task.cancel()
    try:
        with suppress(asyncio.CancelledError):
            await task
    except* KubeError as failures:
        first = failures.exceptions[0]
        raise BenchError(f"A heartbeat of a node could not be sent: {first}") from failures


def node(name: str, now: str) -> JsonObject:
    """Return a node of 8 GPUs that takes no pods, about as large as those of a real cluster."""
    amounts = {"cpu": "80", "memory": "1100Gi", "nvidia.com/gpu": "8", "pods": "250"}
    labels = {f"feature.bench.localcluster.dev/f{number}": "true" for number in range(_LABELS)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, _LABEL: "", **labels},
        },
        "spec": {"taints": [_TAINT]},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": _conditions(now),
            "images": [_image(number) for number in range(_IMAGES)],
        },
    }


def _image(number: int) -> JsonObject:
    name = f"registry.example/training/image-{number}"
    return {"names": [f"{name}@{_DIGEST}", f"{name}:v1"], "sizeBytes": 8_000_000_000}


def _conditions(now: str) -> list[JsonObject]:
    statuses = {**dict.fromkeys(_SOUND, "False"), "Ready": "True"}
    return [
        {
            "type": kind,
            "status": status,
            "reason": "Kubelet",
            "lastHeartbeatTime": now,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind, status in statuses.items()
    ]


def _lease(name: str) -> JsonObject:
    return {
        "apiVersion": LEASES.gvk.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": name, "namespace": _LEASES_OF_NODES},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40},
    }
