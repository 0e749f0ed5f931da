"""No GPU without quota: what a researcher may try with the fields that Kueue does not read.

All as the team's user, with the rights of deploy/team, through the real API server: in what is
wrapped, and in what Kueue queues without us. What is refused would have run beside the quota.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, JsonValue
from shared.kube.client import PatchType
from shared.kube.requests import patch
from tests.support.builders.appwrappers import QUEUE, appwrapper
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import another_team, member_of, team_documents
from tests.support.cluster.answers import ApiResponse, answer, created
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.policy_texts import SPEC
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import PYTORCH_JOBS, RAY_CLUSTERS
from tests.support.patience import comes_to
from tests.support.team import own

TEAM = own("uncounted")
LABEL = "workload.codeflare.dev/appwrapper"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
WITHOUT = "Forbidden: nvidia.com/gpu would be used without quota"
ROLE = (
    'Unsupported value: "worker": write "Worker" (replica types are case-sensitive; Kueue counts '
    "only Master and Worker)"
)


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def team(cluster: RunningCluster) -> AsyncIterator[None]:
    """It has 64 GPUs, and borrows none."""
    documents = team_documents(TEAM)
    for each in documents:
        if each["kind"] == "ClusterQueue":
            del each["spec"]["cohortName"]
    async with another_team(cluster, TEAM, documents):
        yield


@pytest.fixture
def alice(cluster: RunningCluster) -> Kubectl:
    return member_of(cluster, TEAM)


async def of_wrapped(who: Kubectl, template: JsonObject) -> ApiResponse:
    """What is said to an AppWrapper of it."""
    return await created(who, appwrapper("mine", template, namespace=TEAM), TEAM, dry_run=True)


async def of_direct(who: Kubectl, body: JsonObject) -> ApiResponse:
    """What is said to the object itself, in the team's queue."""
    metadata = {**body["metadata"], "labels": QUEUE}
    return await created(who, {**body, "metadata": metadata}, TEAM, dry_run=True)


def denied(kind: str, reason: str) -> tuple[int, str]:
    return 403, (
        'admission webhook "vdirectkinds.workload.codeflare.dev" denied the request: '
        f'{kind} "mine" is forbidden: {reason}'
    )


def gpus(container: str = "pytorch", amount: int = 1, **spec: Any) -> JsonObject:
    """Pods that want so many, and cpu where that is none."""
    made = pod_template(container=container)
    limits = {"nvidia.com/gpu": str(amount)} if amount else {"cpu": "1"}
    made["spec"]["containers"][0]["resources"] = {"limits": limits}
    made["spec"] |= spec
    return made


def elastic(gpu: int, *, metrics: bool = True) -> JsonObject:
    made = pytorch_job("mine", Master=gpus(amount=0), Worker=gpus(amount=gpu))
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    measured = {"metrics": [{"type": "Resource", "resource": resource}]} if metrics else {}
    made["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 20, **measured}
    made["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    return made


async def test_a_role_that_kueue_does_not_know_is_refused(alice: Kubectl) -> None:
    """Of what is not wrapped the Training Operator's webhook says so, too, where there is one."""
    body = pytorch_job("mine", Master=gpus(), worker=(20, gpus()))
    response = await of_wrapped(alice, body)
    path = "spec.pytorchReplicaSpecs"
    assert response.errors == [f"spec.components[0].template.{path}: {ROLE}"]
    response = await of_direct(alice, body)
    assert (response.code, 'Unsupported value: "worker"' in response.message) == (403, True)


async def test_pods_of_what_is_wrapped_are_its_own_whatever_they_claim(
    cluster: RunningCluster, alice: Kubectl
) -> None:
    """A copy of a stored AppWrapper has the label of the first one."""
    claimed = {
        LABEL: "somebody-elses",
        "workload.codeflare.dev/uid": "somebody-elses",
        "workload.codeflare.dev/attempt": "7",
        "workload.codeflare.dev/component": "7",
    }
    template = pod_template(claimed, container="pytorch", hang="running")
    body = appwrapper("copied", pytorch_job("copied", Master=template), namespace=TEAM)
    response = await created(alice, body, TEAM)
    assert (response.code, response.warnings) == (201, ())
    uid = response.object["metadata"]["uid"]

    async def pods() -> list[JsonObject]:
        found = await listed(cluster.client, PODS, TEAM, f"{LABEL}=copied")
        return [{key: each["metadata"]["labels"][key] for key in claimed} for each in found]

    try:
        await comes_to(
            pods,
            [
                {
                    LABEL: "copied",
                    "workload.codeflare.dev/uid": uid,
                    "workload.codeflare.dev/attempt": "1",
                    "workload.codeflare.dev/component": "0",
                }
            ],
        )
    finally:
        await removed(cluster.client, APPWRAPPERS, TEAM, "copied")
    assert await listed(cluster.client, PYTORCH_JOBS, TEAM) == []


# With KubeRay. Its validation of a RayJob wants more than is said here; ours comes first.


def ray(group: JsonObject, **fields: Any) -> JsonObject:
    head = {"rayStartParams": {}, "template": gpus("ray-head", 0)}
    workers = {"groupName": "w", "rayStartParams": {}, "template": gpus("ray-worker"), **group}
    return {"rayVersion": "2.46.0", "headGroupSpec": head, "workerGroupSpecs": [workers], **fields}


def ray_cluster(group: JsonObject, **fields: Any) -> JsonObject:
    spec = ray(group, **fields)
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "mine"},
        "spec": spec,
    }


def ray_job(**spec: Any) -> JsonObject:
    cluster = ray({"replicas": 1, "minReplicas": 1, "maxReplicas": 1})
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "mine"},
        "spec": {
            "entrypoint": "true",
            "rayClusterSpec": cluster,
            "shutdownAfterJobFinishes": True,
            **spec,
        },
    }


MANY = {"replicas": 0, "minReplicas": 20, "maxReplicas": 20}
LEAST = (
    "spec.workerGroupSpecs[0].minReplicas: Invalid value: 20: KubeRay creates at least this many "
    "workers, but quota is reserved for 0: write as many replicas, or a lower minReplicas"
)
HOSTS = (
    f"spec.workerGroupSpecs[0].numOfHosts: {WITHOUT}: Kueue takes each replica for one pod: write "
    "numOfHosts 1, or create it without wrapping it"
)
SUBMITTER = (
    f"spec.submitterPodTemplate: {WITHOUT}: Kueue does not see the pod that submits the job: "
    "request them for the pods of the cluster"
)


@pytest.mark.long
async def test_workers_of_ray_beyond_what_is_counted(alice: Kubectl) -> None:
    many = ray_cluster(MANY)
    response = await of_direct(alice, many)
    assert (response.code, response.message) == denied("RayCluster.ray.io", LEAST)
    # Kueue follows scaling, but not this: pods without quota would wait for ever.
    metadata = {"name": "mine", "annotations": ELASTIC}
    response = await of_direct(alice, {**many, "metadata": metadata})
    assert (response.code, response.message) == denied("RayCluster.ray.io", LEAST)
    start = "spec.components[0].template."
    assert (await of_wrapped(alice, many)).errors == [f"{start}{LEAST}"]
    hosts = ray_cluster({"replicas": 1, "minReplicas": 1, "maxReplicas": 1, "numOfHosts": 20})
    assert (await of_wrapped(alice, hosts)).errors == [f"{start}{HOSTS}"]
    response = await of_direct(alice, hosts)  # Kueue's own integration counts 20
    assert (response.code, response.warnings) == (201, ())


@pytest.mark.long
async def test_the_pod_that_submits_a_ray_job(alice: Kubectl) -> None:
    """Kueue's own integration counts it, save on a cluster that is there already."""
    body = ray_job(submitterPodTemplate=gpus("submitter"))
    start = "spec.components[0].template."
    assert (await of_wrapped(alice, body)).errors == [f"{start}{SUBMITTER}"]
    response = await of_direct(alice, body)
    assert (response.code, response.warnings) == (201, ())
    elsewhere = {"clusterSelector": {"ray.io/cluster": "c"}}
    spec = {**body["spec"], **elsewhere}
    del spec["rayClusterSpec"]
    response = await of_direct(alice, {**body, "spec": spec})
    assert (response.code, response.message) == denied("RayJob.ray.io", SUBMITTER)
    for judged in (of_wrapped, of_direct):
        response = await judged(alice, ray_job())  # KubeRay's default submitter
        assert (response.code, response.warnings) == (201, ())


@pytest.mark.long
async def test_kueue_follows_the_scaling_of_an_elastic_ray_cluster(
    cluster: RunningCluster, alice: Kubectl
) -> None:
    """Its autoscaler is free: pods that quota is not reserved for are not scheduled.

    Kueue follows numbers alone, so no other change of it is.
    """
    group = {
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 100,
        "template": gpus("ray-worker", 8),
    }
    body = ray_cluster(group, enableInTreeAutoscaling=True)
    response = await of_direct(alice, body)
    assert response.code == 403, response.message  # by Kueue itself
    assert "can use autoscaling only as an elastic job" in response.message
    metadata = {"name": "mine", "labels": QUEUE, "annotations": ELASTIC}
    response = await created(alice, {**body, "metadata": metadata}, TEAM)
    assert (response.code, response.warnings) == (201, ())

    async def gated() -> dict[bool, int]:
        """Workers that may be scheduled, and workers that wait for Kueue."""
        found = await listed(cluster.client, PODS, TEAM, "ray.io/group=w")
        waiting = ["schedulingGates" in each["spec"] for each in found]
        return {True: waiting.count(True), False: waiting.count(False)}

    async def changed(path: str, value: JsonValue) -> ApiResponse:
        change = [{"op": "add", "path": f"/spec/{path}", "value": value}]
        return await answer(alice, patch(RAY_CLUSTERS, TEAM, "mine", change, PatchType.JSON))

    worker = "workerGroupSpecs/0"
    asked = f"{worker}/template/spec/containers/0/resources"
    try:
        await comes_to(gated, {True: 0, False: 1})
        for path, value in (
            (asked, {"requests": {"nvidia.com/gpu": "64"}, "limits": {"nvidia.com/gpu": "64"}}),
            (f"{worker}/labels", {LABEL: "another"}),
            (f"{worker}/groupName", "other"),
            (asked.replace(worker, "headGroupSpec"), {}),
            ("autoscalerOptions", {"resources": {"limits": {"nvidia.com/gpu": "8"}}}),
        ):
            response = await changed(path, value)
            assert (response.code, response.message.partition(" denied request: ")[2]) == (
                403,
                SPEC,
            )
        for replicas, expected in ((3, {True: 0, False: 3}), (9, {True: 6, False: 3})):
            response = await changed(f"{worker}/replicas", replicas)
            assert response.code == 200, response
            await comes_to(gated, expected)
    finally:
        await removed(cluster.client, RAY_CLUSTERS, TEAM, "mine")
