"""Wait for the end of an AppWrapper. I/O only."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from cli.cluster.connection import Cluster
from cli.cluster.silent_informers import silent_informers
from cli.logs.pumps import one_error
from cli.phases import ENDED
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Forbidden, KubeError, Unauthorized
from shared.kube.informer import Informer
from shared.process.sources import Sources

# A watch of days outlives many API servers: the informer repeats all other failures.
_FINAL = (Forbidden, Unauthorized)


async def wait_for_end(
    cluster: Cluster, created: JsonObject, show: Callable[[JsonObject], None]
) -> JsonObject | None:
    """Return the AppWrapper once it has succeeded or failed; None if it is deleted.

    `show` receives each state. Raises KubeError if the user may not watch it.
    """
    asked, changed = AppWrapper(created), asyncio.Event()
    failures: list[KubeError] = []

    def failed(error: KubeError) -> None:
        if isinstance(error, _FINAL):
            failures.append(error)
            changed.set()

    informer: Informer[JsonObject] = Informer(
        cluster.client,
        APPWRAPPERS,
        transform=lambda item: item,
        sources=replace(Sources.of_the_machine(), clock=cluster.clock),
        namespace=asked.namespace,
        field_selector=f"metadata.name={asked.name}",
        failed=failed,
    )
    informer.add_handler(lambda _: changed.set())
    show(created)
    with silent_informers():
        async with one_error() as tasks:
            watching = tasks.create_task(informer.run())
            synced = tasks.create_task(informer.wait_synced())
            synced.add_done_callback(lambda _: changed.set())
            try:
                while True:
                    await changed.wait()
                    changed.clear()
                    if failures:
                        raise failures[0]
                    present = informer.get(asked.namespace, asked.name)
                    if present is None or AppWrapper(present).uid != asked.uid:
                        return None
                    show(present)
                    if AppWrapper(present).status.get("phase") in ENDED:
                        return present
            finally:
                for task in (watching, synced):
                    task.cancel()
