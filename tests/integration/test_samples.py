"""Every sample, submitted as the documentation says, followed to the end that it names."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import pytest

from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from shared.kube.client import KubeClient
from shared.kube.resource import APPWRAPPERS, PODS, Resource
from tests.appwrapper_life import Life
from tests.kubectl import Kubectl
from tests.manifests import ROOT, SAMPLES, document

NAMESPACE = "team1"
LOOK_EVERY_SECONDS = 0.1
PATIENCE_SECONDS = 120.0
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
PYTORCHJOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
JOBS = Resource("batch", "v1", "jobs", "Job")
POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")

# STATUS, QUOTA RESERVED, RESOURCES DEPLOYED, UNHEALTHY; the last is empty before the first run.
Row = tuple[str, str, str, str]
SUSPENDED = ("Suspended", "False", "False", "")
RUNNING = ("Running", "True", "True", "False")
SUCCEEDED = ("Succeeded", "False", "True", "False")

# Those that run by themselves to their end, with the priority that Kueue gives each workload; 5 is
# what a pod without a class gets.
SUCCEED = {
    "samples/wrapped-pod.yaml": 5,
    "samples/wrapped-pod-high-priority.yaml": 10,
    "samples/job.yaml": 5,
    "samples/job-with-podgroup.yaml": 5,
    "samples/job-high-priority.yaml": 10,
    "samples/job-default-priority.yaml": 5,
    "samples/job-low-priority.yaml": 1,
    "samples/demo/wrapped-pytorchjob.yaml": 5,
}
STAY = ("samples/demo/deployment.yaml", "samples/demo/statefulset.yaml")
REFUSED = {
    "samples/demo/rejected-daemonset.yaml": (
        'The AppWrapper "rejected-daemonset" is invalid: spec.components[0].template: Forbidden: '
        "apps/DaemonSet may not be wrapped; allowed are kubeflow.org/PyTorchJob, ray.io/RayJob, "
        "ray.io/RayCluster, apps/Deployment, apps/StatefulSet, Pod, batch/Job, ServiceAccount, "
        "Service, Secret, ConfigMap, PersistentVolumeClaim, scheduling.x-k8s.io/PodGroup, "
        "jobset.x-k8s.io/JobSet, leaderworkerset.x-k8s.io/LeaderWorkerSet, kubeflow.org/MPIJob\n"
    ),
    "samples/demo/rejected-nested-appwrapper.yaml": (
        'The AppWrapper "rejected-nested-appwrapper" is invalid: spec.components[0].template: '
        "Forbidden: an AppWrapper cannot contain another AppWrapper\n"
    ),
}
# Each has a test of its own.
UNWRAPPED = "samples/pytorchjob.yaml"
FILLS = "samples/demo/fills-the-quota.yaml"
WAITS = "samples/demo/waits-for-quota.yaml"
TOO_BIG = "samples/demo/too-big-pytorchjob.yaml"

T = TypeVar("T")


async def comes_to(look: Callable[[], Awaitable[T]], expected: T) -> None:
    """Looks until it sees what is expected; fails with what was there instead."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while (seen := await look()) != expected:
        if asyncio.get_running_loop().time() > deadline:
            assert seen == expected
        await asyncio.sleep(LOOK_EVERY_SECONDS)


def statuses(status: JsonObject) -> dict[str, str]:
    """The conditions of a status: type -> status."""
    return {one["type"]: one["status"] for one in status.get("conditions") or []}


def row_of(item: JsonObject) -> Row:
    """Empty where there is no condition yet."""
    status = item.get("status", {})
    by_type = statuses(status)
    return (
        status.get("phase", ""),
        by_type.get("QuotaReserved", ""),
        by_type.get("ResourcesDeployed", ""),
        by_type.get("Unhealthy", ""),
    )


class Team:
    """What a user of team1 does, by kubectl, and what can be seen."""

    def __init__(self, kubectl: Kubectl, client: KubeClient) -> None:
        self.kubectl = kubectl
        self.client = client
        self._submitted: list[str] = []

    async def apply(self, file: str) -> str:
        """`kubectl apply -n team1 -f FILE`; the name of what it holds."""
        self._submitted.append(file)
        await self.kubectl("apply", "-n", NAMESPACE, "-f", file)
        name: str = document(ROOT / file)["metadata"]["name"]
        return name

    async def delete(self, file: str) -> None:
        """`kubectl delete -n team1 -f FILE`, which returns when the object is gone."""
        self._submitted.remove(file)
        await self.kubectl("delete", "-n", NAMESPACE, "-f", file, "--timeout=120s")

    async def delete_all(self) -> None:
        """What a test left, so that the next one finds the team as this one did."""
        for file in reversed(self._submitted.copy()):
            await self.delete(file)

    async def row(self, name: str) -> Row:
        """What the documentation's columns show; empty where there is no condition yet."""
        return row_of(await self.client.get(APPWRAPPERS, NAMESPACE, name))

    async def phase(self, name: str) -> str:
        """The first of them."""
        return (await self.row(name))[0]

    async def everything(self, resource: Resource, label_selector: str = "") -> list[JsonObject]:
        """All objects of the team's namespace."""
        pages = self.client.list_pages(resource, NAMESPACE, label_selector=label_selector)
        return [item async for page in pages for item in page.items]

    async def pods(self, appwrapper: str) -> list[JsonObject]:
        """The pods that carry the AppWrapper's label."""
        return await self.everything(PODS, f"workload.codeflare.dev/appwrapper={appwrapper}")

    async def workload(self, kind: str, name: str) -> JsonObject:
        """Kueue's companion of an object; empty while there is none."""
        for one in await self.everything(WORKLOADS):
            owners = one["metadata"].get("ownerReferences", [])
            if (kind, name) in [(owner["kind"], owner["name"]) for owner in owners]:
                return one
        return {}


@pytest.fixture
async def team(cluster: LocalCluster) -> AsyncIterator[Team]:
    user = Team(Kubectl(cluster.kubectl, cluster.kubeconfig), cluster.client)
    yield user
    await user.delete_all()


def test_every_sample_is_followed_here() -> None:
    followed = {*SUCCEED, *STAY, *REFUSED, UNWRAPPED, FILLS, WAITS, TOO_BIG}
    assert followed == {str(file.relative_to(ROOT)) for file in SAMPLES.rglob("*.yaml")}


@pytest.mark.parametrize("file", SUCCEED)
async def test_runs_to_its_end(team: Team, file: str) -> None:
    # Recorded: who looks now and then may miss five seconds of running on a busy machine.
    async with Life(team.client, NAMESPACE, document(ROOT / file)["metadata"]["name"]) as life:
        name = await team.apply(file)
        await life.until(lambda item: row_of(item) == RUNNING, f"the row {RUNNING}")
        priority = (await team.workload("AppWrapper", name))["spec"]["priority"]
        await life.until(lambda item: row_of(item) == SUCCEEDED, f"the row {SUCCEEDED}")

    assert priority == SUCCEED[file]
    # As in the documentation: the quota is given back, the pods stay for their logs.
    table = await team.kubectl("get", "appwrappers", name, "-n", NAMESPACE)
    heading, row = table.splitlines()
    assert heading.split()[:2] == ["NAME", "STATUS"]
    assert row.split()[:-1] == [name, *SUCCEEDED]
    pods = await team.pods(name)
    assert pods
    assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}

    await team.delete(file)
    assert await team.pods(name) == []


@pytest.mark.parametrize("file", STAY)
async def test_runs_until_it_is_deleted(team: Team, file: str) -> None:
    name = await team.apply(file)

    async def ready_pods() -> int:
        pods = await team.pods(name)
        return sum(pod["status"]["phase"] == "Running" for pod in pods)

    await comes_to(ready_pods, 2)
    await comes_to(lambda: team.row(name), RUNNING)
    await team.delete(file)
    assert await team.pods(name) == []


async def test_wrapped_pods_each_get_a_whole_node(team: Team) -> None:
    name = await team.apply("samples/demo/wrapped-pytorchjob.yaml")
    await comes_to(lambda: team.phase(name), "Succeeded")
    nodes = [pod["spec"]["nodeName"] for pod in await team.pods(name)]
    assert len(set(nodes)) == len(nodes) == 4


async def test_the_pod_group_comes_with_the_job(team: Team) -> None:
    name = await team.apply("samples/job-with-podgroup.yaml")
    await comes_to(lambda: team.phase(name), "Running")
    group = await team.client.get(POD_GROUPS, NAMESPACE, name)
    job = await team.client.get(JOBS, NAMESPACE, name)
    assert group["spec"]["minMember"] == job["spec"]["parallelism"] == 2
    appwrapper = await team.client.get(APPWRAPPERS, NAMESPACE, name)
    for component in (group, job):
        (owner,) = component["metadata"]["ownerReferences"]
        assert owner["uid"] == appwrapper["metadata"]["uid"]


async def test_an_unwrapped_pytorchjob_is_queued_by_kueue_and_succeeds(team: Team) -> None:
    name = await team.apply(UNWRAPPED)

    async def succeeded() -> str:
        status = (await team.client.get(PYTORCHJOBS, NAMESPACE, name)).get("status", {})
        return statuses(status).get("Succeeded", "")

    await comes_to(succeeded, "True")
    workload = await team.workload("PyTorchJob", name)
    assert workload["spec"]["queueName"] == "default-queue"


async def test_waits_as_suspended_until_the_other_gives_the_quota_back(team: Team) -> None:
    filling = await team.apply(FILLS)
    await comes_to(lambda: team.row(filling), RUNNING)

    waiting = await team.apply(WAITS)
    await comes_to(lambda: team.row(waiting), SUSPENDED)
    await comes_to(lambda: quota_reserved(team, waiting), "False")

    started = False
    while not started:
        # In this order: whoever has started, or has pods, must find the other ended.
        started = (await team.phase(waiting)) not in ("", "Suspended")
        pods = await team.pods(waiting)
        ended = (await team.phase(filling)) == "Succeeded"
        assert ended or not started
        assert ended or pods == []
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    await comes_to(lambda: team.row(waiting), SUCCEEDED)
    assert await team.row(filling) == SUCCEEDED


async def test_one_gpu_more_than_the_quota_waits_as_suspended(team: Team) -> None:
    name = await team.apply(TOO_BIG)
    await comes_to(lambda: quota_reserved(team, name), "False")
    assert await team.row(name) == SUSPENDED
    assert await team.pods(name) == []
    # Kueue has judged it, and it is no obstacle to what fits.
    other = await team.apply("samples/wrapped-pod.yaml")
    await comes_to(lambda: team.row(other), SUCCEEDED)
    assert await team.row(name) == SUSPENDED


async def test_admitted_before_the_controller_looks_for_the_first_time(
    cluster: LocalCluster, team: Team
) -> None:
    """Kueue is that quick now and then: no change comes after the controller's first look."""
    controller = cluster.processes["controller"].pid
    os.kill(controller, signal.SIGSTOP)
    try:
        name = await team.apply("samples/wrapped-pod.yaml")
        await comes_to(lambda: quota_reserved(team, name), "True")
        await comes_to(lambda: suspended(team, name), False)
        assert await team.phase(name) == ""
    finally:
        os.kill(controller, signal.SIGCONT)
    await comes_to(lambda: team.row(name), SUCCEEDED)


async def suspended(team: Team, name: str) -> bool:
    """What Kueue wrote; absent means False."""
    appwrapper = await team.client.get(APPWRAPPERS, NAMESPACE, name)
    return bool(appwrapper["spec"].get("suspend"))


async def quota_reserved(team: Team, name: str) -> str:
    """What Kueue says about the workload; empty until it has judged it."""
    status = (await team.workload("AppWrapper", name)).get("status", {})
    return statuses(status).get("QuotaReserved", "")


@pytest.mark.parametrize("file", REFUSED)
async def test_is_refused_with_the_reason(team: Team, file: str) -> None:
    refused = await team.kubectl.run("apply", "-n", NAMESPACE, "-f", file)
    assert (refused.code, refused.out, refused.err) == (1, "", REFUSED[file])
