"""A team on the real node: its researcher submits by kubectl, and it is seen what becomes of it."""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from cli.pod_security import OWN_LEVEL
from localcluster.cluster import LocalCluster
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, EVENTS, PODS, JsonObject
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.annotations import prefixed
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import Life, listed
from tests.support.cluster.people import person
from tests.support.manifests import ROOT, document
from tests.support.patience import comes_to

TEAM = "research"
RESEARCHER = "carol"
GROUP = f"{TEAM}-edit-group"
REAL_NODE = "real-node"
_RBAC = "rbac.authorization.k8s.io"


class ResearchTeam:
    """`researcher` is kubectl under a client certificate of a member; `client` sees everything."""

    def __init__(self, cluster: LocalCluster, stack: AsyncExitStack) -> None:
        self.client: KubeClient = cluster.client
        self.researcher: Kubectl = person(cluster, RESEARCHER, GROUP)
        self._stack = stack

    async def submit(self, body: JsonObject) -> Life:
        """`kubectl create -f -`; its life from the first moment on. Deleted in the end."""
        life = await self._followed(body["metadata"]["name"])
        await self.researcher("create", "-n", TEAM, "-f", "-", stdin=json.dumps(body))
        return life

    async def apply(self, file: str) -> tuple[Life, JsonObject]:
        """`kubectl apply -f FILE`, a path from the repository's root; also what was stored."""
        life = await self._followed(document(ROOT / file)["metadata"]["name"])
        text = await self.researcher("apply", "-n", TEAM, "-o", "json", "-f", file)
        stored: JsonObject = json.loads(text)
        return life, stored

    async def annotate(self, name: str, **annotations: str) -> None:
        """Writes our annotations of the AppWrapper, given without their prefix."""
        body = {"metadata": {"annotations": prefixed(**annotations)}}
        await self.client.patch(APPWRAPPERS, TEAM, name, body, PatchType.MERGE)

    async def delete(self, name: str) -> None:
        """Returns at once."""
        await self.researcher(
            "delete", "appwrapper", name, "-n", TEAM, "--ignore-not-found", "--wait=false"
        )

    async def stored(self, name: str) -> JsonObject:
        """The AppWrapper, live."""
        return await self.client.get(APPWRAPPERS, TEAM, name)

    async def pods(self, name: str) -> list[JsonObject]:
        """Those that carry the AppWrapper's label, live."""
        return await listed(self.client, PODS, TEAM, f"{LABEL_APPWRAPPER}={name}")

    async def running_pod(self, appwrapper: str, *, name: str = "") -> JsonObject:
        """A pod whose name begins with `name`, once its containers run."""
        found: JsonObject = {}

        async def runs() -> bool:
            nonlocal found
            for pod in await self.pods(appwrapper):
                running = pod["status"].get("phase") == "Running"
                if running and pod["metadata"]["name"].startswith(name):
                    found = pod
            return bool(found)

        await comes_to(runs, True)
        return found

    async def events_of(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of each Event about the AppWrapper, in the order of writes."""
        about = [
            each
            for each in await listed(self.client, EVENTS, TEAM)
            if (each["involvedObject"]["kind"], each["involvedObject"]["name"])
            == ("AppWrapper", name)
        ]
        about.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["type"], each["reason"], each["message"]) for each in about]

    async def _followed(self, name: str) -> Life:
        life = await self._stack.enter_async_context(Life(self.client, TEAM, name))
        self._stack.push_async_callback(self._end, life, name)
        return life

    async def _end(self, life: Life, name: str) -> None:
        await self.delete(name)
        if life.events:
            await life.until_deleted()


@asynccontextmanager
async def a_team(cluster: LocalCluster, name: str) -> AsyncGenerator[None, None]:
    """Made as deploy/team says, while it lasts. Its users may create what they may wrap.

    Its pods mount folders of the machine, so its admin chose the level privileged.
    """
    namespace, *others = team_documents(name)
    del namespace["metadata"]["labels"][OWN_LEVEL]
    async with another_team(cluster, name, [namespace, *others, _may_create(name)]):
        yield


def _may_create(team: str) -> JsonObject:
    """What deploy/team says to do where users may wrap only what they may create."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{team}-may-create", "namespace": team},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": f"{team}-edit-group"}],
    }


def container_of(pod: JsonObject) -> str:
    """The container runtime's name of a pod's only container."""
    [status] = pod["status"]["containerStatuses"]
    return str(status["containerID"]).partition("://")[2]


def ended(pod: JsonObject) -> dict[str, Any]:
    """How the only container of a pod ended, without its times."""
    [status] = pod["status"]["containerStatuses"]
    found = status["state"]["terminated"]
    return {key: found[key] for key in ("exitCode", "reason", "message") if key in found}
