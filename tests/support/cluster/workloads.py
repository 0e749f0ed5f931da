"""Finds and changes Kueue's Workloads of AppWrappers."""

from shared.api.objects import JsonObject
from shared.kube.client import KubeClient, PatchType
from tests.support.cluster.life import listed
from tests.support.cluster.resources import WORKLOADS
from tests.support.team import NAMESPACE


async def workload_of(client: KubeClient, owner_uid: str) -> JsonObject:
    """Returns Kueue's Workload of an AppWrapper."""
    for item in await listed(client, WORKLOADS, NAMESPACE):
        owners = item["metadata"].get("ownerReferences") or []
        if any(owner["uid"] == owner_uid for owner in owners):
            return item
    raise AssertionError("Kueue has no Workload for it")


async def set_active(client: KubeClient, owner_uid: str, active: bool) -> None:
    """Makes Kueue evict the AppWrapper, as a preemption does, or admit it again."""
    workload = await workload_of(client, owner_uid)
    name = workload["metadata"]["name"]
    body = {"spec": {"active": active}}
    await client.patch(WORKLOADS, NAMESPACE, name, body, PatchType.MERGE)
