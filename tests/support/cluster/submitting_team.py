"""A user of team1 who submits the objects of `wrapped_kinds`, and reads the results."""

from typing import Any

from localcluster.access.running import RunningCluster
from shared.api.names import LABEL_APPWRAPPER, LABEL_QUEUE_NAME
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import KubeClient
from tests.support.builders.appwrappers import manifest
from tests.support.builders.wrapped_kinds import NAME
from tests.support.cluster.answers import ApiResponse, created
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import WORKLOADS
from tests.support.team import NAMESPACE

# A queue that does not exist: Kueue makes the Workload, and admits nothing.
NOWHERE = {LABEL_QUEUE_NAME: "nowhere"}


def wrapping(*components: Any, **metadata: Any) -> JsonObject:
    """Builds an AppWrapper in the team's namespace, with the name NAME unless `metadata` has
    one.
    """
    return manifest(*components, namespace=NAMESPACE, **(metadata or {"name": NAME}))


class Team:
    """`clean_up` deletes the created objects, and all objects with the name NAME."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.client: KubeClient = cluster.client
        self.kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
        self._names = {NAME}

    async def create(self, *components: Any, **metadata: Any) -> JsonObject:
        """Creates an AppWrapper; returns the stored object."""
        response = await self.submit(wrapping(*components, **metadata))
        assert response.code == 201, response
        self._names.add(response.object["metadata"]["name"])
        return response.object

    async def submit(self, body: JsonObject) -> ApiResponse:
        """Returns the API server's answer to the object."""
        return await created(self.kubectl, body, NAMESPACE)

    async def queued_nowhere(self, *components: Any) -> JsonObject:
        """Creates an AppWrapper that is never admitted; returns the stored object."""
        return await self.create(*components, name=NAME, labels=NOWHERE)

    async def errors_of(self, *components: Any) -> list[str]:
        """Returns why an AppWrapper of these is invalid; each field with its error."""
        response = await self.submit(wrapping(*components))
        assert response.code == 422, response
        return response.errors

    async def stored(self, name: str = NAME) -> JsonObject:
        return await self.client.get(APPWRAPPERS, NAMESPACE, name)

    async def pod_phases(self, name: str = NAME) -> dict[str, str]:
        pods = await listed(self.client, PODS, NAMESPACE, f"{LABEL_APPWRAPPER}={name}")
        return {each["metadata"]["name"]: each["status"]["phase"] for each in pods}

    async def counts(self) -> list[int]:
        """Returns the counts of the Workload's pod sets; [] while there is no Workload.

        The Workload of an earlier AppWrapper of this name may still be there.
        """
        uid = (await self.stored())["metadata"]["uid"]
        for workload in await listed(self.client, WORKLOADS, NAMESPACE):
            owners = workload["metadata"].get("ownerReferences", [])
            if uid in [owner["uid"] for owner in owners]:
                return [each["count"] for each in workload["spec"]["podSets"]]
        return []

    async def clean_up(self) -> None:
        for name in self._names:
            await removed(self.client, APPWRAPPERS, NAMESPACE, name)
