"""Makes a test module's own team by the instructions of deploy/team: copy the file, replace
team1.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import yaml

from localcluster.access.running import RunningCluster
from shared.api.conditions import condition
from shared.api.objects import APPWRAPPERS, NAMESPACES, JsonObject
from shared.kube.client import ApiError, KubeClient, NotFound
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import (
    CLUSTER_QUEUES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.manifests import TEAM
from tests.support.patience import comes_to
from tests.support.team import COHORT, FLAVOR, claim

_RBAC: Final = "rbac.authorization.k8s.io"
_WRAP: Final = {"verb": "create", "group": APPWRAPPERS.group, "resource": APPWRAPPERS.plural}
_RIGHT: Final = {"group": "tests.localcluster.dev", "resource": "rights"}


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
    """Waits until ServiceAccounts exist, Kueue knows the namespaces and the queues, and the API
    server knows every right.

    Each of them reacts to a write a moment later.
    """
    client = cluster.client
    for document in documents:
        if document["kind"] == "Namespace":
            name = document["metadata"]["name"]
            await service_account_exists(client, name)
            await comes_to(partial(kueue_knows, client, name), True)
        if document["kind"] == "ClusterQueue":
            await comes_to(partial(_is_judged, client, document["metadata"]["name"]), True)
        if document["kind"] == "RoleBinding":
            who, namespace = _who(document["subjects"][0]), document["metadata"]["namespace"]
            await comes_to(partial(_may, client, who, {**_WRAP, "namespace": namespace}), True)
        if document["kind"] == "ClusterRoleBinding":
            role = await client.get(CLUSTER_ROLES, None, document["roleRef"]["name"])
            who, rule = _who(document["subjects"][0]), role["rules"][0]
            right = {"verb": rule["verbs"][0], "group": rule["apiGroups"][0]}
            right["resource"] = rule["resources"][0]
            await comes_to(partial(_may, client, who, right), True)
    bindings = [each for each in documents if each["kind"] == "RoleBinding"]
    if bindings:
        await _until_rights_are_known(cluster, bindings[0]["metadata"]["namespace"])


async def _until_rights_are_known(cluster: RunningCluster, namespace: str) -> None:
    """Waits until the API server knows a last Role and a last RoleBinding.

    Its caches of both keep the order of the writes, so then it knows all the others.
    """
    metadata = {"name": "the-last-right", "namespace": namespace}
    rights = {"apiGroups": [_RIGHT["group"]], "resources": [_RIGHT["resource"]], "verbs": ["get"]}
    user = f"knows-{namespace}"
    await cluster.apply(
        [
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "Role",
                "metadata": metadata,
                "rules": [rights],
            },
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": metadata["name"]},
                "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
            },
        ]
    )
    right = {**_RIGHT, "verb": "get", "namespace": namespace}
    await comes_to(partial(_may, cluster.client, {"user": user}, right), True)
    for resource in (ROLE_BINDINGS, ROLES):
        await removed(cluster.client, resource, namespace, metadata["name"])


async def kueue_knows(client: KubeClient, namespace: str) -> bool:
    """False while Kueue's webhook rejects AppWrappers there: it knows namespaces a moment later."""
    try:
        await client.create(APPWRAPPERS, namespace, appwrapper("probe", job("a")), dry_run=True)
    except NotFound as error:
        return error.of_resource  # a cluster without AppWrappers
    except ApiError:
        return True
    return True


async def _is_judged(client: KubeClient, queue: str) -> bool:
    """True once Kueue has written whether the ClusterQueue admits: before, no queue of it does."""
    found = await client.get(CLUSTER_QUEUES, None, queue)
    return condition((found.get("status") or {}).get("conditions") or (), "Active") is not None


def _who(subject: JsonObject) -> JsonObject:
    if subject["kind"] == "ServiceAccount":
        return {"user": f"system:serviceaccount:{subject['namespace']}:{subject['name']}"}
    return {"user": subject["name"]} if subject["kind"] == "User" else {"groups": [subject["name"]]}


async def _may(client: KubeClient, who: JsonObject, right: JsonObject) -> bool:
    review = {"spec": {"resourceAttributes": right, **who}}
    answer = await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


def member_of(cluster: RunningCluster, team: str, user: str = "alice") -> Kubectl:
    """Returns kubectl as a researcher of the team: with the rights of deploy/team, and no
    others.
    """
    admin = Kubectl(cluster.kubectl, cluster.kubeconfig)
    return admin.impersonating(user, f"{team}-edit-group")
