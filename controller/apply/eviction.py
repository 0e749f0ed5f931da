"""Asks Kueue to take a workload's quota back and to assign its nodes anew."""

from contextlib import suppress
from datetime import datetime
from typing import Final

from controller.phases.actions import EvictWorkload
from shared.api.objects import JsonObject
from shared.api.times import format_time
from shared.kube.client import Conflict, KubeClient, NotFound, PatchType
from shared.waits.workload import EVICTED, WORKLOADS

# Nothing but this one condition is ever applied under this name.
FIELD_MANAGER: Final = "appwrapper-controller-eviction"
# Kueue's own reason for the same. It keeps the workload's place in the queue.
_REASON: Final = "NodeFailures"


async def evict(client: KubeClient, namespace: str, wanted: EvictWorkload, now: datetime) -> None:
    """Write the condition Evicted of the very version of the Workload that was looked at.

    Where there is another version by now, or none, nothing is written: the next look decides.
    Raises KubeError. Kueue itself turns the condition False when it admits the Workload again.
    """
    condition: JsonObject = {
        "type": EVICTED,
        "status": "True",
        "reason": _REASON,
        "message": wanted.message,
        "lastTransitionTime": format_time(now),
    }
    body: JsonObject = {
        "apiVersion": WORKLOADS.gvk.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "namespace": namespace,
            "name": wanted.name,
            "uid": wanted.uid,
            "resourceVersion": wanted.version,
        },
        "status": {"conditions": [condition]},
    }
    with suppress(Conflict, NotFound):
        await client.patch(
            WORKLOADS,
            namespace,
            wanted.name,
            body,
            PatchType.APPLY,
            subresource="status",
            field_manager=FIELD_MANAGER,
            force=True,
        )
