"""Follows the changes of a Kind's objects, over as many watches as it takes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from shared.api.objects import Resource
from shared.kube.client import (
    ApiError,
    KubeClient,
    KubeError,
    Unreachable,
    WatchEvent,
    WatchEventType,
)
from tests.support.patience import LOOK_EVERY_SECONDS


async def changes(
    client: KubeClient,
    resource: Resource,
    namespace: str,
    *,
    resource_version: str,
    label_selector: str = "",
) -> AsyncGenerator[WatchEvent, None]:
    """Yields each change after that version once, until it is closed; leave it with `aclosing`.

    The API server ends each watch after some minutes, and before that one that does not keep up
    with a burst, perhaps in the middle of an event. A busy one begins none at first.
    """
    version = resource_version
    while True:
        stream = client.watch(
            resource, namespace, resource_version=version, label_selector=label_selector
        )
        try:
            async with aclosing(stream):
                async for event in stream:
                    version = event.object["metadata"]["resourceVersion"]
                    if event.type is not WatchEventType.BOOKMARK:
                        yield event
        except KubeError as error:
            if not _passes(error):
                raise
        await asyncio.sleep(LOOK_EVERY_SECONDS)


def _passes(error: KubeError) -> bool:
    """True if the API server is away, or busy."""
    if isinstance(error, ApiError):
        return error.status == 429 or error.status >= 500
    return isinstance(error, Unreachable)
