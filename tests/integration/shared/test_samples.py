"""Every sample, submitted as the documentation says, followed to the end that it names."""

from collections.abc import AsyncIterator

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS
from tests.support.builders.appwrappers import version_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import Life, exists
from tests.support.cluster.refusals import REFUSED
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import CLAIMS, JOBS, POD_GROUPS, PYTORCH_JOBS, VOLUMES
from tests.support.cluster.sample_team import (
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    Team,
    quota_reserved,
    row_of,
    statuses,
)
from tests.support.cluster.workloads import workload_of
from tests.support.life_record import revisions
from tests.support.manifests import ROOT, SAMPLES, document
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE, own

# Those that run by themselves to their end, with the priority that Kueue gives each workload; 5 is
# what a pod without a class gets.
SUCCEED = {
    "samples/wrapped-pytorchjob.yaml": 5,
    "samples/wrapped-pod.yaml": 5,
    "samples/wrapped-pod-high-priority.yaml": 10,
    "samples/job.yaml": 5,
    "samples/job-with-podgroup.yaml": 5,
    "samples/job-high-priority.yaml": 10,
    "samples/job-default-priority.yaml": 5,
    "samples/job-low-priority.yaml": 1,
    "samples/pytorchjob-recorded.yaml": 5,
    "samples/demo/wrapped-pytorchjob.yaml": 5,
}
STAY = ("samples/demo/deployment.yaml", "samples/demo/statefulset.yaml")
# Each has a test of its own.
UNWRAPPED = "samples/pytorchjob.yaml"
FILLS = "samples/demo/fills-the-quota.yaml"
WAITS = "samples/demo/waits-for-quota.yaml"
TOO_BIG = "samples/demo/too-big-pytorchjob.yaml"
FAILS = "samples/demo/failing-pytorchjob.yaml"
RESUMES = "samples/checkpoint.yaml"
# Those of MPI and LeaderWorkerSet are followed in operated_kinds, where their operators are.
KINDS = SAMPLES / "kinds"
OPERATED = {"jobset.yaml": SUCCEEDED, "raycluster.yaml": RUNNING, "rayjob.yaml": RUNNING}


@pytest.fixture
async def team(cluster: RunningCluster) -> AsyncIterator[Team]:
    user = Team(Kubectl(cluster.kubectl, cluster.kubeconfig), cluster.client)
    yield user
    await user.delete_all()


def test_every_sample_is_followed_here() -> None:
    followed = {*SUCCEED, *STAY, *REFUSED, UNWRAPPED, FILLS, WAITS, TOO_BIG, FAILS, RESUMES}
    files = {*SAMPLES.rglob("*.yaml")} - {*KINDS.iterdir()}
    assert followed == {str(file.relative_to(ROOT)) for file in files}


@pytest.mark.parametrize("file", SUCCEED)
async def test_runs_to_its_end(team: Team, file: str) -> None:
    # Recorded: who looks now and then may miss five seconds of running on a busy machine.
    async with Life(team.client, NAMESPACE, document(ROOT / file)["metadata"]["name"]) as life:
        name = await team.apply(file)
        runs = await life.until(lambda item: row_of(item) == RUNNING, f"the row {RUNNING}")
        # By its UID: that of the sample before, of the same name, may still be there.
        workload = await workload_of(team.client, runs["metadata"]["uid"])
        await life.until(lambda item: row_of(item) == SUCCEEDED, f"the row {SUCCEEDED}")

    assert workload["spec"]["priority"] == SUCCEED[file]
    # As in the documentation: the quota is given back, the pods stay for their logs.
    table = await team.kubectl("get", "appwrappers", name, "-n", NAMESPACE)
    heading, row = table.splitlines()
    assert heading.split()[:2] == ["NAME", "STATUS"]
    assert row.split()[:-1] == [name, *SUCCEEDED, "True"]
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
    file = "samples/job-with-podgroup.yaml"
    # Recorded: it runs for five seconds.
    async with Life(team.client, NAMESPACE, document(ROOT / file)["metadata"]["name"]) as life:
        name = await team.apply(file)
        await life.until_phase("Running")
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
        status = (await team.client.get(PYTORCH_JOBS, NAMESPACE, name)).get("status", {})
        return statuses(status).get("Succeeded", "")

    await comes_to(succeeded, "True")
    workload = await team.workload("PyTorchJob", name)
    assert workload["spec"]["queueName"] == "default-queue"


# `make test` builds no KubeRay.
@pytest.mark.parametrize(
    "file",
    [
        "jobset.yaml",
        pytest.param("raycluster.yaml", marks=pytest.mark.long),
        pytest.param("rayjob.yaml", marks=pytest.mark.long),
    ],
)
async def test_a_kind_with_an_operator_of_its_own(operators: RunningCluster, file: str) -> None:
    """The program of the RayJob ends on no simulated cluster."""
    user = Team(Kubectl(operators.kubectl, operators.kubeconfig), operators.client)
    try:
        name = await user.apply(f"samples/kinds/{file}")
        await comes_to(lambda: user.row(name), OPERATED[file])
    finally:
        await user.delete_all()


async def test_on_a_volume_that_stays_it_runs_to_its_end(team: Team) -> None:
    """The cluster has no storage class: this is the volume that an admin would have made."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": own("checkpoint")},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "10Gi"},
            "hostPath": {"path": "/nowhere"},
            "claimRef": {"namespace": NAMESPACE, "name": "checkpoint"},
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }
    await team.client.create(VOLUMES, None, volume)
    try:
        name = await team.apply(RESUMES)
        await comes_to(lambda: team.row(name), SUCCEEDED)
        claim = await team.client.get(CLAIMS, NAMESPACE, name)
        assert claim["spec"]["volumeName"] == own("checkpoint")
        await team.delete(RESUMES)
        assert not await exists(team.client, CLAIMS, NAMESPACE, name)
    finally:
        await removed(team.client, VOLUMES, None, own("checkpoint"))


async def test_waits_as_suspended_until_the_other_gives_the_quota_back(team: Team) -> None:
    first, second = (document(ROOT / file)["metadata"]["name"] for file in (FILLS, WAITS))
    # Recorded: the first one runs for twenty seconds.
    async with (
        Life(team.client, NAMESPACE, first) as filling,
        Life(team.client, NAMESPACE, second) as waiting,
    ):
        await team.apply(FILLS)
        await comes_to(lambda: quota_reserved(team, first), "True")
        await team.create(WAITS)
        await filling.until(lambda item: row_of(item) == RUNNING, f"the row {RUNNING}")
        await waiting.until(lambda item: row_of(item) == SUSPENDED, f"the row {SUSPENDED}")
        await waiting.until(lambda item: row_of(item) == SUCCEEDED, f"the row {SUCCEEDED}")
        ended = await filling.until(lambda item: row_of(item) == SUCCEEDED, f"the row {SUCCEEDED}")
        await waiting.check_the_promise_to_kueue()  # it has seen all pods by then
    given_back = version_of(ended)
    assert version_of(waiting.events[0].object) < given_back, "it came too late to wait"
    # Whoever has started, or has pods, finds the other ended.
    assert given_back < revisions(waiting, ["Resuming"])["Resuming"]
    assert given_back < min(version_of(each.object) for each in waiting.pod_events)
    assert waiting.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
    assert await team.row(first) == SUCCEEDED


async def test_one_gpu_more_than_the_quota_waits_as_suspended(team: Team) -> None:
    name = await team.apply(TOO_BIG)
    await comes_to(lambda: quota_reserved(team, name), "False")
    await comes_to(lambda: team.row(name), SUSPENDED)
    assert await team.pods(name) == []
    # Kueue has judged it, and it is no obstacle to what fits.
    other = await team.apply("samples/wrapped-pod.yaml")
    await comes_to(lambda: team.row(other), SUCCEEDED)
    assert await team.row(name) == SUSPENDED


async def test_the_worker_that_failed_first_is_named_and_the_retry_succeeds(team: Team) -> None:
    name = document(ROOT / FAILS)["metadata"]["name"]
    async with Life(team.client, NAMESPACE, name) as life:
        await team.apply(FAILS)
        resetting = await life.until_phase("Resetting")
        await life.until(lambda item: row_of(item) == SUCCEEDED, f"the row {SUCCEEDED}")
    root_cause = resetting["status"]["rootCause"]
    assert (root_cause["pod"], root_cause["attempt"]) == (f"{name}-worker-1", 1)
    assert root_cause["message"] == (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB."
    )
    table = await team.kubectl("get", "appwrappers", name, "-n", NAMESPACE, "-o", "wide")
    assert table.splitlines()[1].endswith(root_cause["summary"])


@pytest.mark.parametrize("file", REFUSED)
async def test_is_refused_with_the_reason(team: Team, file: str) -> None:
    refused = await team.kubectl.run("apply", "-n", NAMESPACE, "-f", file)
    assert (refused.code, refused.out, refused.err) == (1, "", REFUSED[file])
