"""Whose pods count, and for what, where real controllers stand between a component and its pods."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from localcluster.access.running import RunningCluster
from shared.api.conditions import is_true
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import KubeClient, PatchType, Propagation
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job, scaled
from tests.support.builders.pods import pod
from tests.support.cluster.failing_lives import failing
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.resources import JOBS
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.kueue

NAME_LABEL = "workload.codeflare.dev/appwrapper"
RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
# Every wait that could end in a reset is over at once, so that a wrong count shows. That is
# written when the pods are there: no busy machine makes them within a second.
IMPATIENT = {
    "admissionGracePeriodDuration": "1s",
    "warmupGracePeriodDuration": "1s",
    "failureGracePeriodDuration": "1s",
}
PATIENT = dict.fromkeys(IMPATIENT, "1h")
WITHOUT_A_RESET = ["", "Suspended", "Resuming", "Running", "Succeeded"]


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


@asynccontextmanager
async def submitted(client: KubeClient, body: JsonObject) -> AsyncIterator[Life]:
    """The AppWrapper is deleted in the end."""
    name = body["metadata"]["name"]
    async with Life(client, NAMESPACE, name) as life:
        await client.create(APPWRAPPERS, NAMESPACE, body)
        try:
            yield life
        finally:
            await client.delete(
                APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
            )
            await life.until_deleted()


async def annotate(client: KubeClient, name: str, annotations: dict[str, str]) -> None:
    patch = {"metadata": {"annotations": prefixed(**annotations)}}
    await client.patch(APPWRAPPERS, NAMESPACE, name, patch, PatchType.MERGE)


def _first_has_succeeded(item: JsonObject) -> bool:
    """The status has recorded that of its first component."""
    first, *_ = (item.get("status") or {}).get("componentStatus") or [{}]
    return is_true(first.get("conditions") or (), "Succeeded")


async def test_a_job_that_went_by_its_ttl_is_not_waited_for(client: KubeClient) -> None:
    short = job("count-short", run_for="300ms")
    short["spec"]["ttlSecondsAfterFinished"] = 0
    long = job("count-long", 1, hang="running")
    body = appwrapper("count", short, long, annotations=PATIENT)
    async with submitted(client, body) as life:
        await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        await life.until(_first_has_succeeded, "that the controller knows the short Job's end")
        await comes_to(lambda: exists(client, JOBS, NAMESPACE, "count-short"), False)
        # Too few pods would be too few at once from here on.
        await annotate(client, "count", dict.fromkeys(IMPATIENT, "0s"))
        [pod] = await listed(client, PODS, NAMESPACE, "job-name=count-long")
        done = {"status": {"phase": "Succeeded"}}
        name = pod["metadata"]["name"]
        await client.patch(PODS, NAMESPACE, name, done, PatchType.MERGE, subresource="status")
        await life.until_phase("Succeeded")
        assert life.phases() == WITHOUT_A_RESET
        assert not any("Unhealthy" in true_conditions(each.object) for each in life.events)
        await life.check_the_promise_to_kueue()


async def test_a_pod_that_its_replica_set_replaced_is_no_failure(client: KubeClient) -> None:
    body = appwrapper("count-evicted", scaled("Deployment", "count-evicted"), annotations=PATIENT)
    async with submitted(client, body) as life:
        await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        evicted, _ = await listed(client, PODS, NAMESPACE, f"{NAME_LABEL}=count-evicted")
        await client.patch(
            PODS,
            NAMESPACE,
            evicted["metadata"]["name"],
            {"status": {"phase": "Failed", "reason": "Evicted"}},
            PatchType.MERGE,
            subresource="status",
        )

        async def phases() -> list[str]:
            pods = await listed(client, PODS, NAMESPACE, f"{NAME_LABEL}=count-evicted")
            return sorted(each["status"]["phase"] for each in pods)

        async def conditions() -> set[str]:
            return true_conditions(life.events[-1].object)

        await comes_to(phases, ["Failed", "Running", "Running"])
        # The controller, too, has seen that: else the grace period of the failure is over now.
        await comes_to(conditions, RUNS)
        await annotate(client, "count-evicted", IMPATIENT)
        # The grace period of a pod that fails later, and is not replaced, ends later.
        later = appwrapper("count-later", failing("count-later"), annotations=IMPATIENT)
        async with submitted(client, later) as witness:
            await witness.until_phase("Resetting")
        await comes_to(conditions, RUNS)
        assert life.events[-1].object["status"]["attempt"] == 1
        assert life.phases() == ["", "Suspended", "Resuming", "Running"]


async def test_a_pod_that_copied_the_name_label_is_left_alone(client: KubeClient) -> None:
    foreign = pod("count-foreign", hang="running")
    foreign["metadata"]["labels"] = {NAME_LABEL: "count-copied"}
    await client.create(PODS, NAMESPACE, foreign)

    async def phase() -> str:
        return str((await client.get(PODS, NAMESPACE, "count-foreign"))["status"]["phase"])

    try:
        await comes_to(phase, "Running")
        body = appwrapper("count-copied", job("count-copied", run_for="500ms"))
        async with submitted(client, body) as life:
            await life.until_phase("Succeeded")
            assert life.phases() == WITHOUT_A_RESET
        left = await client.get(PODS, NAMESPACE, "count-foreign")
        assert left["status"]["phase"] == "Running"
        assert "deletionTimestamp" not in left["metadata"]
    finally:
        await client.delete(
            PODS, NAMESPACE, "count-foreign", uid=None, propagation=Propagation.BACKGROUND
        )
