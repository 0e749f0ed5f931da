"""The real components in the local cluster, each doing what it is there for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from localcluster.access.running import RunningCluster
from localcluster.installers import coscheduler, kueue
from localcluster.installers.operators import OPERATORS
from shared.api.objects import PODS, JsonObject, Resource
from shared.kube.client import NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import QUEUE
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import SIMULATION
from tests.support.cluster.answers import is_admin
from tests.support.cluster.resources import (
    JOB_SETS,
    JOBS,
    LOCAL_QUEUES,
    POD_GROUPS,
    PYTORCH_JOBS,
    RAY_CLUSTERS,
    WORKLOADS,
)
from tests.support.patience import PATIENCE_SECONDS
from tests.support.team import NAMESPACE

LOCAL_QUEUES_BEFORE = Resource("kueue.x-k8s.io", "v1beta1", "localqueues", "LocalQueue")

T = TypeVar("T")


async def comes_to(look: Callable[[], Awaitable[T]], expected: T) -> None:
    """Looks until it sees what is expected; fails with what was there instead."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while (seen := await look()) != expected:
        if asyncio.get_running_loop().time() > deadline:
            assert seen == expected
        await asyncio.sleep(0.05)


class Submitted:
    """One object in team1, and what can be seen of it."""

    def __init__(self, cluster: RunningCluster, resource: Resource, name: str) -> None:
        self.client = cluster.client
        self.resource = resource
        self.name = name

    async def now(self) -> JsonObject:
        """As it is stored."""
        return await self.client.get(self.resource, NAMESPACE, self.name)

    async def conditions(self) -> dict[str, str]:
        """Condition type → status, those that are True."""
        found = (await self.now()).get("status", {}).get("conditions") or []
        return {one["type"]: one["status"] for one in found if one["status"] == "True"}

    async def pods(self, selector: str) -> list[JsonObject]:
        """The pods of team1 with these labels."""
        pages = self.client.pages(PODS, NAMESPACE, label_selector=selector)
        return [item async for page in pages for item in page.items]

    async def end_pod(self, name: str) -> None:
        """Writes that the pod succeeded, as its node would report it."""
        status = {"status": {"phase": "Succeeded"}}
        await self.client.patch(
            PODS, NAMESPACE, name, status, PatchType.MERGE, subresource="status"
        )

    async def admitted_by(self) -> str:
        """The ClusterQueue that gave it quota; empty while none did."""
        async for page in self.client.pages(WORKLOADS, NAMESPACE):
            for one in page.items:
                owners = one["metadata"].get("ownerReferences", [])
                if self.name in [owner["name"] for owner in owners]:
                    admission = one.get("status", {}).get("admission", {})
                    return str(admission.get("clusterQueue", ""))
        return ""

    async def delete(self) -> None:
        """Deletes it and returns when it and its pods are gone."""
        await self.client.delete(
            self.resource, NAMESPACE, self.name, uid=None, propagation=Propagation.FOREGROUND
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    await self.now()
                except NotFound:
                    return
                await asyncio.sleep(0.05)


async def submit(
    cluster: RunningCluster, resource: Resource, name: str, spec: JsonObject
) -> Submitted:
    """Creates an object in team1's queue."""
    document = {
        "apiVersion": resource.gvk.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": QUEUE},
        "spec": spec,
    }
    await cluster.client.create(resource, NAMESPACE, document)
    return Submitted(cluster, resource, name)


def pod_template(
    container: str, run_for: str = "", *, gpus: int = 0, restart: str = ""
) -> JsonObject:
    """A pod template; the pod runs for this time, or until the test ends it."""
    requests = {"cpu": "1"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    main = {"name": container, "image": "trainer:1", "resources": {"limits": requests}}
    spec: JsonObject = {"containers": [main]}
    if restart:
        spec["restartPolicy"] = restart
    life = {"run-for": run_for} if run_for else {"hang": "running"}
    annotations = {SIMULATION + key: value for key, value in life.items()}
    return {"metadata": {"annotations": annotations}, "spec": spec}


async def test_a_queued_job_is_admitted_and_completes(cluster: RunningCluster) -> None:
    spec = {
        "parallelism": 2,
        "completions": 2,
        "template": pod_template("main", "200ms", gpus=8, restart="Never"),
    }
    job = await submit(cluster, JOBS, "plain-job", spec)
    try:
        await comes_to(job.admitted_by, f"{NAMESPACE}-cluster-queue")
        await comes_to(job.conditions, {"SuccessCriteriaMet": "True", "Complete": "True"})
        assert (await job.now())["status"]["succeeded"] == 2
    finally:
        await job.delete()


async def test_an_appwrapper_without_queue_waits(cluster: RunningCluster) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "without-queue", "namespace": NAMESPACE},
        "spec": {"template": pod_template("main", "100ms", restart="Never")},
    }
    created = await cluster.client.create(JOBS, NAMESPACE, job)
    try:
        assert created["spec"]["suspend"] is True
    finally:
        await Submitted(cluster, JOBS, "without-queue").delete()


async def test_other_versions_of_queues_are_converted(cluster: RunningCluster) -> None:
    now = await cluster.client.get(LOCAL_QUEUES, NAMESPACE, "default-queue")
    before = await cluster.client.get(LOCAL_QUEUES_BEFORE, NAMESPACE, "default-queue")
    assert (now["apiVersion"], before["apiVersion"]) == (
        "kueue.x-k8s.io/v1beta2",
        "kueue.x-k8s.io/v1beta1",
    )
    queues = [each["spec"]["clusterQueue"] for each in (before, now)]
    assert queues == [f"{NAMESPACE}-cluster-queue"] * 2


async def test_gangs_of_pytorch_pods_start_together_on_nodes_of_their_own(
    cluster: RunningCluster,
) -> None:
    # They hang: with the end of the master its operator deletes the PodGroup.
    template = pod_template("pytorch", gpus=8)
    gang = pytorch_job("gang", "OnFailure", Master=template, Worker=(3, template))
    job = await submit(cluster, PYTORCH_JOBS, "gang", gang["spec"])
    pods_of_job = "training.kubeflow.org/job-name=gang"

    async def phases() -> list[str]:
        return [one["status"]["phase"] for one in await job.pods(pods_of_job)]

    try:
        await comes_to(phases, ["Running"] * 4)
        group = await cluster.client.get(POD_GROUPS, NAMESPACE, "gang")
        assert group["spec"]["minMember"] == 4
        pods = await job.pods(pods_of_job)
        assert {one["spec"]["schedulerName"] for one in pods} == {"scheduler-plugins-scheduler"}
        groups = [one["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for one in pods]
        assert groups == ["gang"] * 4
        assert len({one["spec"]["nodeName"] for one in pods}) == 4
        names = [str(one["metadata"]["name"]) for one in pods]
        for name in sorted(names, key=lambda each: "master" in each):
            # The master last: with its end the job has succeeded, and running workers are deleted.
            await job.end_pod(name)
        await comes_to(job.conditions, {"Created": "True", "Succeeded": "True"})
        assert await phases() == ["Succeeded"] * 4
    finally:
        await job.delete()


async def test_a_pod_group_gets_a_status(cluster: RunningCluster) -> None:
    """Of this change the Training Operator learns that the PodGroup that it made is there."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "alone", "namespace": NAMESPACE},
        "spec": {"minMember": 1},
    }
    await cluster.client.create(POD_GROUPS, NAMESPACE, group)

    async def phase_of_it() -> str:
        found = await cluster.client.get(POD_GROUPS, NAMESPACE, "alone")
        return str(found.get("status", {}).get("phase"))

    try:
        await comes_to(phase_of_it, "Pending")
    finally:
        await cluster.client.delete(
            POD_GROUPS, NAMESPACE, "alone", uid=None, propagation=Propagation.BACKGROUND
        )


async def test_half_a_gang_never_starts(cluster: RunningCluster) -> None:
    # Nine nodes' worth of GPUs, in a namespace that no quota keeps back.
    template = pod_template("pytorch", "1s", gpus=8)
    workers = (cluster.options.nodes, template)
    name = "too-many"
    document = pytorch_job(name, "OnFailure", Master=template, Worker=workers)
    document["metadata"]["namespace"] = "default"
    await cluster.client.create(PYTORCH_JOBS, "default", document)

    async def kept_back() -> bool:
        pages = cluster.client.pages(
            PODS, "default", label_selector=f"training.kubeflow.org/job-name={name}"
        )
        pods = [item async for page in pages for item in page.items]
        assert not [one for one in pods if one["spec"].get("nodeName")]
        judged = [one for one in pods if one["status"].get("conditions")]
        return len(judged) == cluster.options.nodes + 1

    try:
        await comes_to(kept_back, expected=True)
    finally:
        await cluster.client.delete(
            PYTORCH_JOBS, "default", name, uid=None, propagation=Propagation.FOREGROUND
        )


@pytest.mark.parametrize(
    ("namespace", "account"),
    [
        (kueue.NAMESPACE, kueue.ACCOUNT),
        ("kubeflow", "training-operator"),
        (coscheduler.NAMESPACE, coscheduler.ACCOUNT),
        (coscheduler.NAMESPACE, coscheduler.CONTROLLER_ACCOUNT),
        ("kube-system", "kwok-controller"),
    ],
)
async def test_components_are_no_cluster_admins(
    cluster: RunningCluster, namespace: str, account: str
) -> None:
    assert not await is_admin(cluster.client, namespace, account)


async def test_a_jobset_is_admitted_and_completes(operators: RunningCluster) -> None:
    job = {
        "parallelism": 2,
        "completions": 2,
        "template": pod_template("main", "200ms", gpus=1, restart="Never"),
    }
    replicated = [{"name": "workers", "replicas": 2, "template": {"spec": job}}]
    jobs = await submit(operators, JOB_SETS, "jobset", {"replicatedJobs": replicated})
    try:
        await comes_to(jobs.admitted_by, f"{NAMESPACE}-cluster-queue")
        await comes_to(jobs.conditions, {"Completed": "True"})
        pods = await jobs.pods("jobset.sigs.k8s.io/jobset-name=jobset")
        assert [one["status"]["phase"] for one in pods] == ["Succeeded"] * 4
    finally:
        await jobs.delete()


@pytest.mark.long
async def test_a_ray_cluster_is_admitted_and_gets_ready(operators: RunningCluster) -> None:
    def group(container: str) -> JsonObject:
        spec = {
            "containers": [
                {
                    "name": container,
                    "image": "ray:2",
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                }
            ]
        }
        return {"rayStartParams": {}, "template": {"spec": spec}}

    workers = {"groupName": "workers", "replicas": 2, "minReplicas": 2, "maxReplicas": 2}
    spec = {
        "rayVersion": "2.46.0",
        "headGroupSpec": group("ray-head"),
        "workerGroupSpecs": [workers | group("ray-worker")],
    }
    ray = await submit(operators, RAY_CLUSTERS, "ray", spec)
    try:
        await comes_to(ray.admitted_by, f"{NAMESPACE}-cluster-queue")
        await comes_to(ray.conditions, {"HeadPodReady": "True", "RayClusterProvisioned": "True"})
        pods = await ray.pods("ray.io/cluster=ray")
        types = [one["metadata"]["labels"]["ray.io/node-type"] for one in pods]
        assert sorted(types) == ["head", "worker", "worker"]
        assert {one["status"]["phase"] for one in pods} == {"Running"}
    finally:
        await ray.delete()


@pytest.mark.parametrize("name", ["jobset", pytest.param("kuberay", marks=pytest.mark.long)])
async def test_those_on_request_are_no_cluster_admins(operators: RunningCluster, name: str) -> None:
    operator = OPERATORS[name]
    assert not await is_admin(operators.client, operator.namespace, operator.account)
