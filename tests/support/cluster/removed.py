"""Deletes an object that may be there."""

from contextlib import suppress

from shared.api.objects import Resource
from shared.kube.client import KubeClient, NotFound, Propagation
from tests.support.cluster.life import exists
from tests.support.patience import PATIENCE_SECONDS, comes_to

# A namespace goes after all that is in it, which are thousands of objects after a whole run.
_SECONDS = 3 * PATIENCE_SECONDS


async def removed(client: KubeClient, resource: Resource, namespace: str | None, name: str) -> None:
    """Returns when no object of that name is left."""
    with suppress(NotFound):
        await client.delete(resource, namespace, name, uid=None, propagation=Propagation.BACKGROUND)
        await comes_to(lambda: exists(client, resource, namespace, name), False, _SECONDS)
