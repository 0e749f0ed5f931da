"""Makes a test module's own team by the instructions of deploy/team: copy the file, replace
team1.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import yaml

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, NAMESPACES, JsonObject, Resource
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import CLUSTER_QUEUES, CLUSTER_ROLE_BINDINGS
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.manifests import TEAM
from tests.support.patience import comes_to
from tests.support.team import COHORT, FLAVOR, claim

_VIEWER: Final = "appwrapper-queue-viewer"


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
    """Changes a ClusterQueue to admit and borrow nothing; returns other objects unchanged."""
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
    """Applies the team's `documents`, and perhaps more; deletes all of them at the end."""
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
    """Waits until ServiceAccounts exist and the API server knows who may create AppWrappers, and
    read the cluster.

    The API server and the controller manager react to a write a moment later.
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
        if document.get("roleRef", {}).get("name") == _VIEWER:
            subject = document["subjects"][0]
            await comes_to(
                lambda subject=subject: _may(  # type: ignore[misc]
                    cluster, subject, "list", CLUSTER_QUEUES
                ),
                True,
            )


async def _may_wrap(cluster: RunningCluster, subject: JsonObject, namespace: str) -> bool:
    return await _may(cluster, subject, "create", APPWRAPPERS, namespace)


async def _may(
    cluster: RunningCluster, subject: JsonObject, verb: str, resource: Resource, namespace: str = ""
) -> bool:
    who: JsonObject = {"groups": [subject["name"]]}
    if subject["kind"] == "ServiceAccount":
        who = {"user": f"system:serviceaccount:{subject['namespace']}:{subject['name']}"}
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": resource.group,
        "resource": resource.plural,
    }
    review = {"spec": {"resourceAttributes": attributes, **who}}
    answer = await cluster.client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


def member_of(cluster: RunningCluster, team: str, user: str = "alice") -> Kubectl:
    """Returns kubectl as a researcher of the team: with the rights of deploy/team, and no
    others.
    """
    admin = Kubectl(cluster.kubectl, cluster.kubeconfig)
    return admin.impersonating(user, f"{team}-edit-group")
