"""Wait for the end of an AppWrapper. I/O only."""

from collections.abc import Callable

from cli.cluster.connection import Cluster
from cli.cluster.watched import WatchedObjects
from cli.phases import ENDED
from cli.tasks import next_change
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, JsonObject


async def wait_for_end(
    cluster: Cluster, created: JsonObject, show: Callable[[JsonObject], None]
) -> JsonObject | None:
    """Return the AppWrapper once it has succeeded or failed; None if it is deleted.

    `show` receives each state. Raises Forbidden, Unauthorized.
    """
    asked, watched = AppWrapper(created), WatchedObjects(cluster)
    selector = f"metadata.name={asked.name}"
    informer = watched.add(APPWRAPPERS, lambda item: item, asked.namespace, field_selector=selector)
    show(created)
    async with watched.running():
        while True:
            await next_change(watched.changed, cluster.clock)
            watched.raise_refusal()
            present = informer.get(asked.namespace, asked.name)
            if present is None or AppWrapper(present).uid != asked.uid:
                return None
            show(present)
            if AppWrapper(present).status.get("phase") in ENDED:
                return present
