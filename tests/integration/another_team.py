"""A team of its own for a test module, made as deploy/team says: copy the file, replace team1."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import yaml

from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from shared.kube.client import Propagation
from shared.kube.errors import NotFound
from shared.kube.resource import NAMESPACES, Resource
from tests.appwrapper_life import exists
from tests.integration.test_samples import comes_to
from tests.kubectl import Kubectl
from tests.manifests import TEAM

CLUSTER_QUEUES = Resource(
    "kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False
)
LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")


def team_documents(name: str) -> list[JsonObject]:
    """The team's namespace, ClusterQueue, LocalQueue `default-queue` and role binding."""
    text = (TEAM / "team1.yaml").read_text()
    return list(yaml.safe_load_all(text.replace("team1", name)))


def without_quota(document: JsonObject) -> JsonObject:
    """A ClusterQueue that admits nothing and borrows nothing; other objects as they are."""
    if document["kind"] == "ClusterQueue":
        del document["spec"]["cohortName"]
        document["spec"]["stopPolicy"] = "Hold"
        document["spec"]["preemption"] = {}
        for group in document["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                flavor["resources"] = [
                    {"name": each["name"], "nominalQuota": 0} for each in flavor["resources"]
                ]
    return document


@asynccontextmanager
async def another_team(
    cluster: LocalCluster, name: str, documents: list[JsonObject]
) -> AsyncGenerator[None, None]:
    """Applies `documents`, those of the team `name` and perhaps more; takes all away at the end."""
    await cluster.apply(documents)
    try:
        yield
    finally:
        for resource, kind in ((NAMESPACES, "Namespace"), (CLUSTER_QUEUES, "ClusterQueue")):
            for document in documents:
                if document["kind"] == kind:
                    await _delete(cluster, resource, document["metadata"]["name"])


async def _delete(cluster: LocalCluster, resource: Resource, name: str) -> None:
    try:
        await cluster.client.delete(
            resource, None, name, uid=None, propagation=Propagation.BACKGROUND
        )
    except NotFound:
        return
    await comes_to(lambda: exists(cluster.client, resource, None, name), False)


def member_of(cluster: LocalCluster, team: str, user: str = "alice") -> Kubectl:
    """kubectl as a researcher of the team: with the rights of deploy/team, and no others."""
    admin = Kubectl(cluster.kubectl, cluster.kubeconfig)
    return admin.impersonating(user, f"{team}-edit-group")
