"""No replica of the webhook runs: what goes on all the same, and what does not.

The process is stopped for this module. What users submit was submitted before.
"""

import json
import re
import shlex
from collections.abc import AsyncIterator

import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.conditions import condition
from shared.api.objects import PODS, POLICIES, POLICY_BINDINGS, JsonObject
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.appwrappers import appwrapper, phase, version_of
from tests.support.builders.jobs import job, pytorch_job
from tests.support.builders.pods import pod, pod_template
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.cluster.life import Life, listed
from tests.support.cluster.people import admin, person
from tests.support.cluster.registrations import REGISTRATIONS
from tests.support.cluster.resources import CLUSTER_QUEUES
from tests.support.patience import comes_to
from tests.support.walkthrough import commands_below

TEAM = "unattended"
QUEUE = f"{TEAM}-cluster-queue"
RBAC = "rbac.authorization.k8s.io"


def team() -> list[JsonObject]:
    """With one CPU of quota and none to borrow, and rights to create whatever one wants."""
    documents = team_documents(TEAM)
    for document in documents:
        if document["kind"] == "ClusterQueue":
            del document["spec"]["cohortName"]
            for resource in document["spec"]["resourceGroups"][0]["flavors"][0]["resources"]:
                if resource["name"] == "cpu":
                    resource["nominalQuota"] = 1
    everything = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "everything", "namespace": TEAM},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": f"{TEAM}-edit-group"}],
    }
    return [*documents, everything]


def of_one_cpu(template: JsonObject, priority: str) -> JsonObject:
    template["spec"]["priorityClassName"] = priority
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return template


def long_job() -> JsonObject:
    """A Job that takes the whole quota until it is deleted, and yields to others."""
    made = job("low", pods=1, hang="running")
    of_one_cpu(made["spec"]["template"], "low-priority")
    return appwrapper("low", made)


def urgent_training() -> JsonObject:
    """A PyTorchJob that takes the whole quota for a second, before others."""
    template = of_one_cpu(pod_template(container="pytorch", run_for="1s"), "high-priority")
    return appwrapper("high", pytorch_job("high", Master=template))


async def stop_policy(client: KubeClient, policy: str) -> None:
    body = {"spec": {"stopPolicy": policy}}
    await client.patch(CLUSTER_QUEUES, None, QUEUE, body, PatchType.MERGE)


async def _is_active(client: KubeClient) -> str:
    """What Kueue says of the queue."""
    queue = await client.get(CLUSTER_QUEUES, None, QUEUE)
    found = condition((queue.get("status") or {}).get("conditions") or (), "Active")
    return str((found or {}).get("status"))


def researcher_of(cluster: LocalCluster) -> Kubectl:
    return person(cluster, "unattended-alice", f"{TEAM}-edit-group")


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def unattended(cluster: LocalCluster) -> AsyncIterator[None]:
    """`low` runs, `high` waits because its queue is on hold; then the webhook stops."""
    async with another_team(cluster, TEAM, team()):
        client, researcher = cluster.client, researcher_of(cluster)
        async with Life(client, TEAM, "low") as low:
            await researcher("create", "-n", TEAM, "-f", "-", stdin=json.dumps(long_job()))
            await low.until_phase("Running")
        await stop_policy(client, "Hold")
        await comes_to(lambda: _is_active(client), "False")  # else it may start `high` at once
        await researcher("create", "-n", TEAM, "-f", "-", stdin=json.dumps(urgent_training()))
        await cluster.processes.stop("webhook")
        try:
            yield
        finally:
            await cluster.processes.restart("webhook")


async def test_work_goes_on(cluster: LocalCluster) -> None:
    """Preemption, admission, an operator's pods, success, admission again, eviction, deletion."""
    client, researcher = cluster.client, researcher_of(cluster)
    async with Life(client, TEAM, "low") as low, Life(client, TEAM, "high") as high:
        await stop_policy(client, "None")
        # Kueue preempts the one and starts the other, whose pod the Training Operator makes.
        suspended = await low.until_phase("Suspended")
        await high.until_phase("Running")
        finished = await high.until_phase("Succeeded")
        assert version_of(finished) > version_of(suspended)
        # Kueue starts the first again, whose pod the controller of Jobs makes.
        again = await low.until_phase("Running", after=version_of(suspended))
        await comes_to(lambda: _running_pods(client, "low"), 1)
        # An admin empties the queue: Kueue evicts.
        await stop_policy(client, "HoldAndDrain")
        evicted = await low.until_phase("Suspended", after=version_of(again))
        await comes_to(lambda: _running_pods(client, "low"), 0)
        await stop_policy(client, "None")
        await low.until_phase("Running", after=version_of(evicted))
        # Users delete, and our controller takes its finalizer off.
        await researcher("delete", "appwrapper", "low", "high", "-n", TEAM, "--wait=false")
        await low.until_deleted()
        await high.until_deleted()
        for life in (low, high):
            await life.check_the_promise_to_kueue()
        made = [event.object["metadata"]["name"] for event in high.pod_events]
        assert set(made) == {"high-master-0"}
        assert {phase(event.object) for event in high.events} >= {"Resuming", "Running"}


async def _running_pods(client: KubeClient, name: str) -> int:
    labelled = f"workload.codeflare.dev/appwrapper={name}"
    pods = await listed(client, PODS, TEAM, labelled)
    return [one["status"]["phase"] for one in pods].count("Running")


def unanswered(webhook: str, path: str, seconds: int, before: str = "") -> str:
    """kubectl's words for a webhook that nobody runs; the port is this machine's."""
    return (
        rf"Error from server \(InternalError\): {before}Internal error occurred: failed calling "
        rf'webhook "{re.escape(webhook)}": failed to call webhook: Post '
        rf'"https://appwrapper-webhook-service\.appwrapper-system\.svc:\d+{path}'
        rf'\?timeout={seconds}s": dial tcp 127\.0\.0\.1:\d+: connect: connection refused\n'
    )


CREATING = 'error when creating "STDIN": '


async def test_users_submit_and_change_nothing(cluster: LocalCluster) -> None:
    researcher = researcher_of(cluster)
    body = json.dumps(appwrapper("new", pod("p")))
    created = await researcher.run("create", "-n", TEAM, "-f", "-", stdin=body)
    assert re.fullmatch(unanswered("mappwrapper.kb.io", "/mutate", 10, CREATING), created.err)
    # An admin's AppWrappers are judged like everybody's.
    for_admin = await admin(cluster).run("create", "-n", TEAM, "-f", "-", stdin=body)
    assert for_admin.err == created.err


async def test_a_submitted_appwrapper_cannot_be_changed_but_deleted(cluster: LocalCluster) -> None:
    """It got in while nobody was asked."""
    researcher = researcher_of(cluster)
    await _made_by_breaking_the_glass(cluster, "old")
    labelled = await researcher.run("label", "appwrapper", "old", "-n", TEAM, "a=b")
    assert re.fullmatch(unanswered("mappwrapper.kb.io", "/mutate", 10), labelled.err)
    # The API server needs no replica for its policies.
    orphaned = await _orphans(researcher, "old")
    assert "ValidatingAdmissionPolicy 'appwrapper-deletion'" in orphaned.err
    await researcher("delete", "appwrapper", "old", "-n", TEAM)


async def _orphans(who: Kubectl, name: str) -> Completed:
    how = ("--cascade=orphan", "--dry-run=server")
    return await who.run("delete", "appwrapper", name, "-n", TEAM, *how)


async def test_objects_with_pods_are_refused_and_others_are_not(cluster: LocalCluster) -> None:
    researcher = researcher_of(cluster)
    refused = unanswered("vdirectkinds.workload.codeflare.dev", "/validate", 6, CREATING)
    for body in (pod("mine"), job("mine")):
        result = await _created(researcher, body)
        assert re.fullmatch(refused, result.err), result.err
        assert (await _created(admin(cluster), body)).code == 0
    others: dict[str, JsonObject] = {
        "ConfigMap": {"data": {"a": "b"}},
        "Secret": {"stringData": {"a": "b"}},
        "Service": {"spec": {"ports": [{"port": 80}]}},
    }
    for kind, fields in others.items():
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "mine"}, **fields}
        assert await _created(researcher, body) == Completed(0, f"{kind.lower()}/mine\n", "")


async def test_kubelets_work(cluster: LocalCluster) -> None:
    """They mirror the pods of their own files, and make events and leases."""
    nodes = {"apiGroup": RBAC, "kind": "Group", "name": "system:nodes"}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "unattended-nodes"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "system:node"},
        "subjects": [nodes],
    }
    node = person(cluster, "system:node:gpu-node-2", "system:nodes")
    mirror = pod("mine")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "0"}
    mirror["spec"]["nodeName"] = "gpu-node-2"
    named = {"metadata": {"name": "mine"}}
    event = {"apiVersion": "v1", "kind": "Event", "involvedObject": {"namespace": TEAM}, **named}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **named}
    await cluster.apply([binding])
    try:
        for body in (mirror, event, lease):
            # The API server knows of the binding a moment later.
            await comes_to(lambda body=body: _error_of(node, body), "")  # type: ignore[misc]
    finally:
        await admin(cluster)("delete", "clusterrolebinding", "unattended-nodes")


async def _error_of(who: Kubectl, body: JsonObject) -> str:
    return (await _created(who, body)).err


async def _created(who: Kubectl, body: JsonObject) -> Completed:
    return await who.run(
        *["create", "-n", TEAM, "--dry-run=server", "-o", "name", "-f", "-"],
        stdin=json.dumps(body),
    )


async def test_one_command_admits_all_objects_again(cluster: LocalCluster) -> None:
    """The documented one; then the registrations come back as they were."""
    await _made_by_breaking_the_glass(cluster, "let-in")
    researcher = researcher_of(cluster)
    assert (await _created(researcher, pod("mine"))).code == 1
    await researcher("delete", "appwrapper", "let-in", "-n", TEAM)


async def _made_by_breaking_the_glass(cluster: LocalCluster, name: str) -> None:
    """Types the command of docs/admins/webhook.md, creates as a user, and undoes it."""
    researcher, client = researcher_of(cluster), cluster.client
    kept = [
        (resource, each)
        for resource in (*REGISTRATIONS.values(), POLICIES, POLICY_BINDINGS)
        for each in await listed(client, resource, None, "app.kubernetes.io/name=appwrapper")
    ]
    assert {resource for resource, _ in kept} >= {POLICIES, POLICY_BINDINGS}
    program, *command = shlex.split(commands_below("### Break glass", "docs/admins/webhook.md"))
    assert program == "kubectl"
    result = await admin(cluster)(*command)
    try:
        names = [each["metadata"]["name"] for _, each in kept]
        assert sorted(re.findall(r'"(.+?)" deleted', result)) == sorted(names)
        assert {*names} >= {*REGISTRATIONS}
        body = appwrapper(name, pod("p", run_for="1s"))
        admitted = Completed(0, f"appwrapper.workload.codeflare.dev/{name}\n", "")
        await comes_to(lambda: _created(researcher, body), admitted)
        await researcher("create", "-n", TEAM, "-f", "-", stdin=json.dumps(body))

        async def takes_a_pod() -> int:
            return (await _created(researcher, pod("mine"))).code

        await comes_to(takes_a_pod, 0)

        async def orphans() -> int:
            return (await _orphans(researcher, name)).code

        await comes_to(orphans, 0)
    finally:
        for resource, found in kept:
            found["metadata"] = {
                key: found["metadata"][key]
                for key in ("name", "labels", "annotations")
                if key in found["metadata"]
            }
            found.pop("status", None)
            await client.create(resource, None, found)

    await comes_to(takes_a_pod, 1)
    await comes_to(orphans, 1)

    async def is_asked_about_changes() -> bool:
        result = await researcher.run("annotate", "appwrapper", name, "-n", TEAM, "a=b")
        return result.code == 1 and '"mappwrapper.kb.io"' in result.err

    await comes_to(is_asked_about_changes, True)
