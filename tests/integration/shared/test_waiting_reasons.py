"""What waits in a queue says why: in its own condition QuotaReserved, by Kueue's real objects."""

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import PatchType
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.followed import followed, until_reported
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import CLUSTER_QUEUES, LOCAL_QUEUES
from tests.support.life_record import QUOTA, Condition, condition
from tests.support.patience import comes_to
from tests.support.team import own

pytestmark = pytest.mark.kueue

CLUSTER_QUEUE = f"{NAMESPACE}-cluster-queue"
WITHOUT_KUEUE = "kube-system"
UNSELECTED = (
    "namespace kube-system does not match Kueue's managedJobsNamespaceSelector, which asks for the"
    " labels mlbatch-team-namespace=true. Until an admin changes that, nothing starts it"
)
STOPPED = own("stopped-cluster-queue")


def waits(name: str, queue: str, cpu: str = "1") -> JsonObject:
    body = requesting(cpu, job(name, run_for="100ms"))
    return appwrapper(name, body, labels={"kueue.x-k8s.io/queue-name": queue})


def local_queue(name: str, cluster_queue: str) -> JsonObject:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name},
        "spec": {"clusterQueue": cluster_queue},
    }


async def test_a_missing_queue_is_reported_at_once_until_it_exists(lives: Lives) -> None:
    life = await lives.begin(waits("mistyped", "defualt"))
    message = (
        f"LocalQueue defualt does not exist in namespace {NAMESPACE}. Create it, or set the label"
        " kueue.x-k8s.io/queue-name to another queue (kubectl get localqueues)"
    )
    waiting = await until_reported(life, QUOTA, "QueueUnusable")
    assert condition(waiting, QUOTA) == ("False", "QueueUnusable", message)
    assert await lives.event_messages("mistyped", "QueueUnusable") == [f"cannot start: {message}"]
    await lives.client.create(LOCAL_QUEUES, NAMESPACE, local_queue("defualt", CLUSTER_QUEUE))
    try:
        await life.until_phase("Succeeded")
        assert await lives.event_messages("mistyped", "QueueUnusable") == [
            f"cannot start: {message}"
        ]
    finally:
        await removed(lives.client, LOCAL_QUEUES, NAMESPACE, "defualt")


async def test_a_stopped_cluster_queue_is_named(lives: Lives) -> None:
    client = lives.client
    team = await client.get(CLUSTER_QUEUES, None, CLUSTER_QUEUE)
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": STOPPED},
        "spec": {**team["spec"], "stopPolicy": "Hold"},
    }
    try:
        await client.create(CLUSTER_QUEUES, None, body)
        await client.create(LOCAL_QUEUES, NAMESPACE, local_queue("stopped", STOPPED))
        life = await lives.begin(waits("held", "stopped"))
        waiting = await until_reported(life, QUOTA, "QueueUnusable")
        assert condition(waiting, QUOTA).message == (
            f"an admin stopped ClusterQueue {STOPPED} (stopPolicy: Hold). Kueue admits from it"
            " again when stopPolicy is None"
        )
        go_on = {"spec": {"stopPolicy": "None"}}
        await client.patch(CLUSTER_QUEUES, None, STOPPED, go_on, PatchType.MERGE)
        await life.until_phase("Succeeded")
    finally:
        await removed(client, LOCAL_QUEUES, NAMESPACE, "stopped")
        await removed(client, CLUSTER_QUEUES, None, STOPPED)


async def test_kueues_reason_is_in_the_condition(lives: Lives) -> None:
    life = await lives.begin(waits("large", "default-queue", cpu="3"))
    await life.until(
        lambda item: "insufficient" in str((item.get("status") or {}).get("conditions")),
        "Kueue's reason",
    )

    async def reports() -> list[Condition]:
        """What Kueue says now, as the condition says it; and the condition."""
        [kueue] = [
            each["message"]
            for each in (await lives.workload(life))["status"]["conditions"]
            if (each["type"], each["status"]) == (QUOTA, "False")
        ]
        ours = await lives.client.get(APPWRAPPERS, NAMESPACE, "large")
        message = Condition("False", "Suspended", f"Kueue reports: {kueue}")
        return [message, condition(ours, QUOTA)]

    async def agree() -> bool:
        return len(set(await reports())) == 1

    await comes_to(agree, True)


async def test_a_namespace_that_kueue_leaves_alone_is_named_at_once(
    cluster: RunningCluster,
) -> None:
    client, queue = cluster.client, own("unselected")
    await client.create(LOCAL_QUEUES, WITHOUT_KUEUE, local_queue(queue, CLUSTER_QUEUE))
    try:
        async with followed(client, WITHOUT_KUEUE, waits("unselected", queue)) as life:
            waiting = await until_reported(life, QUOTA, "NoWorkload")
            assert condition(waiting, QUOTA).message == UNSELECTED
    finally:
        await removed(client, LOCAL_QUEUES, WITHOUT_KUEUE, queue)
