"""Deletes an object that may be there."""

from contextlib import suppress

from shared.api.objects import Resource
from shared.kube.client import KubeClient, NotFound, Propagation
from tests.support.cluster.life import exists
from tests.support.patience import comes_to


async def removed(client: KubeClient, resource: Resource, namespace: str | None, name: str) -> None:
    """Returns when no object of that name is left."""
    with suppress(NotFound):
        await client.delete(resource, namespace, name, uid=None, propagation=Propagation.BACKGROUND)
        await comes_to(lambda: exists(client, resource, namespace, name), False)
