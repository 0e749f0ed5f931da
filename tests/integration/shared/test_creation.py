"""Creating components: in order, exactly once, and clear words where it cannot be done."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, PODS, JsonObject
from shared.injection.component import generated_name
from shared.kube.client import (
    Forbidden,
    KubeClient,
    NotFound,
    PatchType,
    Propagation,
    WatchEventType,
)
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.changes import changes
from tests.support.cluster.followed import followed, reported, until_reported
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.resources import JOBS, POD_GROUPS, RESOURCE_QUOTAS, SERVICES
from tests.support.patience import comes_to, until_found
from tests.support.team import NAMESPACE

RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


def config_map(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def until_its_end(client: KubeClient, body: JsonObject) -> JsonObject:
    """How it was when it failed; after that all of it went, and the quota with it."""
    async with followed(client, NAMESPACE, body) as life:
        failed = await life.until_phase("Failed")
        assert true_conditions(failed) >= {"QuotaReserved", "ResourcesDeployed", "Unhealthy"}
        await life.until(lambda item: true_conditions(item) == {"Unhealthy"}, "its end")
        await life.check_the_promise_to_kueue()
    return failed


def first_pods(life: Life) -> Callable[[], Awaitable[list[JsonObject] | None]]:
    """Returns what finds the pods that were made so far; None while there are none."""

    async def look() -> list[JsonObject] | None:
        added = [each for each in life.pod_events if each.type is WatchEventType.ADDED]
        return [each.object for each in added] or None

    return look


async def test_components_are_created_in_order_with_owner_and_labels(client: KubeClient) -> None:
    templates = [config_map("order-0"), config_map("order-1"), job("order-2", hang="running")]
    async with followed(client, NAMESPACE, appwrapper("order", *templates)) as life:
        running = await life.until_phase("Running")
        made = [
            await client.get(resource, NAMESPACE, f"order-{index}")
            for index, resource in enumerate((CONFIGMAPS, CONFIGMAPS, JOBS))
        ]
        owner = {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            "name": "order",
            "uid": running["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        for index, each in enumerate(made):
            assert each["metadata"]["ownerReferences"] == [owner]
            assert each["metadata"]["labels"].items() >= {
                "workload.codeflare.dev/appwrapper": "order",
                "workload.codeflare.dev/component": str(index),
            }.items()  # fmt: skip
        # At creation: the Job's status has changed it since.
        born = [int(each["metadata"]["resourceVersion"]) for each in made[:2]]
        assert born == sorted(born)
        # The Job's controller makes them a moment later.
        pods = await until_found(first_pods(life))
        assert all(born[1] < version_of(each) for each in pods)
        recorded = [
            (each["name"], each["kind"], each["apiVersion"], each["conditions"][0]["status"])
            for each in running["status"]["componentStatus"]
        ]
    assert recorded == [
        ("order-0", "ConfigMap", "v1", "True"),
        ("order-1", "ConfigMap", "v1", "True"),
        ("order-2", "Job", "batch/v1", "True"),
    ]


async def test_a_pod_group_is_created_before_the_job_that_it_gangs(
    cluster: RunningCluster, client: KubeClient
) -> None:
    if "coscheduler" not in cluster.options.components:
        pytest.skip("needs the coscheduler: --with coscheduler")
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "ganged"},
        "spec": {"minMember": 2},
    }
    training = job("ganged", run_for="300ms")
    labels = training["spec"]["template"]["metadata"]["labels"]
    labels["scheduling.x-k8s.io/pod-group"] = "ganged"
    async with followed(client, NAMESPACE, appwrapper("ganged", group, training)) as life:
        ended = await life.until_phase("Succeeded")
        recorded = [each["podSets"] for each in ended["status"]["componentStatus"]]
        assert [len(each) for each in recorded] == [0, 1]
        made = await client.get(POD_GROUPS, NAMESPACE, "ganged")
        await life.caught_up()
        # Their resourceVersions say nothing: its status is written once it has pods.
        assert made["metadata"]["creationTimestamp"] <= min(
            event.object["metadata"]["creationTimestamp"] for event in life.pod_events
        )
    assert not await exists(client, POD_GROUPS, NAMESPACE, "ganged")


async def test_conflicts_between_kueues_choice_and_the_template_are_named(
    client: KubeClient,
) -> None:
    training = job("disagree")
    labels = training["spec"]["template"]["metadata"]["labels"]
    labels["kueue.x-k8s.io/podset"] = "mine"
    failed = await until_its_end(client, appwrapper("disagree", training))
    assert reported(failed, "Unhealthy") == (
        "True",
        "CreateFailed",
        "spec.components[0]: template.spec.template.metadata.labels[kueue.x-k8s.io/podset]: "
        "the template has 'mine', the quota was reserved for 'disagree-0'",
    )
    assert not await exists(client, JOBS, NAMESPACE, "disagree")


async def test_two_components_that_would_be_one_object_are_refused(client: KubeClient) -> None:
    body = appwrapper("twins", config_map("twin"), job("twins"), config_map("twin"))
    failed = await until_its_end(client, body)
    assert reported(failed, "Unhealthy") == (
        "True",
        "CreateFailed",
        "spec.components[2]: ConfigMap twin is also spec.components[0]: "
        "give each component its own name",
    )
    assert not await exists(client, CONFIGMAPS, NAMESPACE, "twin")
    assert not await exists(client, JOBS, NAMESPACE, "twins")


LONG = "a" * 250


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (job("l" * 64), "spec.components[1]: 422 Invalid: "),
        (pod("l" * 254), "spec.components[1]: 422 Invalid: "),
        (job("A_name"), "spec.components[1]: 422 Invalid: "),
    ],
    ids=["a Job of 64", "a Pod of 254", "impossible"],
)
async def test_an_invalid_name_is_reported_with_the_api_servers_message(
    client: KubeClient, template: JsonObject, says: str
) -> None:
    body = appwrapper("too-long", config_map("too-long"), template)
    _, reason, message = reported(await until_its_end(client, body), "Unhealthy")
    assert (reason, message[: len(says)]) == ("CreateFailed", says)
    assert template["metadata"]["name"][:40] in message
    assert not await exists(client, CONFIGMAPS, NAMESPACE, "too-long")


async def test_a_generated_name_is_new_with_every_attempt_and_used_once(
    client: KubeClient,
) -> None:
    """Another client has the name that the second attempt would give its ConfigMap."""
    training = job("", pods=1, run_for="200ms", fail_attempts="1", exit_code="1")
    training["metadata"] = {"generateName": LONG}
    data = config_map("") | {"metadata": {"generateName": "data-"}}
    # So that the name is taken before the second attempt begins.
    paused = AT_ONCE | {"retryPausePeriodDuration": "1h"}
    made: list[str] = []

    async def watch(version: str) -> None:
        async with aclosing(changes(client, JOBS, NAMESPACE, resource_version=version)) as events:
            async for event in events:
                made.extend([event.object["metadata"]["name"]] * (event.type == "ADDED"))

    version = (await anext(client.pages(JOBS, NAMESPACE))).resource_version
    watching = asyncio.create_task(watch(version))
    async with followed(
        client, NAMESPACE, appwrapper("again", training, data, annotations=paused)
    ) as life:
        uid = (await client.get(APPWRAPPERS, NAMESPACE, "again"))["metadata"]["uid"]
        taken = generated_name("data-", uid, 2, 1)
        foreign = await client.create(CONFIGMAPS, NAMESPACE, config_map(taken))
        go_on = {"metadata": {"annotations": prefixed(retryPausePeriodDuration="0s")}}
        await client.patch(APPWRAPPERS, NAMESPACE, "again", go_on, PatchType.MERGE)
        ended = await life.until_phase("Succeeded")
        first = await life.until_phase("Resuming")
        names = [item["status"]["componentStatus"][0]["name"] for item in (first, ended)]

        async def made_so_far() -> list[str]:
            return made[: len(names)]

        await comes_to(made_so_far, names)  # the watch may be behind
        second = generated_name("data-", uid, 2, 1, taken)
        assert ended["status"]["componentStatus"][1]["name"] == second
        assert await exists(client, CONFIGMAPS, NAMESPACE, second)
        assert await client.get(CONFIGMAPS, NAMESPACE, taken) == foreign
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    assert made == names
    assert len(set(names)) == 2
    assert [(name[:58], len(name)) for name in names] == [("a" * 58, 63)] * 2


async def test_a_component_that_its_own_controller_deletes_at_once_fails_it(
    client: KubeClient,
) -> None:
    async def delete_at_once(version: str) -> None:
        seen = changes(client, CONFIGMAPS, NAMESPACE, resource_version=version)
        async with aclosing(seen) as events:
            async for event in events:
                name = event.object["metadata"]["name"]
                if event.type is WatchEventType.ADDED and name == "short-lived":
                    await client.delete(
                        CONFIGMAPS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
                    )

    version = (await anext(client.pages(CONFIGMAPS, NAMESPACE))).resource_version
    deleting = asyncio.create_task(delete_at_once(version))
    try:
        body = appwrapper("short-lived", config_map("short-lived"), job("short", hang="running"))
        failed = await until_its_end(client, body)
    finally:
        deleting.cancel()
        with suppress(asyncio.CancelledError):
            await deleting
    assert reported(failed, "Unhealthy") == (
        "True",
        "MissingComponent",
        "deleted by another client: ConfigMap short-lived",
    )
    assert not await exists(client, JOBS, NAMESPACE, "short")


async def test_a_quota_that_forbids_creation_is_reported_until_it_allows_it(
    client: KubeClient,
) -> None:
    quota: dict[str, Any] = {"metadata": {"name": "no-services"}, "spec": {"hard": {"services": 0}}}
    await client.create(RESOURCE_QUOTAS, NAMESPACE, quota)

    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "forbidden"},
        "spec": {"ports": [{"port": 80}]},
    }

    async def is_enforced() -> bool:
        """Its own watch shows the API server the quota, and its status."""
        try:
            await client.create(SERVICES, NAMESPACE, service, dry_run=True)
        except Forbidden as error:
            return "exceeded quota: no-services" in str(error)
        return False

    await comes_to(is_enforced, True)
    patient = {"admissionGracePeriodDuration": "1h"}
    try:
        body = appwrapper(
            "forbidden", service, job("forbidden", hang="running"), annotations=patient
        )
        async with followed(client, NAMESPACE, body) as life:
            held = await until_reported(life, "ResourcesDeployed", "CreateFailed")
            status, _, message = reported(held, "ResourcesDeployed")
            assert status == "True"
            assert message.startswith('spec.components[0]: 403 Forbidden: services "forbidden" is ')
            assert "exceeded quota: no-services" in message
            assert not await exists(client, JOBS, NAMESPACE, "forbidden")
            more = {"spec": {"hard": {"services": 9}}}
            await client.patch(RESOURCE_QUOTAS, NAMESPACE, "no-services", more, PatchType.MERGE)
            await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
            # Not one status for each try.
            reports = [e for e in life.events if "exceeded quota" in str(e.object.get("status"))]
            assert len(reports) <= 3, life.story()
        assert "Resetting" not in life.phases()
    finally:
        with suppress(NotFound):
            await client.delete(
                RESOURCE_QUOTAS,
                NAMESPACE,
                "no-services",
                uid=None,
                propagation=Propagation.BACKGROUND,
            )
    assert (
        await listed(client, PODS, NAMESPACE, "workload.codeflare.dev/appwrapper=forbidden") == []
    )
