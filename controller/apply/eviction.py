"""Make Kueue evict a Workload, so that Kueue assigns other nodes."""

from contextlib import suppress
from datetime import datetime
from typing import Final

from controller.phases.snapshot import Misplacement
from shared.api.objects import JsonObject
from shared.api.times import format_time
from shared.kube.client import Conflict, KubeClient, NotFound, PatchType
from shared.waits.workload import EVICTED, WORKLOADS

# Only this one condition is applied under this name.
FIELD_MANAGER: Final = "appwrapper-controller-eviction"
# Kueue's own reason for failed nodes. With this reason Kueue keeps the Workload's queue position.
_REASON: Final = "NodeFailures"


async def evict(client: KubeClient, namespace: str, found: Misplacement, now: datetime) -> None:
    """Write the condition Evicted to the version of the Workload that the decision is based on.

    If the Workload has changed or is gone, write nothing: the next pass decides.
    Raises KubeError. Kueue sets the condition to False when it admits the Workload again.
    """
    condition: JsonObject = {
        "type": EVICTED,
        "status": "True",
        "reason": _REASON,
        "message": found.message,
        "lastTransitionTime": format_time(now),
    }
    body: JsonObject = {
        "apiVersion": WORKLOADS.gvk.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "namespace": namespace,
            "name": found.workload,
            "uid": found.uid,
            "resourceVersion": found.version,
        },
        "status": {"conditions": [condition]},
    }
    with suppress(Conflict, NotFound):
        await client.patch(
            WORKLOADS,
            namespace,
            found.workload,
            body,
            PatchType.APPLY,
            subresource="status",
            field_manager=FIELD_MANAGER,
            force=True,
        )
