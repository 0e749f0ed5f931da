"""Read the Workloads of an AppWrapper, and whether the nodes that Kueue assigned accept its pods.

All reads are live.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from controller.facts.assigned_nodes import assignment_of, misplacement
from controller.phases.snapshot import Misplacement, OwnWorkload
from shared.api.appwrapper import AppWrapper
from shared.api.objects import NODES, JsonObject
from shared.config.fault_tolerance import Autopilot
from shared.injection.avoided_hosts import LABEL_HOSTNAME
from shared.kube.client import KubeClient
from shared.waits.workload import LABEL_OWNER, WORKLOADS, has_quota, is_active, is_held

# Host names in one request: its URL must not become too long.
_AT_ONCE: Final = 50


async def own_workloads(client: KubeClient, appwrapper: AppWrapper) -> list[JsonObject]:
    """Read the Workloads of the AppWrapper. Raises KubeError."""
    selector = f"{LABEL_OWNER}={appwrapper.uid}"
    pages = client.pages(WORKLOADS, appwrapper.namespace, label_selector=selector)
    return [item async for page in pages for item in page.items]


def own_workload(item: JsonObject) -> OwnWorkload:
    """Project a Workload."""
    metadata = item["metadata"]
    return OwnWorkload(
        metadata["name"],
        metadata["uid"],
        metadata["resourceVersion"],
        active=is_active(item),
        deactivated=is_held(item),
        has_quota=has_quota(item),
    )


class Assignments:
    """Checks assigned nodes. Their labels count only if `autopilot` keeps pods off such nodes."""

    def __init__(self, client: KubeClient, autopilot: Autopilot) -> None:
        self._client = client
        taints = autopilot.resource_taints
        none = {resource: () for resource in taints}
        self._taints = taints if autopilot.inject_anti_affinities else none

    async def read(self, appwrapper: AppWrapper, workload: str) -> Misplacement | None:
        """Return why the nodes accept no pods; None if the next attempt may begin.

        Raises KubeError.
        """
        workloads = await own_workloads(self._client, appwrapper)
        found = assignment_of(workloads, appwrapper.uid, workload)
        if found is None or not found.hosts:
            return None
        nodes = [item async for item in self._nodes(found.hosts)]
        return misplacement(found, nodes, self._taints)

    async def _nodes(self, hosts: Sequence[str]) -> AsyncIterator[JsonObject]:
        for begin in range(0, len(hosts), _AT_ONCE):
            selector = f"{LABEL_HOSTNAME} in ({','.join(hosts[begin : begin + _AT_ONCE])})"
            async for page in self._client.pages(NODES, label_selector=selector):
                for item in page.items:
                    yield item
