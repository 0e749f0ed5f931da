"""Write `active` of a Workload: Kueue removes an inactive one from its queue."""

from contextlib import suppress

from controller.phases.snapshot import OwnWorkload
from shared.api.names import ANNOTATION_DEACTIVATED
from shared.api.objects import JsonObject
from shared.kube.client import Conflict, KubeClient, NotFound, PatchType
from shared.waits.workload import WORKLOADS


async def activate(
    client: KubeClient, namespace: str, workload: OwnWorkload, *, active: bool
) -> None:
    """Set `active` of the version that the decision is based on. Raises KubeError.

    The annotation records in the same request that the controller did it: a Workload that an admin
    deactivated never gets it. If the Workload has changed or is gone, write nothing: the next pass
    decides.
    """
    body: JsonObject = {
        "metadata": {
            "uid": workload.uid,
            "resourceVersion": workload.version,
            "annotations": {ANNOTATION_DEACTIVATED: "false" if active else "true"},
        },
        "spec": {"active": active},
    }
    with suppress(Conflict, NotFound):
        await client.patch(WORKLOADS, namespace, workload.name, body, PatchType.MERGE)
