"""A team with a running wrapped job and a running direct job, and users who may try to change
them.
"""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.kube import requests
from shared.kube.client import KubeClient, NotFound, PatchType
from shared.kube.requests import Request
from tests.support.builders.appwrappers import QUEUE, appwrapper, phase, true_conditions
from tests.support.builders.jobs import job, pytorch_job, scaled
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import another_team, member_of, team_documents
from tests.support.cluster.answers import ApiResponse, answer
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import DEPLOYMENTS, PYTORCH_JOBS, REPLICA_SETS
from tests.support.patience import comes_to
from tests.support.team import own

TEAM = own("frozen")
EDITORS = f"{TEAM}-editors"
AUTOSCALER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
RBAC = "rbac.authorization.k8s.io"


def why_forbidden(resource: Resource, name: str, response: ApiResponse) -> str:
    """Returns why the request is forbidden."""
    assert response.code == 403, response
    at = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    text = response.message.removeprefix(f'{at} "{name}" is forbidden: ')
    return re.sub(r" with binding 'appwrapper-[a-z-]+'", "", text)


def training(name: str, **metadata: Any) -> JsonObject:
    made = pytorch_job(name, Master=pod_template(container="pytorch", hang="running"))
    made["metadata"] |= metadata
    return made


WRAPPED = appwrapper(
    "wrapped",
    training("wrapped"),
    scaled("Deployment", "wrapped", 1),
    job("wrapped", 1, hang="running"),
)
DIRECT = training("direct", labels=QUEUE)


@dataclass(frozen=True)
class Team:
    """The users, and the names of the running objects."""

    client: KubeClient
    alice: Kubectl
    editor: Kubectl
    admin: Kubectl
    autoscaler: Kubectl
    pod: str
    direct_pod: str
    replica_set: str

    def name(self, text: str) -> str:
        """Returns the name of an object, also of one whose name was generated."""
        return str(getattr(self, text, text))

    async def asks(self, who: str, request: Request) -> ApiResponse:
        return await answer(getattr(self, who), request)


def documents() -> list[JsonObject]:
    """Builds the role `edit`, with rights that it lacks in some versions of Kubernetes."""
    resize = {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["get", "patch", "update"]}
    metadata = {"name": "resize", "namespace": TEAM}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": [resize]}
    bindings = [
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": TEAM},
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": EDITORS}],
        }
        for kind, name in (("ClusterRole", "edit"), ("Role", "resize"))
    ]
    return [*team_documents(TEAM), role, *bindings]


@asynccontextmanager
async def counted_team(cluster: RunningCluster) -> AsyncGenerator[Team, None]:
    """Runs an AppWrapper with all its pods, a direct job, and an admin's own Deployment."""
    client = cluster.client
    async with another_team(cluster, TEAM, documents()):
        await client.create(APPWRAPPERS, TEAM, WRAPPED)
        await client.create(PYTORCH_JOBS, TEAM, DIRECT)
        await client.create(PYTORCH_JOBS, TEAM, training("queueless"))
        await client.create(DEPLOYMENTS, TEAM, scaled("Deployment", "free", 1))
        # Nothing changes them later: all pods have their nodes, and run.
        await comes_to(lambda: _are_ready(client, "wrapped"), True)
        await comes_to(lambda: phase_of_pod(client, "direct-master-0"), "Running")
        [replica_set] = await listed(client, REPLICA_SETS, TEAM, "app=wrapped")
        alice = member_of(cluster, TEAM)
        team = Team(
            client,
            alice,
            alice.impersonating("editor", f"{TEAM}-edit-group", EDITORS),
            admin(cluster),
            admin(cluster).impersonating(AUTOSCALER, "system:serviceaccounts"),
            "wrapped-master-0",
            "direct-master-0",
            replica_set["metadata"]["name"],
        )
        await comes_to(lambda: _is_known(team), True)
        yield team
        for name in ("direct", "queueless"):
            await removed(client, PYTORCH_JOBS, TEAM, name)
        await removed(client, APPWRAPPERS, TEAM, "wrapped")


async def _are_ready(client: KubeClient, name: str) -> bool:
    """True once all pods of the AppWrapper run."""
    return "PodsReady" in true_conditions(await client.get(APPWRAPPERS, TEAM, name))


async def phase_of_pod(client: KubeClient, name: str) -> str:
    """Returns the pod's phase; empty while there is no such pod."""
    try:
        return phase(await client.get(PODS, TEAM, name))
    except NotFound:
        return ""


async def is_leaving(client: KubeClient, name: str) -> bool:
    """True once the pod, which takes its time, is being deleted."""
    return "deletionTimestamp" in (await client.get(PODS, TEAM, name))["metadata"]


async def _is_known(team: Team) -> bool:
    """True once the API server knows the policies and these rights."""
    request = merged(DEPLOYMENTS, "free", {"spec": {"replicas": 2}}, "scale")
    return "'appwrapper-scale'" in str((await team.asks("editor", request)).object.get("message"))


def merged(resource: Resource, name: str, body: JsonObject, subresource: str = "") -> Request:
    return requests.patch(resource, TEAM, name, body, PatchType.MERGE, subresource=subresource)
