"""What quota was counted for stays so, and goes with all that it made: what users may try.

Through the real API server, as a member of a team: `alice` has the rights of deploy/team alone,
`editor` the ClusterRole `edit` as well. No webhook refuses any of it.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.kube import requests
from shared.kube.client import PatchType, Propagation
from shared.kube.requests import Request
from tests.support.builders.appwrappers import QUEUE, appwrapper
from tests.support.builders.jobs import job, pytorch_job
from tests.support.builders.pods import pod_of, pod_template
from tests.support.cluster.answers import ApiResponse
from tests.support.cluster.counted_team import (
    DIRECT,
    TEAM,
    WRAPPED,
    Team,
    counted_team,
    is_leaving,
    merged,
    phase_of_pod,
    training,
    why_forbidden,
)
from tests.support.cluster.life import exists, listed
from tests.support.cluster.policy_texts import (
    CLAIMED,
    ENDING,
    LABELS,
    LET_GO,
    LINGERING,
    ORPHANED,
    ORPHANING,
    OUT_OF_THE_QUEUE,
    OWNERS,
    SCALED,
    SPEC,
)
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import (
    CLAIMS,
    DEPLOYMENTS,
    JOBS,
    PYTORCH_JOBS,
    REPLICA_SETS,
    SERVICES,
)
from tests.support.patience import comes_to

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
ELASTIC = "kueue.x-k8s.io/elastic-job"
WRAPPER = "workload.codeflare.dev/appwrapper"


def refused(policy: str, text: str) -> str:
    """Without the binding's name: where a write adds or removes a label, two speak of it."""
    return f"ValidatingAdmissionPolicy 'appwrapper-{policy}' denied request: {text}"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: RunningCluster) -> AsyncIterator[Team]:
    async with counted_team(cluster) as made:
        yield made


WORKERS = {
    "spec": {
        "pytorchReplicaSpecs": {
            "Worker": {"replicas": 20, "template": pod_template(container="pytorch")}
        }
    }
}
QUEUED_WITH_MORE = {"metadata": {"labels": QUEUE}, **WORKERS}
UNSUSPENDED = {"spec": {"runPolicy": {"suspend": False}}}
ONE_MORE = {"spec": {"replicas": 2}}
PARALLEL = {"spec": {"parallelism": 2}}
NO_LABELS = {"metadata": {"labels": None}}
NO_LABEL = {"metadata": {"labels": {WRAPPER: None}}}
NO_OWNERS = {"metadata": {"ownerReferences": None}}
NO_QUEUE = {"metadata": {"labels": {QUEUE_NAME: None}}}
OWNER = {
    "metadata": {
        "ownerReferences": [
            {
                "apiVersion": "workload.codeflare.dev/v1beta2",
                "kind": "AppWrapper",
                "name": "wrapped",
                "uid": "0",
                "controller": True,
            }
        ]
    }
}
FIELDS = ("labels", "ownerReferences", "finalizers", "deletionTimestamp")
EMPTY_QUEUE = {"metadata": {"labels": {QUEUE_NAME: ""}}}
CLAIM = {"metadata": {"labels": {WRAPPER: "wrapped"}}}
ORPHAN = {"metadata": {"finalizers": ["orphan"]}}
FROZEN = refused("counted", SPEC)
LABELLED = refused("counted", LABELS)
OWNED = refused("counted", OWNERS)
QUEUED = refused("counted", OUT_OF_THE_QUEUE)
TAKEN = refused("counted", CLAIMED)
HELD = refused("deletion", ORPHANING)


@pytest.mark.parametrize(
    ("who", "resource", "name", "patch", "expected"),
    [
        ("alice", PYTORCH_JOBS, "wrapped", WORKERS, FROZEN),
        ("alice", PYTORCH_JOBS, "wrapped", NO_LABEL, LABELLED),
        ("alice", PYTORCH_JOBS, "wrapped", NO_OWNERS, OWNED),
        ("alice", PYTORCH_JOBS, "direct", WORKERS, FROZEN),
        ("alice", PYTORCH_JOBS, "queueless", UNSUSPENDED, FROZEN),
        ("alice", PYTORCH_JOBS, "queueless", WORKERS, FROZEN),
        ("alice", PYTORCH_JOBS, "queueless", QUEUED_WITH_MORE, FROZEN),
        ("alice", PYTORCH_JOBS, "direct", NO_QUEUE, QUEUED),
        ("alice", PYTORCH_JOBS, "direct", EMPTY_QUEUE, QUEUED),
        ("alice", PYTORCH_JOBS, "direct", CLAIM, TAKEN),
        ("alice", PYTORCH_JOBS, "direct", OWNER, OWNED),
        ("editor", DEPLOYMENTS, "free", OWNER, OWNED),
        ("editor", DEPLOYMENTS, "wrapped", ONE_MORE, FROZEN),
        ("editor", REPLICA_SETS, "replica_set", ONE_MORE, FROZEN),
        ("editor", JOBS, "wrapped", PARALLEL, FROZEN),
        ("editor", PODS, "pod", NO_LABELS, LABELLED),
        ("editor", PODS, "pod", NO_LABEL, LABELLED),
        ("editor", PODS, "pod", NO_OWNERS, OWNED),
        ("editor", PODS, "direct_pod", {"spec": {"activeDeadlineSeconds": 9}}, FROZEN),
        ("editor", PODS, "direct_pod", NO_LABELS, LABELLED),
        ("editor", PODS, "direct_pod", NO_OWNERS, OWNED),
        ("editor", PODS, "direct_pod", CLAIM, TAKEN),
        ("alice", APPWRAPPERS, "wrapped", ORPHAN, HELD),
        ("alice", PYTORCH_JOBS, "wrapped", ORPHAN, HELD),
        ("alice", PYTORCH_JOBS, "direct", ORPHAN, HELD),
        ("editor", JOBS, "wrapped", ORPHAN, HELD),
    ],
)
async def test_a_patch_is_refused(
    team: Team, who: str, resource: Resource, name: str, patch: JsonObject, expected: str
) -> None:
    name = team.name(name)
    before = await team.client.get(resource, TEAM, name)
    answered = await team.asks(who, merged(resource, name, patch))
    assert why_forbidden(resource, name, answered) == expected
    now = await team.client.get(resource, TEAM, name)
    assert [now["metadata"].get(each) for each in FIELDS] == [
        before["metadata"].get(each) for each in FIELDS
    ]
    assert now["spec"] == before["spec"]


@pytest.mark.parametrize(
    ("resource", "name"),
    [(DEPLOYMENTS, "wrapped"), (DEPLOYMENTS, "free"), (REPLICA_SETS, "replica_set")],
)
async def test_a_scale_of_a_component_is_refused(team: Team, resource: Resource, name: str) -> None:
    """`scale` shows no labels and no owners: what of it could be let through is not known."""
    name = team.name(name)
    scale = merged(resource, name, {"spec": {"replicas": 3}}, "scale")
    response = await team.asks("editor", scale)
    assert why_forbidden(resource, name, response) == refused("scale", SCALED)


async def test_an_autoscaler_scales_nothing(team: Team) -> None:
    """It belongs to the control plane, but does what users say."""
    path = DEPLOYMENTS.path(TEAM, "wrapped", "scale")
    scale = (await team.asks("admin", Request("GET", path))).object
    scale["spec"]["replicas"] = 3
    del scale["metadata"]["resourceVersion"]  # the Deployment's status may change meanwhile
    response = await team.asks("autoscaler", replace(requests.post(path, scale), method="PUT"))
    assert why_forbidden(DEPLOYMENTS, "wrapped", response) == refused("scale", SCALED)


async def test_a_pod_is_not_resized(team: Team) -> None:
    """One that no node has: simulated nodes cannot."""
    body = pod_of(pod_template({WRAPPER: "nobody"}), name="unscheduled")
    body["spec"]["schedulerName"] = "nobody"
    await team.client.create(PODS, TEAM, body)
    cpu = "/spec/containers/0/resources/requests/cpu"
    patch = [{"op": "replace", "path": cpu, "value": "200m"}]
    request = requests.patch(PODS, TEAM, "unscheduled", patch, PatchType.JSON, subresource="resize")
    response = await team.asks("editor", request)
    assert why_forbidden(PODS, "unscheduled", response) == FROZEN
    await removed(team.client, PODS, TEAM, "unscheduled")


POLICY_QUERY, OLD_QUERY = "propagationPolicy=Orphan", "orphanDependents=true"
OPTIONS: list[JsonObject] = [
    {"propagationPolicy": "Orphan"},
    {"orphanDependents": True},
]


@pytest.mark.parametrize("query", [POLICY_QUERY, OLD_QUERY])
@pytest.mark.parametrize(
    ("who", "resource", "name"),
    [
        ("alice", APPWRAPPERS, "wrapped"),
        ("alice", PYTORCH_JOBS, "wrapped"),
        ("alice", PYTORCH_JOBS, "direct"),
        ("alice", DEPLOYMENTS, "wrapped"),
        ("editor", REPLICA_SETS, "replica_set"),
        ("alice", PODS, "pod"),
    ],
)
async def test_nothing_is_left_behind(
    team: Team, who: str, resource: Resource, name: str, query: str
) -> None:
    """By itself and with everything of its Kind; however the client says it."""
    name = team.name(name)
    expected = refused("deletion", ORPHANED)
    path = resource.path(TEAM, name)
    for option in OPTIONS:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **option}
        posted = requests.post(path, body)
        request = replace(posted, method="DELETE")
        assert why_forbidden(resource, name, await team.asks(who, request)) == expected
    request = Request("DELETE", f"{path}?{query}")
    assert why_forbidden(resource, name, await team.asks(who, request)) == expected
    stored = await team.client.get(resource, TEAM, name)
    assert "deletionTimestamp" not in stored["metadata"]


@pytest.mark.parametrize("query", [POLICY_QUERY, OLD_QUERY])
@pytest.mark.parametrize("resource", [REPLICA_SETS, JOBS, PODS])
async def test_nothing_is_left_behind_by_deleting_all(
    team: Team, resource: Resource, query: str
) -> None:
    request = Request("DELETE", f"{resource.path(TEAM)}?{query}")
    response = await team.asks("editor", request)
    assert response.code == 403
    assert response.message.endswith(f"denied request: {ORPHANED}")
    for each in await listed(team.client, resource, TEAM):
        assert "deletionTimestamp" not in each["metadata"]


async def test_no_pod_is_given_longer_to_end_than_the_operator_allows(team: Team) -> None:
    """Ten minutes by default. A node that was told more would go on for as long."""
    name = team.name("pod")
    path = PODS.path(TEAM, name)
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
    posted = [requests.post(path, {**body, "gracePeriodSeconds": each}) for each in (601, 600)]
    longer, longest = [await team.asks("alice", replace(each, method="DELETE")) for each in posted]
    assert why_forbidden(PODS, name, longer) == refused("deletion", LINGERING)
    assert longest.code == 200


@pytest.mark.parametrize("name", ["pod", "direct_pod"])
async def test_nor_by_an_eviction(team: Team, name: str) -> None:
    """The API server deletes the pod with what the eviction says, and asks nobody any more."""
    name = team.name(name)

    async def evicted(seconds: int) -> ApiResponse:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": TEAM},
            "deleteOptions": {"gracePeriodSeconds": seconds},
        }
        path = f"{PODS.path(TEAM, name, 'eviction')}?dryRun=All"
        return await team.asks("editor", requests.post(path, body))

    assert why_forbidden(PODS, name, await evicted(601)) == refused("deletion", LINGERING)
    assert (await evicted(600)).code == 201


@pytest.mark.parametrize(
    ("who", "resource", "name", "patch"),
    [
        ("alice", PYTORCH_JOBS, "wrapped", {"metadata": {"labels": {"mine": "1"}}}),
        ("alice", PYTORCH_JOBS, "direct", {"metadata": {"labels": {"mine": "2"}}}),
        ("alice", PYTORCH_JOBS, "queueless", {"metadata": {"labels": {QUEUE_NAME: "nowhere"}}}),
        ("alice", PYTORCH_JOBS, "direct", {"metadata": {"labels": {"mine": None}}}),
        ("editor", PODS, "pod", {"metadata": {"labels": {"mine": "1"}}}),
        ("editor", PODS, "direct_pod", {"metadata": {"annotations": {"mine": "1"}}}),
        ("editor", DEPLOYMENTS, "free", ONE_MORE),
        ("editor", DEPLOYMENTS, "free", {"metadata": {"labels": {"mine": "1"}}}),
        ("admin", PYTORCH_JOBS, "wrapped", {"spec": {"runPolicy": {"backoffLimit": 7}}}),
        ("admin", PODS, "pod", {"metadata": {"labels": {"mine": None}}}),
    ],
)
async def test_a_patch_is_none_of_its_business(
    team: Team, who: str, resource: Resource, name: str, patch: JsonObject
) -> None:
    response = await team.asks(who, merged(resource, team.name(name), patch))
    assert response.code == 200, response


async def test_kinds_that_kueue_follows_may_scale(team: Team) -> None:
    """It gates each of the pods until it has counted it."""
    body = job("elastic", 1, hang="running")
    body["metadata"] |= {"labels": QUEUE, "annotations": {ELASTIC: "true"}}
    stored = await team.client.create(JOBS, TEAM, body)
    assert stored["spec"]["template"]["spec"]["schedulingGates"] == [{"name": ELASTIC}]
    grown = await team.asks("editor", merged(JOBS, "elastic", PARALLEL))
    assert (grown.code, grown.object["spec"]["parallelism"]) == (200, 2), grown
    other = {"metadata": {"annotations": {"mine": "1"}}}
    response = await team.asks("editor", merged(JOBS, "elastic", {"spec": {"template": other}}))
    assert response.code in (403, 422), response
    await removed(team.client, JOBS, TEAM, "elastic")


@pytest.mark.parametrize(
    ("resource", "spec", "change"),
    [
        (SERVICES, {"ports": [{"port": 80}]}, {"spec": {"ports": [{"port": 81}]}}),
        (
            CLAIMS,
            {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            NO_LABEL,
        ),
    ],
)
async def test_objects_without_pods_are_not_matched(
    team: Team, resource: Resource, spec: JsonObject, change: JsonObject
) -> None:
    body = {
        "apiVersion": "v1",
        "kind": resource.kind,
        "metadata": {"name": "free", "labels": {WRAPPER: "wrapped"}},
        "spec": spec,
    }
    await team.client.create(resource, TEAM, body)
    response = await team.asks("alice", merged(resource, "free", change))
    assert response.code == 200, response


async def test_a_large_object_is_within_the_limits_of_cost(team: Team) -> None:
    """About a megabyte in many parts, and it never starts."""
    body = training("large", labels={QUEUE_NAME: "nowhere"})
    [container] = body["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    container["env"] = [{"name": f"VARIABLE_{n}", "value": "x" * 10} for n in range(20_000)]
    await team.client.create(PYTORCH_JOBS, TEAM, body)
    free = await team.asks(
        "alice", merged(PYTORCH_JOBS, "large", {"metadata": {"labels": {"a": "b"}}})
    )
    assert free.code == 200, free.message
    frozen = await team.asks("alice", merged(PYTORCH_JOBS, "large", WORKERS))
    assert why_forbidden(PYTORCH_JOBS, "large", frozen) == FROZEN
    await removed(team.client, PYTORCH_JOBS, TEAM, "large")


async def test_the_same_file_is_applied_twice(team: Team) -> None:
    """As kubectl does it, and by PUT of what was read."""
    for body in (WRAPPED, DIRECT):
        for _ in range(2):
            done = await team.alice.run("apply", "-n", TEAM, "-f", "-", stdin=json.dumps(body))
            assert done.code == 0, done
    for resource, name in ((PYTORCH_JOBS, "wrapped"), (PODS, team.pod)):
        stored = await team.client.get(resource, TEAM, name)
        response = await team.asks("editor", requests.update(resource, TEAM, name, stored))
        assert response.code == 200, response


async def test_the_finalizer_stays_until_the_pods_are_gone(team: Team) -> None:
    """Else quota would be given back while a pod, which takes its time, still runs."""
    template = pod_template(container="pytorch", hang="running", ignore_deletion_for="1h")
    template["spec"]["terminationGracePeriodSeconds"] = 3600
    made = pytorch_job("slow", Master=template)
    await team.client.create(APPWRAPPERS, TEAM, appwrapper("slow", made))
    # Before a node has it, the API server would remove it at once.
    await comes_to(lambda: phase_of_pod(team.client, "slow-master-0"), "Running")
    deleted = Request("DELETE", APPWRAPPERS.path(TEAM, "slow"))
    assert (await team.asks("alice", deleted)).code == 200
    let_go = merged(APPWRAPPERS, "slow", {"metadata": {"finalizers": None}})
    response = await team.asks("alice", let_go)
    assert why_forbidden(APPWRAPPERS, "slow", response) == refused("deletion", LET_GO)
    given_away = merged(APPWRAPPERS, "slow", {"spec": {"managedBy": "example.com/nobody"}})
    response = await team.asks("alice", given_away)
    assert why_forbidden(APPWRAPPERS, "slow", response) == refused("deletion", ENDING)
    labelled = merged(APPWRAPPERS, "slow", {"metadata": {"labels": {"mine": "1"}}})
    assert (await team.asks("alice", labelled)).code == 200
    # Then its owner is being deleted, and makes no other.
    await comes_to(lambda: is_leaving(team.client, "slow-master-0"), True)
    await team.client.delete(
        PODS,
        TEAM,
        "slow-master-0",
        uid=None,
        propagation=Propagation.BACKGROUND,
        grace_period_seconds=0,
    )
    await comes_to(lambda: exists(team.client, APPWRAPPERS, TEAM, "slow"), False)


async def test_created_objects_may_be_orphaned(team: Team) -> None:
    body = appwrapper("holds", training("holds"), finalizers=["orphan"])
    request = requests.create(APPWRAPPERS, TEAM, body)
    response = await team.asks("alice", request)
    assert why_forbidden(APPWRAPPERS, "holds", response) == HELD
