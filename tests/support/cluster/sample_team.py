"""Acts as a user of team1 with the samples, and reads the results."""

from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.kube.client import KubeClient
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import WORKLOADS
from tests.support.manifests import ROOT, document
from tests.support.patience import KUBECTL_PATIENCE
from tests.support.team import NAMESPACE

# STATUS, QUOTA, DEPLOYED, UNHEALTHY; the last is empty before the first run.
Row = tuple[str, str, str, str]
SUSPENDED = ("Suspended", "False", "False", "")
RUNNING = ("Running", "True", "True", "False")
SUCCEEDED = ("Succeeded", "False", "True", "False")


def statuses(status: JsonObject) -> dict[str, str]:
    """Returns a status's conditions: type -> status."""
    return {one["type"]: one["status"] for one in status.get("conditions") or []}


def row_of(item: JsonObject) -> Row:
    """Returns the columns; empty for a condition that does not exist yet."""
    status = item.get("status", {})
    by_type = statuses(status)
    return (
        status.get("phase", ""),
        by_type.get("QuotaReserved", ""),
        by_type.get("ResourcesDeployed", ""),
        by_type.get("Unhealthy", ""),
    )


class Team:
    """Runs a user's kubectl in team1, and reads the results."""

    def __init__(self, kubectl: Kubectl, client: KubeClient) -> None:
        self.kubectl = kubectl
        self.client = client
        self._submitted: list[str] = []

    async def apply(self, file: str) -> str:
        """Runs `kubectl apply -n team1 -f FILE`; returns the name of the file's object."""
        self._submitted.append(file)
        await self.kubectl("apply", "-n", NAMESPACE, "-f", file)
        name: str = document(ROOT / file)["metadata"]["name"]
        return name

    async def create(self, file: str) -> None:
        """Does the same without a program that a busy machine may take seconds to start."""
        self._submitted.append(file)
        await self.client.create(APPWRAPPERS, NAMESPACE, document(ROOT / file))

    async def delete(self, file: str) -> None:
        """Runs `kubectl delete -n team1 -f FILE`, which returns when the object is gone."""
        self._submitted.remove(file)
        await self.kubectl("delete", "-n", NAMESPACE, "-f", file, KUBECTL_PATIENCE)

    async def delete_all(self) -> None:
        """Deletes a test's remains, so that the next test finds the team unchanged."""
        for file in reversed(self._submitted.copy()):
            await self.delete(file)

    async def row(self, name: str) -> Row:
        """Returns the documentation's columns; empty for a condition that does not exist yet."""
        return row_of(await self.client.get(APPWRAPPERS, NAMESPACE, name))

    async def phase(self, name: str) -> str:
        """Returns the first column."""
        return (await self.row(name))[0]

    async def everything(self, resource: Resource, label_selector: str = "") -> list[JsonObject]:
        """Returns all objects of the team's namespace."""
        pages = self.client.pages(resource, NAMESPACE, label_selector=label_selector)
        return [item async for page in pages for item in page.items]

    async def pods(self, appwrapper: str) -> list[JsonObject]:
        """Returns the pods that carry the AppWrapper's label."""
        return await self.everything(PODS, f"workload.codeflare.dev/appwrapper={appwrapper}")

    async def workload(self, kind: str, name: str) -> JsonObject:
        """Returns Kueue's Workload of an object; empty while there is none."""
        for one in await self.everything(WORKLOADS):
            owners = one["metadata"].get("ownerReferences", [])
            if (kind, name) in [(owner["kind"], owner["name"]) for owner in owners]:
                return one
        return {}


async def quota_reserved(team: Team, name: str) -> str:
    """Returns Kueue's QuotaReserved of the Workload; empty before Kueue's decision."""
    status = (await team.workload("AppWrapper", name)).get("status", {})
    return statuses(status).get("QuotaReserved", "")
