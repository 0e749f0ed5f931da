"""Deletes objects through the API server, several at once."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from bench.load.creations import AT_ONCE
from bench.objects import NAMESPACE
from shared.api.objects import Resource
from shared.kube.client import KubeClient, NotFound, Propagation


async def delete_all(
    client: KubeClient,
    resource: Resource,
    names: Sequence[str],
    namespace: str | None = NAMESPACE,
) -> None:
    """Deletes objects as kubectl does; returns once each delete is accepted.

    An object that is gone already counts as deleted. Raises KubeError for a refusal.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> None:
        async with slots:
            with suppress(NotFound):
                await client.delete(
                    resource, namespace, name, uid=None, propagation=Propagation.BACKGROUND
                )

    await asyncio.gather(*map(one, names))
