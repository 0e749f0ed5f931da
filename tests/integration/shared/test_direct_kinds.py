"""What may be created without wrapping it in a team's namespace, and by whom.

Real users, groups, nodes and service accounts under real RBAC. The researchers' group has rights to
create everything that is tried, so that what is refused is refused by the webhook alone.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import PatchType, Propagation
from shared.kube.http_client import connect
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job, pytorch_job, scaled
from tests.support.builders.pods import pod, pod_template
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.answers import ApiResponse, created
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.people import admin, person, service_account
from tests.support.cluster.refusals import LISTED, WRAP_IT, refused
from tests.support.cluster.removed import removed
from tests.support.patience import comes_to
from tests.support.team import FIRST_NODE

TEAM = "direct"
OTHER_TEAM = "direct-other"
PLATFORM = "direct-platform"
RESEARCHERS = f"{TEAM}-edit-group"
RBAC = "rbac.authorization.k8s.io"
NODE = f"gpu-node-{FIRST_NODE}"
LABEL = "workload.codeflare.dev/appwrapper"
QUEUE = "kueue.x-k8s.io/queue-name"


def everywhere(name: str, role: str, *subjects: JsonObject) -> JsonObject:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": list(subjects),
    }


def in_team(name: str, role: str, *subjects: JsonObject) -> JsonObject:
    binding = everywhere(name, role, *subjects)
    binding["kind"] = "RoleBinding"
    binding["metadata"]["namespace"] = TEAM
    return binding


def group(name: str) -> JsonObject:
    return {"apiGroup": RBAC, "kind": "Group", "name": name}


def account(namespace: str) -> JsonObject:
    return {"kind": "ServiceAccount", "name": "maker", "namespace": namespace}


MAKERS = (TEAM, OTHER_TEAM, PLATFORM, "kubeflow")
SURROUNDINGS: list[JsonObject] = [
    *team_documents(TEAM),
    *team_documents(OTHER_TEAM),
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLATFORM}},
    # More than one would give them: everything in their namespace. That makes nobody an admin.
    in_team("everything", "cluster-admin", group(RESEARCHERS), *map(account, MAKERS)),
]
FOR_ALL = [
    everywhere("direct-nodes", "system:node", group("system:nodes")),
    everywhere("direct-admins", "cluster-admin", group("direct-admins")),
    # In a namespace that is no team's they may do the same.
    everywhere("direct-anywhere", "edit", group(RESEARCHERS)),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def teams(cluster: RunningCluster) -> AsyncIterator[None]:
    async with another_team(cluster, TEAM, [*SURROUNDINGS, *FOR_ALL]):
        yield


@pytest.fixture
def researcher(cluster: RunningCluster) -> Kubectl:
    return person(cluster, "direct-alice", RESEARCHERS)


async def judged(who: Kubectl, body: JsonObject, namespace: str = TEAM) -> ApiResponse:
    """What is said to a dry run, which the API server judges like any other."""
    return await created(who, body, namespace, dry_run=True)


def denied(response: ApiResponse) -> str:
    assert (response.code, response.object["reason"]) == (403, "Forbidden")
    return response.message


def named(api_version: str, kind: str, **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "mine"}, **fields}


def training(**fields: Any) -> JsonObject:
    spec = pod_template(container="pytorch")["spec"]
    made = pytorch_job("mine", Master={"spec": spec})
    made["metadata"] |= fields
    return made


def not_even_wrapped(nearest: str | None = None) -> str:
    instead = f": create an AppWrapper with a {nearest} instead" if nearest else ""
    return f"may neither be created nor wrapped{instead}; {LISTED}"


TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": pod("p")["spec"] | {"restartPolicy": "Always"},
}
REPLICA_SET = named(
    "apps/v1", "ReplicaSet", spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
)
REPLICATION = named(
    "v1", "ReplicationController", spec={"selector": {"a": "b"}, "template": TEMPLATE}
)
CRON_JOB = named(
    "batch/v1", "CronJob", spec={"schedule": "* * * * *", "jobTemplate": {"spec": job("j")["spec"]}}
)
BINDING = named("v1", "Binding", target={"apiVersion": "v1", "kind": "Node", "name": NODE})


@pytest.mark.parametrize(
    ("body", "kind", "advice"),
    [
        (scaled("Deployment", "mine"), "Deployment.apps", WRAP_IT),
        (scaled("StatefulSet", "mine"), "StatefulSet.apps", WRAP_IT),
        (pod("mine"), "Pod", WRAP_IT),
        (job("mine"), "Job.batch", WRAP_IT),
        (named("v1", "ServiceAccount"), "ServiceAccount", WRAP_IT),
        (REPLICA_SET, "ReplicaSet.apps", not_even_wrapped("apps/Deployment")),
        (CRON_JOB, "CronJob.batch", not_even_wrapped("batch/Job")),
        (REPLICATION, "ReplicationController", not_even_wrapped("apps/Deployment")),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
async def test_a_researcher_creates_nothing_that_has_pods_and_no_queue(
    researcher: Kubectl, body: JsonObject, kind: str, advice: str
) -> None:
    assert denied(await judged(researcher, body)) == refused(kind, advice)


async def test_neither_for_real_nor_by_apply_nor_by_a_raw_request(
    cluster: RunningCluster, researcher: Kubectl
) -> None:
    """However it is asked, and nothing is left behind."""
    body = json.dumps(pod("mine"))
    by_create = await researcher.run("create", "-n", TEAM, "-f", "-", stdin=body)
    by_apply = await researcher.run("apply", "-n", TEAM, "-f", "-", stdin=body)
    by_server = await researcher.run("apply", "--server-side", "-n", TEAM, "-f", "-", stdin=body)
    raw = await _raw(researcher, "pods", pod("mine"))
    shown = (
        f'Error from server (Forbidden): error when creating "STDIN": {refused("Pod", WRAP_IT)}\n'
    )
    assert by_create == Completed(1, "", shown)
    for response in (by_apply, by_server, raw):
        assert (response.code, response.out) == (1, "")
        assert response.err.endswith(f"{refused('Pod', WRAP_IT)}\n"), response.err
    assert await listed(cluster.client, PODS, TEAM) == []


async def test_a_pod_with_a_node_name_is_refused(researcher: Kubectl) -> None:
    """The old form of a binding, which is no subresource of a pod."""
    response = await created(researcher, BINDING, TEAM)
    assert denied(response) == refused("Binding", not_even_wrapped())


async def _raw(who: Kubectl, resource: str, body: JsonObject) -> Completed:
    path = f"/api/v1/namespaces/{TEAM}/{resource}"
    return await who.run("create", f"--raw={path}", "-f", "-", stdin=json.dumps(body))


async def test_a_name_that_is_still_to_be_made_is_shown_as_far_as_it_is(
    researcher: Kubectl,
) -> None:
    body = pod("x")
    body["metadata"] = {"generateName": "mine-"}
    assert 'Pod "mine-' in denied(await judged(researcher, body))


@pytest.mark.parametrize(
    "body",
    [
        {**appwrapper("mine", training()), "metadata": {"name": "mine"}},
        training(labels={QUEUE: "default-queue"}),
        named("v1", "Service", spec={"ports": [{"port": 80}]}),
        named("v1", "Secret", stringData={"a": "b"}),
        named("v1", "ConfigMap", data={"a": "b"}),
        named(
            "v1",
            "PersistentVolumeClaim",
            spec={
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        ),
        named("scheduling.x-k8s.io/v1alpha1", "PodGroup", spec={"minMember": 1}),
        # What every client does on its own.
        named("coordination.k8s.io/v1", "Lease"),
        named("v1", "Event", involvedObject={"namespace": TEAM}),
        named("events.k8s.io/v1", "Event", eventTime="2026-01-01T00:00:00.000000Z",
              reportingController="a.b/c", reportingInstance="i", action="a", reason="r",
              type="Normal", regarding={"namespace": TEAM}),
    ],
    ids=lambda body: f"{body['apiVersion']} {body['kind']}",
)  # fmt: skip
async def test_a_researcher_creates_what_the_seeds_allow(
    researcher: Kubectl, body: JsonObject
) -> None:
    response = await judged(researcher, body)
    assert (response.code, response.warnings, response.object["metadata"]["name"]) == (
        201,
        (),
        "mine",
    )


async def test_a_researcher_asks_what_may_be_done(researcher: Kubectl) -> None:
    """Access reviews are objects that are created, too."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "LocalSubjectAccessReview",
        "metadata": {"namespace": TEAM},
        "spec": {"user": "x", "resourceAttributes": {"namespace": TEAM, "verb": "get"}},
    }
    answer = await created(researcher, review, TEAM)
    assert (answer.code, answer.object["status"]["allowed"]) == (201, False)
    assert await researcher("auth", "can-i", "create", "pods", "-n", TEAM) == "yes\n"


async def test_in_a_namespace_of_no_team_everything_goes(researcher: Kubectl) -> None:
    response = await judged(researcher, scaled("Deployment", "mine"), namespace=PLATFORM)
    assert (response.code, response.warnings) == (201, ())


@pytest.mark.parametrize("namespace", ["kubeflow", PLATFORM])
async def test_service_accounts_of_the_platform_create_what_they_want(
    cluster: RunningCluster, namespace: str
) -> None:
    """kubeflow is in the list; the other is known by the labels of its own namespace."""
    maker = await service_account(cluster, namespace, "maker")
    assert (await judged(maker, pod("mine"))).code == 201


@pytest.mark.parametrize("namespace", [TEAM, OTHER_TEAM])
async def test_service_accounts_of_teams_are_checked_like_their_users(
    cluster: RunningCluster, namespace: str
) -> None:
    maker = await service_account(cluster, namespace, "maker")
    assert denied(await judged(maker, pod("mine"))) == refused("Pod", WRAP_IT)


async def test_admins_are_not_locked_out_and_who_only_rules_a_namespace_is_none(
    cluster: RunningCluster, researcher: Kubectl
) -> None:
    """One by the built-in group, one by a role; the researchers have that role in here only."""
    for who in (admin(cluster), person(cluster, "direct-root", "direct-admins")):
        assert (await judged(who, pod("mine"))).code == 201
    assert await researcher("auth", "can-i", "*", "*", "-n", TEAM) == "yes\n"
    assert denied(await judged(researcher, pod("mine"))) == refused("Pod", WRAP_IT)


async def test_only_creation_is_checked(cluster: RunningCluster, researcher: Kubectl) -> None:
    """What an admin made for a team, its users may change and delete; so for subresources.

    Save for `scale`, of which nobody sees whose it is: test_policies.py.
    """
    served = scaled("Deployment", "served", 1)
    assert (await created(admin(cluster), served, TEAM)).code == 201
    more = json.dumps({"spec": {"replicas": 2}})
    await researcher("patch", "deployment", "served", "-n", TEAM, "--patch", more)
    await researcher("label", "deployment", "served", "-n", TEAM, "a=b")
    token = await researcher("create", "token", "default", "-n", TEAM)
    assert token.count(".") == 2
    await researcher("delete", "deployment", "served", "-n", TEAM)


async def test_kubelets_work(cluster: RunningCluster) -> None:
    """They report on pods, make events and leases, and mirror the pods of their own files."""
    node = person(cluster, f"system:node:{NODE}", "system:nodes")
    mirror = pod("mirror")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "0"}
    mirror["spec"]["nodeName"] = NODE
    event = named("v1", "Event", involvedObject={"namespace": TEAM})
    lease = named("coordination.k8s.io/v1", "Lease")
    for body in (mirror, event, lease):
        assert (await judged(node, body)).code == 201
    assert (await created(node, mirror, TEAM)).code == 201
    client = await connect(str(node.kubeconfig))
    try:
        status = {"status": {"message": "seen by its node"}}
        await client.patch(PODS, TEAM, "mirror", status, PatchType.MERGE, subresource="status")
        stored = await cluster.client.get(PODS, TEAM, "mirror")
        assert stored["status"]["message"] == "seen by its node"
    finally:
        await client.close()
        await cluster.client.delete(
            PODS,
            TEAM,
            "mirror",
            uid=None,
            propagation=Propagation.BACKGROUND,
            grace_period_seconds=0,
        )


async def test_operators_create_the_pods_of_what_is_wrapped(
    cluster: RunningCluster, researcher: Kubectl
) -> None:
    """The controllers of Jobs, ReplicaSets and StatefulSets, and the Training Operator."""
    wrapped = {
        "job": job("made-job", pods=1, hang="running"),
        "deployment": scaled("Deployment", "made-deployment", 1),
        "statefulset": scaled("StatefulSet", "made-statefulset", 1),
        "pytorchjob": training(name="made-pytorchjob"),
    }
    for name, template in wrapped.items():
        body = appwrapper(f"direct-{name}", template)
        assert (await created(researcher, body, TEAM)).code == 201
    for name, template in wrapped.items():
        made = template["metadata"]["name"]

        async def pods(name: str = name, made: str = made) -> bool:
            found = await listed(cluster.client, PODS, TEAM, f"{LABEL}=direct-{name}")
            return [one["metadata"]["name"].startswith(made) for one in found] == [True]

        await comes_to(pods, True)
    for name in wrapped:
        await removed(cluster.client, APPWRAPPERS, TEAM, f"direct-{name}")
