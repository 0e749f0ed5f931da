"""The life of AppWrappers under the real Kueue, and the promise that Kueue relies on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.names import FINALIZER, LABEL_QUEUE_NAME
from shared.api.objects import APPWRAPPERS, PODS, SECRETS, JsonObject
from shared.kube.client import KubeClient, NotFound, Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job, master_and_workers, scaled
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.lives import slow_to_go
from tests.support.cluster.resources import DEPLOYMENTS, JOBS, SERVICES, STATEFUL_SETS
from tests.support.cluster.workloads import set_active
from tests.support.life_record import slow_writes
from tests.support.patience import PATIENCE_SECONDS
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.kueue

RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}


class Submitter:
    """Creates AppWrappers and deletes what a test left of them."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self._names: list[str] = []

    async def submit(self, body: JsonObject) -> JsonObject:
        self._names.append(body["metadata"]["name"])
        return await self.client.create(APPWRAPPERS, NAMESPACE, body)

    async def delete(self, name: str) -> None:
        await self.client.delete(
            APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )

    async def clean_up(self) -> None:
        for name in self._names:
            with suppress(NotFound):
                await self.delete(name)
        async with asyncio.timeout(PATIENCE_SECONDS):
            left = set(self._names)
            while left:
                await asyncio.sleep(0.05)
                items = await listed(self.client, APPWRAPPERS, NAMESPACE)
                left &= {item["metadata"]["name"] for item in items}


@pytest.fixture
async def submitter(cluster: RunningCluster) -> AsyncIterator[Submitter]:
    one = Submitter(cluster.client)
    yield one
    await one.clean_up()


async def test_a_job_from_queue_to_success(submitter: Submitter) -> None:
    name = "life-job"
    async with Life(submitter.client, NAMESPACE, name) as life:
        template = job("unused", run_for="500ms")
        template["metadata"] = {"generateName": "life-"}
        await submitter.submit(appwrapper(name, template))
        ended = await life.until_phase("Succeeded")
        assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
        assert true_conditions(ended) == {"ResourcesDeployed", "PodsReady"}
        # create, Suspended, Kueue's start, Resuming, Running, PodsReady, Succeeded
        assert len(life.events) <= 7 + slow_writes(life), life.story()
        await life.check_the_promise_to_kueue()
        resuming = await life.until_phase("Resuming")
    recorded = ended["status"]["componentStatus"][0]
    assert recorded["name"] == resuming["status"]["componentStatus"][0]["name"]
    made = await submitter.client.get(JOBS, NAMESPACE, recorded["name"])
    assert_injected(made["metadata"], ended)
    assert_injected(made["spec"]["template"]["metadata"], ended)
    infos = ended["spec"]["components"][0]["podSetInfos"][0]
    assert infos["labels"].items() <= made["spec"]["template"]["metadata"]["labels"].items()
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (ended["metadata"]["uid"], True)


def assert_injected(metadata: JsonObject, item: JsonObject) -> None:
    prefix = "workload.codeflare.dev/"
    labels = {k: v for k, v in metadata["labels"].items() if k.startswith(prefix)}
    assert labels == {
        prefix + "appwrapper": item["metadata"]["name"],
        prefix + "uid": item["metadata"]["uid"],
        prefix + "attempt": "1",
        prefix + "component": "0",
    }


async def test_a_pod_that_names_no_queue_goes_to_the_default_one(submitter: Submitter) -> None:
    """The webhook adds it, so Kueue queues and admits the AppWrapper."""
    async with Life(submitter.client, NAMESPACE, "life-pod") as life:
        wrapped = appwrapper("life-pod", pod("life-pod", run_for="300ms"), queued=False)
        await submitter.submit(wrapped)
        ended = await life.until_phase("Succeeded")
        await life.check_the_promise_to_kueue()
    assert ended["metadata"]["labels"][LABEL_QUEUE_NAME] == "default-queue"
    assert ended["status"]["attempt"] == 1
    assert "resettingCount" not in ended["status"]


EVERYTHING = (
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "life-secret"},
        "stringData": {"token": "x"},
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "life-all"},
        "spec": {"selector": {"app": "life-all"}, "ports": [{"port": 80}]},
    },
    scaled("Deployment", "life-deployment"),
    scaled("StatefulSet", "life-all"),
    pod("life-all-pod", hang="running"),
)
MADE = (
    (SECRETS, "life-secret"),
    (SERVICES, "life-all"),
    (DEPLOYMENTS, "life-deployment"),
    (STATEFUL_SETS, "life-all"),
    (PODS, "life-all-pod"),
)


async def present(client: KubeClient) -> list[bool]:
    return [await exists(client, resource, NAMESPACE, name) for resource, name in MADE]


async def test_an_evicted_appwrapper_leaves_nothing_and_runs_again(submitter: Submitter) -> None:
    client = submitter.client
    async with Life(client, NAMESPACE, "life-all") as life:
        created = await submitter.submit(appwrapper("life-all", *EVERYTHING))
        uid = created["metadata"]["uid"]
        ready = await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        assert await present(client) == [True] * 5

        await set_active(client, uid, False)
        away = await life.until_phase("Suspended", after=version_of(ready))
        assert true_conditions(away) == set()
        assert away["spec"]["suspend"] is True
        assert await present(client) == [False] * 5
        assert (
            await listed(client, PODS, NAMESPACE, "workload.codeflare.dev/appwrapper=life-all")
            == []
        )

        await set_active(client, uid, True)
        back = await life.until(
            lambda item: version_of(item) > version_of(away) and true_conditions(item) == RUNS,
            "all pods ready again",
        )
        assert back["status"]["attempt"] == 2
        assert "resettingCount" not in back["status"]

        await submitter.delete("life-all")
        await life.until_deleted()
        assert await present(client) == [False] * 5
        assert life.phases() == [
            "",
            "Suspended",
            "Resuming",
            "Running",
            "Suspending",
            "Suspended",
            "Resuming",
            "Running",
            "Terminating",
        ]
        await life.check_the_promise_to_kueue()


async def test_deletion_waits_for_pods_that_take_their_time(submitter: Submitter) -> None:
    client = submitter.client
    async with Life(client, NAMESPACE, "life-slow") as life:
        slow = slow_to_go(job("life-slow", hang="running", ignore_deletion_for="2s"))
        await submitter.submit(appwrapper("life-slow", slow))
        await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        await submitter.delete("life-slow")
        going = await life.until_phase("Terminating")
        assert true_conditions(going) >= {"QuotaReserved", "ResourcesDeployed", "DeletingResources"}
        await life.until_deleted()
        await life.check_the_promise_to_kueue()
    ignored = "simulation.localcluster.dev/deletion-at"
    assert any(ignored in event.object["metadata"]["annotations"] for event in life.pod_events)
    assert not await exists(client, JOBS, NAMESPACE, "life-slow")


async def test_deleted_while_it_waits_for_quota(submitter: Submitter) -> None:
    big = job("life-big", run_for="1s")
    big["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"nvidia.com/gpu": "999"},
        "limits": {"nvidia.com/gpu": "999"},
    }
    async with Life(submitter.client, NAMESPACE, "life-big") as life:
        await submitter.submit(appwrapper("life-big", big))
        waiting = await life.until_phase("Suspended")
        assert waiting["metadata"]["finalizers"] == [FINALIZER]
        await submitter.delete("life-big")
        await life.until_deleted()
        assert life.phases() == ["", "Suspended"]


async def test_a_component_deleted_by_another_client_fails_the_appwrapper(
    submitter: Submitter,
) -> None:
    client = submitter.client
    service: Any = {**EVERYTHING[1], "metadata": {"name": "life-lost"}}
    async with Life(client, NAMESPACE, "life-lost") as life:
        await submitter.submit(appwrapper("life-lost", service, job("life-lost", hang="running")))
        await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        await client.delete(
            SERVICES, NAMESPACE, "life-lost", uid=None, propagation=Propagation.BACKGROUND
        )
        failed = await life.until_phase("Failed")
        (unhealthy,) = [c for c in failed["status"]["conditions"] if c["type"] == "Unhealthy"]
        assert (unhealthy["reason"], unhealthy["message"]) == (
            "MissingComponent",
            "deleted by another client: Service life-lost",
        )
        await life.until(
            lambda item: (
                not true_conditions(item) & {"QuotaReserved", "ResourcesDeployed"}
                and version_of(item) > version_of(failed)
            ),
            "the quota given back",
        )
        await life.check_the_promise_to_kueue()
    assert not await exists(client, JOBS, NAMESPACE, "life-lost")


async def test_an_object_of_another_owner_is_not_changed(submitter: Submitter) -> None:
    client = submitter.client
    foreign: Any = {**EVERYTHING[1], "metadata": {"name": "life-foreign"}}
    await client.create(SERVICES, NAMESPACE, foreign)
    try:
        async with Life(client, NAMESPACE, "life-foreign") as life:
            await submitter.submit(
                appwrapper("life-foreign", foreign, job("life-foreign", run_for="1s"))
            )
            failed = await life.until_phase("Failed")
            (unhealthy,) = [c for c in failed["status"]["conditions"] if c["type"] == "Unhealthy"]
            assert (unhealthy["reason"], unhealthy["message"]) == (
                "CreateFailed",
                "spec.components[0]: Service life-foreign exists already and has no owner",
            )
            await life.until(lambda item: true_conditions(item) == {"Unhealthy"}, "its end")
        assert await exists(client, SERVICES, NAMESPACE, "life-foreign")
        assert not await exists(client, JOBS, NAMESPACE, "life-foreign")
    finally:
        await client.delete(
            SERVICES, NAMESPACE, "life-foreign", uid=None, propagation=Propagation.BACKGROUND
        )


async def test_an_object_that_is_not_valid_fails_it(submitter: Submitter) -> None:
    invalid = job("life-invalid", run_for="1s")
    invalid["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    async with Life(submitter.client, NAMESPACE, "life-invalid") as life:
        await submitter.submit(appwrapper("life-invalid", pod("life-first", run_for="9s"), invalid))
        failed = await life.until_phase("Failed")
        (unhealthy,) = [c for c in failed["status"]["conditions"] if c["type"] == "Unhealthy"]
        assert unhealthy["reason"] == "CreateFailed"
        assert unhealthy["message"].startswith("spec.components[1]: 422 Invalid: ")
        assert true_conditions(failed) >= {"QuotaReserved", "ResourcesDeployed"}
        await life.until(lambda item: true_conditions(item) == {"Unhealthy"}, "its end")
        await life.check_the_promise_to_kueue()
    assert not await exists(submitter.client, PODS, NAMESPACE, "life-first")


async def test_workers_that_never_end_are_removed_after_a_grace_period(
    cluster: RunningCluster, submitter: Submitter
) -> None:
    if "training-operator" not in cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    training = master_and_workers("life-stuck", hang="running")
    soon = {"failureGracePeriodDuration": "1s"}
    async with Life(submitter.client, NAMESPACE, "life-stuck") as life:
        await submitter.submit(appwrapper("life-stuck", training, annotations=soon))
        await life.until_phase("Succeeded")
        await life.check_the_promise_to_kueue()
    label = "workload.codeflare.dev/appwrapper=life-stuck"
    pods = await listed(submitter.client, PODS, NAMESPACE, label)
    staying = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    assert [pod["metadata"]["name"] for pod in staying] == ["life-stuck-master-0"]


async def test_a_helper_goes_when_the_rest_has_succeeded(submitter: Submitter) -> None:
    body = appwrapper(
        "life-helped", scaled("Deployment", "life-board", 1), job("life-helped", run_for="1s")
    )
    helper = {"workload.codeflare.dev.appwrapper/helper": "true"}
    body["spec"]["components"][0]["annotations"] = helper
    async with Life(submitter.client, NAMESPACE, "life-helped") as life:
        await submitter.submit(body)
        ended = await life.until_phase("Succeeded")
        assert true_conditions(ended) == {"ResourcesDeployed", "PodsReady"}
        await life.check_the_promise_to_kueue()
    assert not await exists(submitter.client, DEPLOYMENTS, NAMESPACE, "life-board")
    assert await exists(submitter.client, JOBS, NAMESPACE, "life-helped")


async def test_workers_that_outlive_their_master_hold_the_quota(
    cluster: RunningCluster, submitter: Submitter
) -> None:
    if "training-operator" not in cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    training = master_and_workers("life-torch", run_for="2500ms")
    async with Life(submitter.client, NAMESPACE, "life-torch") as life:
        await submitter.submit(appwrapper("life-torch", training))
        ended = await life.until_phase("Succeeded")
        await life.check_the_promise_to_kueue()
    pods = await listed(
        submitter.client, PODS, NAMESPACE, "workload.codeflare.dev/appwrapper=life-torch"
    )
    assert len(pods) == 3
    assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}
    assert [len(c["podSets"]) for c in ended["status"]["componentStatus"]] == [2]


async def test_a_failing_job_spends_its_retries(submitter: Submitter) -> None:
    fast = {"retryLimit": "1", "retryPausePeriodDuration": "0s"}
    async with Life(submitter.client, NAMESPACE, "life-fails") as life:
        await submitter.submit(
            appwrapper(
                "life-fails", job("life-fails", 1, run_for="200ms", exit_code="3"), annotations=fast
            )
        )
        failed = await life.until_phase("Failed")
        assert failed["status"]["resettingCount"] == 1
        assert failed["status"]["attempt"] == 2
        await life.until(lambda item: true_conditions(item) == {"Unhealthy"}, "its end")
        assert life.phases() == [
            "",
            "Suspended",
            "Resuming",
            "Running",
            "Resetting",
            "Resuming",
            "Running",
            "Failed",
        ]
        await life.check_the_promise_to_kueue()
