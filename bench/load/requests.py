"""Sends requests to the API server, 16 at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

from bench.objects import NAMESPACE
from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient, NotFound, Propagation

AT_ONCE = 16
_Item = TypeVar("_Item")


async def for_each(items: Iterable[_Item], send: Callable[[_Item], Awaitable[None]]) -> None:
    """Sends for each item, in their order, 16 at once. The first error ends it."""
    remaining = iter(items)

    async def sender() -> None:
        for item in remaining:
            await send(item)

    tasks = [asyncio.create_task(sender()) for _ in range(AT_ONCE)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def create_all(
    client: KubeClient, resource: Resource, documents: Sequence[JsonObject]
) -> list[float]:
    """Returns milliseconds from request to answer, one per object. Raises KubeError."""
    latencies: list[float] = []

    async def create(document: JsonObject) -> None:
        began = time.perf_counter()
        await client.create(resource, document["metadata"].get("namespace"), document)
        latencies.append((time.perf_counter() - began) * 1_000)

    await for_each(documents, create)
    return latencies


async def delete_all(
    client: KubeClient,
    resource: Resource,
    names: Sequence[str],
    namespace: str | None = NAMESPACE,
) -> None:
    """Deletes objects as kubectl does; returns once each delete is accepted.

    An object that is gone already counts as deleted. Raises KubeError for a refusal.
    """

    async def delete(name: str) -> None:
        with suppress(NotFound):
            await client.delete(
                resource, namespace, name, uid=None, propagation=Propagation.BACKGROUND
            )

    await for_each(names, delete)
