"""Creates objects through the API server, several at once, and times each."""

import asyncio
import time
from collections.abc import Sequence

from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient

AT_ONCE = 16


async def create_all(
    client: KubeClient, resource: Resource, documents: Sequence[JsonObject], at_once: int = AT_ONCE
) -> list[float]:
    """Returns milliseconds from request to answer, one per object. Raises KubeError for a
    refusal.
    """
    latencies: list[float] = []
    remaining = iter(documents)

    async def creator() -> None:
        for document in remaining:
            began = time.perf_counter()
            await client.create(resource, document["metadata"].get("namespace"), document)
            latencies.append((time.perf_counter() - began) * 1_000)

    tasks = [asyncio.create_task(creator()) for _ in range(min(at_once, len(documents)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return latencies
