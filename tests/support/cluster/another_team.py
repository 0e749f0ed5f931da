"""A team of its own for a test module, made as deploy/team says: copy the file, replace team1."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import yaml

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, NAMESPACES, JsonObject
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import CLUSTER_QUEUES, CLUSTER_ROLE_BINDINGS
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.manifests import TEAM
from tests.support.patience import comes_to
from tests.support.team import COHORT, FLAVOR, claim


def team_documents(name: str) -> list[JsonObject]:
    """The team's namespace, ClusterQueue, LocalQueue `default-queue` and role bindings."""
    text = (TEAM / "team1.yaml").read_text()
    for template, ours in (
        ("team1", name),
        ("default-flavor", FLAVOR),
        ("default-cohort", COHORT),
    ):
        text = text.replace(template, ours)
    return list(yaml.safe_load_all(text))


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
    cluster: RunningCluster, name: str, documents: list[JsonObject]
) -> AsyncGenerator[None, None]:
    """Applies `documents`, those of the team `name` and perhaps more; takes all away at the end."""
    claim(name)
    await cluster.apply(documents)
    try:
        await _until_usable(cluster, documents)
        yield
    finally:
        for resource in (NAMESPACES, CLUSTER_QUEUES, CLUSTER_ROLE_BINDINGS):
            for document in documents:
                if document["kind"] == resource.kind:
                    await removed(cluster.client, resource, None, document["metadata"]["name"])


async def _until_usable(cluster: RunningCluster, documents: list[JsonObject]) -> None:
    """Pods find their ServiceAccount, and the API server knows who may create AppWrappers.

    It learns of what was just written a moment later, and so does the controller manager.
    """
    for document in documents:
        if document["kind"] == "Namespace":
            await service_account_exists(cluster.client, document["metadata"]["name"])
        if document["kind"] == "RoleBinding":
            subject, namespace = document["subjects"][0], document["metadata"]["namespace"]
            await comes_to(
                lambda subject=subject, namespace=namespace: _may_wrap(  # type: ignore[misc]
                    cluster, subject, namespace
                ),
                True,
            )


async def _may_wrap(cluster: RunningCluster, subject: JsonObject, namespace: str) -> bool:
    who: JsonObject = {"groups": [subject["name"]]}
    if subject["kind"] == "ServiceAccount":
        who = {"user": f"system:serviceaccount:{subject['namespace']}:{subject['name']}"}
    attributes = {
        "namespace": namespace,
        "verb": "create",
        "group": APPWRAPPERS.group,
        "resource": APPWRAPPERS.plural,
    }
    review = {"spec": {"resourceAttributes": attributes, **who}}
    answer = await cluster.client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


def member_of(cluster: RunningCluster, team: str, user: str = "alice") -> Kubectl:
    """kubectl as a researcher of the team: with the rights of deploy/team, and no others."""
    admin = Kubectl(cluster.kubectl, cluster.kubeconfig)
    return admin.impersonating(user, f"{team}-edit-group")
