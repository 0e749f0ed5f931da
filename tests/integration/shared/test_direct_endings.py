"""No GPU outlasts what a team created without wrapping it: Kueue gives the quota back at its end.

As the team's user, with the rights of deploy/team. Nobody forces these pods: our controller owns
none of them, so what would leave them running is refused, or set right.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.conditions import conditions_of
from shared.api.objects import PODS, JsonObject, Resource
from tests.support.builders.appwrappers import QUEUE
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import another_team, member_of, team_documents
from tests.support.cluster.answers import ApiResponse, created
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import PYTORCH_JOBS, RAY_JOBS, WORKLOADS
from tests.support.patience import comes_to
from tests.support.team import own

TEAM = own("endings")
GPU = "nvidia.com/gpu"
WITHOUT = f"{GPU} would be used without quota"
CLEAN = "spec.runPolicy.cleanPodPolicy"
RUN_ON = f"{WITHOUT}: pods that still run when the job has ended keep running: write Running or All"
WARNING = (
    f"{CLEAN} is set to Running: pods that still run when the PyTorchJob has ended would use "
    f"{GPU} without quota"
)
WORKERS = "spec.pytorchReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds"
YEAR = 365 * 24 * 3600
TOO_SLOW = f"Invalid value: {YEAR}: {WITHOUT}: a deleted pod may run that long: write at most 600"


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def team(cluster: RunningCluster) -> AsyncIterator[None]:
    async with another_team(cluster, TEAM, team_documents(TEAM)):
        yield


@pytest.fixture
def alice(cluster: RunningCluster) -> Kubectl:
    return member_of(cluster, TEAM)


def pods(container: str, gpus: int = 1, /, **simulation: str) -> JsonObject:
    made = pod_template(container=container, **simulation)
    if gpus:
        made["spec"]["containers"][0]["resources"] = {"limits": {GPU: str(gpus)}}
    return made


def training(gpus: int = 1, **spec: Any) -> JsonObject:
    """A master that is done soon, and two workers that never are."""
    master = pods("pytorch", 0, run_for="500ms")
    body = pytorch_job("mine", Master=master, Worker=(2, pods("pytorch", gpus, hang="running")))
    body["metadata"] |= {"namespace": TEAM, "labels": QUEUE}
    body["spec"] |= spec
    return body


def cleaned(policy: object) -> JsonObject:
    return {"runPolicy": {"cleanPodPolicy": policy}}


def denied(kind: str, reason: str) -> tuple[int, str]:
    return 403, (
        'admission webhook "vdirectkinds.workload.codeflare.dev" denied the request: '
        f'{kind} "mine" is forbidden: {reason}'
    )


async def ended(cluster: RunningCluster, resource: Resource) -> None:
    """Kueue has given the quota of the only such object back, and no pod with GPUs is left."""

    async def finished() -> list[bool]:
        return [
            any(each["type"] == "Finished" for each in conditions_of(workload.get("status", {})))
            for workload in await listed(cluster.client, WORKLOADS, TEAM)
            if workload["metadata"]["ownerReferences"][0]["kind"] == resource.kind
        ]

    async def with_gpus() -> list[str]:
        return [
            each["metadata"]["name"]
            for each in await listed(cluster.client, PODS, TEAM)
            if GPU in each["spec"]["containers"][0]["resources"].get("limits", {})
            and each["status"]["phase"] in ("Pending", "Running")
        ]

    await comes_to(finished, [True])
    await comes_to(with_gpus, [])


async def test_no_worker_outlasts_the_master(cluster: RunningCluster, alice: Kubectl) -> None:
    """By its operator's default they would run on, and with them two GPUs of nobody's quota."""
    response = await created(alice, training(), TEAM)
    try:
        assert (response.code, response.warnings) == (201, (WARNING,))
        assert response.object["spec"]["runPolicy"]["cleanPodPolicy"] == "Running"
        await ended(cluster, PYTORCH_JOBS)
    finally:
        await removed(cluster.client, PYTORCH_JOBS, TEAM, "mine")


async def judged(who: Kubectl, body: JsonObject) -> ApiResponse:
    return await created(who, body, TEAM, dry_run=True)


async def test_who_leaves_workers_is_refused(alice: Kubectl) -> None:
    response = await judged(alice, training(**cleaned("None")))
    expected = denied("PyTorchJob.kubeflow.org", f'{CLEAN}: Invalid value: "None": {RUN_ON}')
    assert (response.code, response.message) == expected
    for policy in ("Running", "All"):
        response = await judged(alice, training(**cleaned(policy)))
        assert (response.code, response.warnings) == (201, ())
        assert response.object["spec"]["runPolicy"]["cleanPodPolicy"] == policy


@pytest.mark.parametrize("spec", [cleaned(None), {"runPolicy": None}, {"runPolicy": {}}])
async def test_null_leaves_none_either(alice: Kubectl, spec: JsonObject) -> None:
    response = await judged(alice, training(**spec))
    assert (response.code, response.warnings) == (201, (WARNING,))
    assert response.object["spec"]["runPolicy"]["cleanPodPolicy"] == "Running"


async def test_a_pod_that_ignores_its_end_is_refused(alice: Kubectl) -> None:
    """Deleted with its job, it would run on for its period, and Kueue count nothing."""
    body = training(**cleaned("Running"))
    worker = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    worker["terminationGracePeriodSeconds"] = 600
    assert (await judged(alice, body)).code == 201
    worker["terminationGracePeriodSeconds"] = YEAR
    response = await judged(alice, body)
    expected = denied("PyTorchJob.kubeflow.org", f"{WORKERS}: {TOO_SLOW}")
    assert (response.code, response.message) == expected


async def test_objects_without_gpus_are_allowed(alice: Kubectl) -> None:
    for spec in ({}, cleaned("None")):
        body = training(0, **spec)
        worker = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
        worker["terminationGracePeriodSeconds"] = YEAR
        response = await judged(alice, body)
        assert (response.code, response.warnings) == (201, ())
        assert response.object["spec"].get("runPolicy", {}).get("cleanPodPolicy") == (
            "None" if spec else None
        )


# With KubeRay.


def ray_job(**spec: Any) -> JsonObject:
    """On a head, and a worker with a GPU. No simulated head answers, so it never ends by itself."""
    head, worker = pods("ray-head", 0, hang="running"), pods("ray-worker", hang="running")
    for template in (head, worker):
        template["spec"]["restartPolicy"] = "Always"
    counts = {"replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    workers = {"groupName": "w", "rayStartParams": {}, "template": worker, **counts}
    cluster = {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {}, "template": head},
        "workerGroupSpecs": [workers],
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "mine", "namespace": TEAM, "labels": QUEUE},
        "spec": {
            "entrypoint": "true",
            "rayClusterSpec": cluster,
            "shutdownAfterJobFinishes": True,
            **spec,
        },
    }


POLICY = {"policy": "DeleteCluster"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (
            {"ttlSecondsAfterFinished": 601},
            f"spec.ttlSecondsAfterFinished: Invalid value: 601: {WITHOUT}: the cluster keeps "
            "running that long after the job has ended: write at most 600",
        ),
        (
            {"deletionStrategy": {"onSuccess": POLICY, "onFailure": POLICY}},
            f"spec.deletionStrategy: Forbidden: {WITHOUT}: KubeRay then keeps the cluster of a job "
            "that misses its deadline: leave it out, shutdownAfterJobFinishes deletes the cluster",
        ),
    ],
)
async def test_a_rayjob_that_leaves_its_pods_is_refused(
    alice: Kubectl, spec: JsonObject, reason: str
) -> None:
    response = await judged(alice, ray_job(**spec))
    assert (response.code, response.message) == denied("RayJob.ray.io", reason)


@pytest.mark.long
async def test_no_cluster_outlasts_its_rayjob(cluster: RunningCluster, alice: Kubectl) -> None:
    response = await created(
        alice, ray_job(activeDeadlineSeconds=3, ttlSecondsAfterFinished=1), TEAM
    )
    try:
        assert (response.code, response.warnings) == (201, ())
        await ended(cluster, RAY_JOBS)
    finally:
        await removed(cluster.client, RAY_JOBS, TEAM, "mine")
