"""Nobody gets by wrapping what they may not create: real users, real RBAC, the real API server."""

import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import scaled
from tests.support.builders.pods import pod
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.answers import created
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.people import admin, person, service_account
from tests.support.cluster.resources import ROLE_BINDINGS
from tests.support.patience import comes_to

TEAM = "access"
RBAC = "rbac.authorization.k8s.io"
OTHER_NAMESPACE = (
    "spec.components[0].template.metadata.namespace: Forbidden: an AppWrapper in namespace "
    f"{TEAM} cannot create resources in another namespace"
)


def rule(group: str, *resources: str) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": ["create", "get"]}


def named(kind: str, name: str, **fields: Any) -> JsonObject:
    metadata = {"name": name, "namespace": TEAM}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, **fields}


def bound(name: str, subject: JsonObject) -> JsonObject:
    """Whoever is bound may create pods and AppWrappers, and nothing else."""
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "pods-only"}
    return named("RoleBinding", name, roleRef=reference, subjects=[subject])


GROUP = {"apiGroup": RBAC, "kind": "Group", "name": "access-limited"}
ACCOUNT = {"kind": "ServiceAccount", "name": "limited", "namespace": TEAM}
RIGHTS = [
    named(
        "Role",
        "pods-only",
        rules=[rule("", "pods"), rule("workload.codeflare.dev", "appwrappers")],
    ),
    bound("limited-group", GROUP),
    bound("limited-account", ACCOUNT),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def team(cluster: RunningCluster) -> AsyncIterator[None]:
    async with another_team(cluster, TEAM, team_documents(TEAM) + RIGHTS):
        yield


@pytest.fixture
def limited(cluster: RunningCluster) -> Kubectl:
    """A user who may create pods, and AppWrappers."""
    return person(cluster, "access-limited-user", "access-limited")


async def submitted(who: Kubectl, *templates: JsonObject, dry_run: bool = True) -> list[str]:
    """Why it is invalid, or CREATED."""
    body = appwrapper("wrapped", *templates)
    response = await created(who, body, TEAM, dry_run=dry_run)
    if response.code == 201:
        return CREATED
    assert response.code == 422, response
    return response.errors


CREATED = ["created"]
ADVICE = (
    f"; a user needs the right to create each component: ask an admin of namespace {TEAM} for it"
)


def may_not(user: str, resource: str, group: str) -> str:
    return (
        f'User "{user}" cannot create resource "{resource}" in API group "{group}" '
        f'in the namespace "{TEAM}"'
    )


async def test_pods_yes_deployments_no(limited: Kubectl) -> None:
    """Case 23; every component of a Kind is named."""
    deployment = scaled("Deployment", "d")
    assert await submitted(limited, pod("p")) == CREATED
    no = f"template: Forbidden: {may_not('access-limited-user', 'deployments', 'apps')}"
    assert await submitted(limited, deployment, pod("p"), deployment) == [
        f"spec.components[0].{no}{ADVICE}",
        f"spec.components[2].{no}",
    ]


async def test_a_service_account_is_reviewed_like_a_user(cluster: RunningCluster) -> None:
    limited = await service_account(cluster, TEAM, "limited")
    assert await submitted(limited, pod("p")) == CREATED
    user = f"system:serviceaccount:{TEAM}:limited"
    assert await submitted(limited, scaled("StatefulSet", "s")) == [
        f"spec.components[0].template: Forbidden: {may_not(user, 'statefulsets', 'apps')}{ADVICE}"
    ]


async def test_an_admin_may_wrap_whatever_may_be_wrapped(cluster: RunningCluster) -> None:
    assert await submitted(admin(cluster), pod("p"), scaled("Deployment", "d")) == CREATED


MPI_JOB = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "metadata": {"name": "m"},
    "spec": {
        "mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": {"spec": pod("p")["spec"]}}}
    },
}


async def test_for_a_kind_that_is_not_served_the_whole_group_is_reviewed(
    cluster: RunningCluster, limited: Kubectl
) -> None:
    """Case 24."""
    no = may_not("access-limited-user", "*", "kubeflow.org")
    assert await submitted(limited, MPI_JOB) == [
        f"spec.components[0].template: Forbidden: {no}{ADVICE}"
    ]
    assert await submitted(admin(cluster), MPI_JOB) == CREATED


async def test_a_right_that_is_withdrawn_counts_no_more(
    cluster: RunningCluster, limited: Kubectl
) -> None:
    """It may count for two seconds more, however often it is used meanwhile."""
    assert await submitted(limited, pod("p")) == CREATED
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "appwrapper-editor-role"}
    still = named("RoleBinding", "wrapping", roleRef=role, subjects=[GROUP])
    await cluster.apply([still])
    client = cluster.client
    await client.delete(
        ROLE_BINDINGS, TEAM, "limited-group", uid=None, propagation=Propagation.BACKGROUND
    )
    try:
        may = may_not("access-limited-user", "pods", "")
        no = f"spec.components[0].template: Forbidden: {may}{ADVICE}"
        await comes_to(lambda: submitted(limited, pod("p")), [no])
    finally:
        await cluster.apply([bound("limited-group", GROUP)])
    await comes_to(lambda: submitted(limited, pod("p")), CREATED)


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        (None, CREATED),
        (TEAM, CREATED),
        ("default", [OTHER_NAMESPACE]),
        ("kube-system", [OTHER_NAMESPACE]),
    ],
)
async def test_components_live_where_their_appwrapper_does(
    limited: Kubectl, namespace: str | None, expected: list[str]
) -> None:
    """Cases 16 to 18."""
    wrapped = pod("p")
    if namespace is not None:
        wrapped["metadata"]["namespace"] = namespace
    assert await submitted(limited, wrapped) == expected


async def test_an_appwrapper_in_an_appwrapper_is_refused_even_with_the_rights_for_both(
    limited: Kubectl,
) -> None:
    """Case 19."""
    nested = copy.deepcopy(appwrapper("inner", pod("p")))
    assert await submitted(limited, nested) == [
        "spec.components[0].template: Forbidden: an AppWrapper cannot contain another AppWrapper"
    ]


async def test_the_reviewed_component_is_the_created_one(
    cluster: RunningCluster, limited: Kubectl
) -> None:
    """No dry run this time."""
    assert await submitted(limited, pod("p"), dry_run=False) == CREATED
    stored = await cluster.client.get(APPWRAPPERS, TEAM, "wrapped")
    labels = stored["metadata"]["labels"]
    assert labels["workload.codeflare.dev/user"] == "access-limited-user"
    no = may_not("access-limited-user", "deployments", "apps")
    denied = await submitted(limited, scaled("Deployment", "d"), dry_run=False)
    assert denied == [f"spec.components[0].template: Forbidden: {no}{ADVICE}"]
