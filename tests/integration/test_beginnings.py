"""From the first look to the first pods: what is recorded, what it waits for, what a pod gets."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from shared.kube.client import KubeClient, PatchType, Propagation
from shared.kube.resource import APPWRAPPERS, NAMESPACES, PODS
from tests.appwrapper_life import (
    appwrapper,
    exists,
    job,
    listed,
    pod,
    scaled,
    true_conditions,
)
from tests.integration.followed import followed
from tests.integration.lives import (
    DEPLOYED,
    JOBS,
    QUOTA,
    READY,
    UNHEALTHY,
    Lives,
    condition,
    config_map,
    steps,
    unhealthy_reasons,
)
from tests.integration.registrations import unjudged
from tests.integration.test_samples import comes_to

BEGINNINGS = "beginnings"
WITHOUT_KUEUE = "kube-system"
PATH = "template.spec.template"
LONG = "1h"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def unqueued(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """A client, with a namespace in which nobody adds a queue: what is created there starts."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": BEGINNINGS}}
    await cluster.client.create(NAMESPACES, None, body)
    async with unjudged(cluster, BEGINNINGS):
        yield cluster.client
    await cluster.client.delete(
        NAMESPACES, None, BEGINNINGS, uid=None, propagation=Propagation.BACKGROUND
    )


async def test_pod_sets_are_recorded_before_anything_starts(unqueued: KubeClient) -> None:
    """Though it may start at once; Kueue reads them from there."""
    templates = [config_map("recorded"), job("recorded", 2), scaled("Deployment", "recorded", 3)]
    body = appwrapper("recorded", *templates, queued=False)
    async with followed(unqueued, BEGINNINGS, body) as life:
        first = await life.until_phase("Suspended")
        assert not first["spec"].get("suspend")
        assert "finalizers" not in first["metadata"]
        assert true_conditions(first) == set()
        recorded = [
            [(pods["path"], pods["replicas"]) for pods in each["podSets"]]
            for each in first["status"]["componentStatus"]
        ]
        assert recorded == [[], [(PATH, 2)], [(PATH, 3)]]
        await life.until_phase("Resuming")
        assert life.phases() == ["", "Suspended", "Resuming"]


INFO = {
    "labels": {"chosen": "yes"},
    "annotations": {"kueue.x-k8s.io/workload": "w"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
    "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
}
OWN_TOLERATION = {"key": "mine", "operator": "Exists", "effect": "NoSchedule"}


async def test_what_was_chosen_for_its_pods_is_added_to_what_the_template_says(
    unqueued: KubeClient,
) -> None:
    template = job("chosen", 1, hang="running")
    wanted = template["spec"]["template"]
    wanted["metadata"]["labels"] = {"mine": "stays"}
    wanted["spec"] |= {
        "nodeSelector": {"kubernetes.io/hostname": "gpu-node-3"},
        "tolerations": [OWN_TOLERATION],
    }
    body = appwrapper("chosen", template, queued=False)
    body["spec"]["components"][0]["podSetInfos"] = [INFO]
    async with followed(unqueued, BEGINNINGS, body) as life:
        await life.until_phase("Running")

        async def pods() -> list[JsonObject]:
            return await listed(
                unqueued, PODS, BEGINNINGS, "workload.codeflare.dev/appwrapper=chosen"
            )

        async def number() -> int:
            return len(await pods())

        await comes_to(number, 1)
        [made] = await pods()
        labels, annotations = made["metadata"]["labels"], made["metadata"]["annotations"]
        assert (labels["chosen"], labels["mine"]) == ("yes", "stays")
        assert annotations["kueue.x-k8s.io/workload"] == "w"
        assert "simulation.localcluster.dev/hang" in annotations
        assert made["spec"]["nodeSelector"] == {
            "kubernetes.io/hostname": "gpu-node-3",
            "kubernetes.io/os": "linux",
        }
        keys = [each["key"] for each in made["spec"]["tolerations"]]
        assert keys[:2] == ["mine", "spot"]
        assert made["spec"]["schedulingGates"] == INFO["schedulingGates"]
        assert READY not in true_conditions(life.events[-1].object)
        await unqueued.patch(
            PODS,
            BEGINNINGS,
            made["metadata"]["name"],
            [{"op": "remove", "path": "/spec/schedulingGates"}],
            PatchType.JSON,
        )
        await life.until(lambda item: READY in true_conditions(item), "its pod running")


async def test_one_with_a_queue_waits_for_what_kueue_writes_and_says_so(
    cluster: LocalCluster,
) -> None:
    """Kueue's webhook suspends it, and Kueue never looks at this namespace again; an admin does."""
    client = cluster.client
    body = appwrapper("unmanaged", job("unmanaged", 1, run_for="100ms"))
    async with followed(client, WITHOUT_KUEUE, body) as life:
        await life.until_phase("Suspended")
        start = {"spec": {"suspend": False}}
        await client.patch(APPWRAPPERS, WITHOUT_KUEUE, "unmanaged", start, PatchType.MERGE)
        waiting = await life.until(
            lambda item: "podSetInfos" in str((item.get("status") or {}).get("conditions")),
            "what it waits for",
        )
        assert not waiting["spec"].get("suspend")
        assert condition(waiting, QUOTA) == (
            "False",
            "Suspended",
            "it starts when Kueue writes podSetInfos; if Kueue does not, it may not manage this "
            "namespace, or not AppWrappers",
        )
        assert life.phases() == ["", "Suspended"]
        assert not await exists(client, JOBS, WITHOUT_KUEUE, "unmanaged")
        infos = [{"op": "add", "path": "/spec/components/0/podSetInfos", "value": [{}]}]
        await client.patch(APPWRAPPERS, WITHOUT_KUEUE, "unmanaged", infos, PatchType.JSON)
        await life.until_phase("Succeeded")
        assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]


async def test_what_was_created_before_a_component_that_cannot_be_stays_as_long_as_it_is_asked_to(
    lives: Lives,
) -> None:
    invalid = job("second", run_for="1s")
    invalid["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    body = appwrapper(
        "half-made",
        pod("first", hang="running"),
        invalid,
        annotations={"deletionOnFailureGracePeriodDuration": LONG},
    )
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY)[:2] == ("True", "CreateFailed")
    assert true_conditions(failed) == {QUOTA, DEPLOYED, UNHEALTHY}
    assert await lives.names(PODS, life) == ["first"]
    assert await lives.names(JOBS, life) == []
    first, second = failed["status"]["componentStatus"]
    assert [each["conditions"][0]["status"] for each in (first, second)] == ["Unknown", "False"]
    await lives.annotate("half-made", deletionOnFailureGracePeriodDuration="0s")
    await life.until(lambda item: true_conditions(item) == {UNHEALTHY}, "everything given back")
    assert await lives.names(PODS, life) == []


async def test_one_that_cannot_be_created_in_time_is_reset_and_comes_through_later(
    lives: Lives,
) -> None:
    soon: dict[str, Any] = {
        "admissionGracePeriodDuration": "1s",
        "retryPausePeriodDuration": "1s",
        "retryLimit": "50",
    }
    body = appwrapper(
        "in-time", job("in-time", 1, hang="running"), config_map("in-time"), annotations=soon
    )
    async with lives.forbidden("count/configmaps"):
        life = await lives.begin(body)
        resetting = await life.until_phase("Resetting")
        assert condition(resetting, UNHEALTHY).reason == "CreateFailed"
        assert resetting["status"]["resettingCount"] == 1
    ready = await life.until(lambda item: READY in true_conditions(item), "all pods ready")
    assert steps(life, QUOTA, DEPLOYED)[:5] == [
        ("",),
        ("Suspended",),
        ("Resuming", QUOTA, DEPLOYED),
        ("Resetting", QUOTA, DEPLOYED),
        ("Resetting", QUOTA),
    ]
    spent = ready["status"]["resettingCount"]
    assert ready["status"]["attempt"] == spent + 1
    assert life.phases() == [
        "",
        "Suspended",
        *(["Resuming", "Resetting"] * spent),
        "Resuming",
        "Running",
    ]
    assert unhealthy_reasons(life) == ["CreateFailed"]
