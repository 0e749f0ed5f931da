"""The controllers that own pods, and those that end namespaces, stand still at the worst moment.

No pod outlives its quota: a Deployment of which only the ReplicaSet exists makes its pods as soon
as its controller goes on. The end of a namespace is said while nobody carries it out.
"""

import asyncio
import random
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, NAMESPACES, PODS, JsonObject, Resource
from shared.kube.client import NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions
from tests.support.builders.jobs import job, scaled
from tests.support.builders.pods import pod
from tests.support.cluster.hot_loops import passes
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.lives import config_map
from tests.support.cluster.registrations import unjudged
from tests.support.cluster.resources import DEPLOYMENTS, JOBS, REPLICA_SETS, WORKLOADS
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, READY, condition
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.kueue

OWNERS = "kube-controller-manager"
REPLICAS = 20
ROUNDS = 4
AT_ONCE = 4
PODS_AT_ONCE = 8
ENDING = "stopped-owner-ending"
_NUDGES = count()


@contextmanager
def standing_still(cluster: LocalCluster) -> Iterator[None]:
    """The controller manager hears nothing and does nothing meanwhile."""
    child = cluster.processes[OWNERS].child
    child.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        child.signal(signal.SIGCONT)


@asynccontextmanager
async def submitted(cluster: LocalCluster, body: JsonObject) -> AsyncGenerator[Life, None]:
    """The life of one AppWrapper, which is gone in the end."""
    name = body["metadata"]["name"]
    async with Life(cluster.client, NAMESPACE, name) as life:
        await cluster.client.create(APPWRAPPERS, NAMESPACE, body)
        try:
            yield life
        finally:
            with suppress(NotFound):
                await delete(cluster, APPWRAPPERS, name)
            await life.until_deleted()


async def delete(cluster: LocalCluster, resource: Resource, name: str) -> None:
    await cluster.client.delete(
        resource, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
    )


def replica_set_of(deployment: JsonObject) -> JsonObject:
    """As the Deployment's controller would have made it."""
    metadata = deployment["metadata"]
    template = deployment["spec"]["template"]
    hashed = {"pod-template-hash": "abc"}
    labels = {**template["metadata"]["labels"], **hashed}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name']}-abc",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "replicas": deployment["spec"]["replicas"],
            "selector": {
                "matchLabels": {**deployment["spec"]["selector"]["matchLabels"], **hashed}
            },
            "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
        },
    }


async def deleted(cluster: LocalCluster, name: str) -> None:
    await delete(cluster, APPWRAPPERS, name)


async def suspended(cluster: LocalCluster, name: str) -> None:
    """Kueue evicts it for good, as a preemption does for a while."""
    owner = await cluster.client.get(APPWRAPPERS, NAMESPACE, name)
    [workload] = [
        each["metadata"]["name"]
        for each in await listed(cluster.client, WORKLOADS, NAMESPACE)
        if owner["metadata"]["uid"]
        in [one["uid"] for one in each["metadata"].get("ownerReferences") or ()]
    ]
    patch = {"spec": {"active": False}}
    await cluster.client.patch(WORKLOADS, NAMESPACE, workload, patch, PatchType.MERGE)


async def failed(cluster: LocalCluster, name: str) -> None:
    """Somebody deletes another of its components."""
    await delete(cluster, CONFIGMAPS, name)


WAYS_OUT = {"Terminating": deleted, "Suspending": suspended, "Failed": failed}


async def until_it_deletes(life: Life, during: str) -> None:
    await life.until(
        lambda item: phase(item) == during and DELETING in true_conditions(item),
        f"the deletion in {during}",
    )


async def until_given_back(life: Life, during: str) -> None:
    """The AppWrapper is gone, or its conditions say that its quota is free."""
    if during == "Terminating":
        await life.until_deleted()
        return
    seen = len(life.events)
    await life.until(
        lambda item: (
            not true_conditions(item) & {QUOTA, DEPLOYED} and "attempt" in item.get("status", {})
        ),
        f"the quota given back after {seen} events",
    )


async def nudge(cluster: LocalCluster, name: str) -> None:
    """Has the controller look at it, though nothing has changed but a label."""
    labels = {"metadata": {"labels": {"nudged": str(next(_NUDGES))}}}
    await cluster.client.patch(APPWRAPPERS, NAMESPACE, name, labels, PatchType.MERGE)


async def looked_at_again(cluster: LocalCluster, words: ControllerWords, name: str) -> JsonObject:
    """As it is after at least one pass over it that nothing but its labels gave a reason for."""
    for _ in range(2):  # the first pass to end may have begun before
        before = passes(words)
        await nudge(cluster, name)

        async def another_pass(before: float = before) -> bool:
            return passes(words) > before

        await comes_to(another_pass, True)
    return await cluster.client.get(APPWRAPPERS, NAMESPACE, name)


async def is_gone_when_nudged(cluster: LocalCluster, name: str) -> bool:
    """What is forced is looked at every half minute, if nothing happens."""
    try:
        await nudge(cluster, name)
    except NotFound:
        return True
    return False


@pytest.mark.parametrize("during", WAYS_OUT)
async def test_between_replica_set_and_pods(
    cluster: LocalCluster, controller_words: ControllerWords, during: str
) -> None:
    """Stopped first, and its ReplicaSet put there by hand: exactly between the two."""
    name = f"between-{during.lower()}"
    body = appwrapper(name, config_map(name), scaled("Deployment", name, REPLICAS))
    with standing_still(cluster):
        async with submitted(cluster, body) as life:
            await life.until_phase("Running")
            deployment = await cluster.client.get(DEPLOYMENTS, NAMESPACE, name)
            await cluster.client.create(REPLICA_SETS, NAMESPACE, replica_set_of(deployment))
            await WAYS_OUT[during](cluster, name)
            await until_it_deletes(life, during)
            # It waits for who stands still: nothing may be given back however long that takes.
            await comes_to(lambda: is_being_deleted(cluster, name), True)
            held = await looked_at_again(cluster, controller_words, name)
            assert true_conditions(held) >= {QUOTA, DEPLOYED, DELETING}

            cluster.processes[OWNERS].child.signal(signal.SIGCONT)
            await until_given_back(life, during)
            await life.check_the_promise_to_kueue()
            assert await left_of(cluster, name) == []


async def is_being_deleted(cluster: LocalCluster, name: str) -> bool:
    item = await cluster.client.get(DEPLOYMENTS, NAMESPACE, name)
    return "deletionTimestamp" in item["metadata"]


@pytest.mark.long
async def test_an_orphaned_replica_set_creates_no_pods(
    cluster: LocalCluster, controller_words: ControllerWords
) -> None:
    """Who deletes a Deployment by hand takes away what would have taken its ReplicaSet away."""
    name = "left-behind"
    body = appwrapper(name, scaled("Deployment", name, REPLICAS))
    async with submitted(cluster, body) as life:
        with standing_still(cluster):
            await life.until_phase("Running")
            deployment = await cluster.client.get(DEPLOYMENTS, NAMESPACE, name)
            await cluster.client.create(REPLICA_SETS, NAMESPACE, replica_set_of(deployment))
            await delete(cluster, DEPLOYMENTS, name)
            await until_it_deletes(life, "Failed")
            held = await looked_at_again(cluster, controller_words, name)
            assert true_conditions(held) >= {QUOTA, DEPLOYED, DELETING}
        await until_given_back(life, "Failed")
        await life.check_the_promise_to_kueue()
        assert await left_of(cluster, name) == []


async def test_a_replica_set_that_was_orphaned_goes_with_its_pods(cluster: LocalCluster) -> None:
    name = "orphaned"
    body = appwrapper(name, scaled("Deployment", name, REPLICAS))
    async with submitted(cluster, body) as life:
        await life.until(lambda item: READY in true_conditions(item), "all pods ready")
        await cluster.client.delete(
            DEPLOYMENTS, NAMESPACE, name, uid=None, propagation=Propagation.ORPHAN
        )
        await until_given_back(life, "Failed")
        await life.check_the_promise_to_kueue()
        assert await left_of(cluster, name) == []


async def left_of(cluster: LocalCluster, name: str) -> list[str]:
    items = await listed(cluster.client, REPLICA_SETS, NAMESPACE)
    return [found for each in items if (found := each["metadata"]["name"]).startswith(name)]


@pytest.mark.long
@pytest.mark.parametrize("number", range(ROUNDS))
async def test_at_any_moment(cluster: LocalCluster, number: int) -> None:
    """Several Deployments and Jobs at once, on all ways out, while their owner comes and goes."""
    chance = random.Random(number)
    ways = [chance.choice(list(WAYS_OUT)) for _ in range(AT_ONCE)]
    names = [f"moment-{number}-{index}" for index in range(AT_ONCE)]

    async def live(name: str, during: str) -> None:
        makers = (scaled("Deployment", name, PODS_AT_ONCE), job(name, PODS_AT_ONCE, hang="running"))
        body = appwrapper(name, config_map(name), makers[names.index(name) % 2])
        async with submitted(cluster, body) as life:
            await life.until_phase("Running")
            await asyncio.sleep(chance.uniform(0, 0.3))
            await WAYS_OUT[during](cluster, name)
            await until_given_back(life, during)
            await life.check_the_promise_to_kueue()

    async def come_and_go() -> None:
        while True:
            await asyncio.sleep(chance.uniform(0, 0.2))
            with standing_still(cluster):
                await asyncio.sleep(chance.uniform(0.05, 0.4))

    disturbance = asyncio.create_task(come_and_go())
    try:
        await asyncio.gather(*map(live, names, ways))
    finally:
        disturbance.cancel()
        await asyncio.gather(disturbance, return_exceptions=True)


@pytest.mark.long  # its own look into what is owned comes after 20 s
async def test_a_stopped_garbage_collector_is_named_and_bypassed_without_dependants(
    cluster: LocalCluster,
) -> None:
    """Pods are forced, and what is proved to own nothing any more goes without waiting for it."""
    name = "no-collector"
    body = appwrapper(
        name,
        config_map(name),
        pod(name, hang="running"),
        annotations={"forcefulDeletionGracePeriodDuration": "1s"},
    )
    async with submitted(cluster, body) as life:
        await life.until(lambda item: READY in true_conditions(item), "its pod ready")
        with standing_still(cluster):
            await delete(cluster, APPWRAPPERS, name)
            await comes_to(lambda: is_gone_when_nudged(cluster, name), True)
            await life.until_deleted()
            await life.check_the_promise_to_kueue()
            assert not await exists(cluster.client, CONFIGMAPS, NAMESPACE, name)
            assert not await exists(cluster.client, PODS, NAMESPACE, name)


@pytest.mark.long
async def test_dependants_of_a_component_are_named_and_awaited(
    cluster: LocalCluster, controller_words: ControllerWords
) -> None:
    name = "owns"
    body = appwrapper(
        name,
        scaled("Deployment", name, REPLICAS),
        annotations={"forcefulDeletionGracePeriodDuration": "1s"},
    )
    with standing_still(cluster):
        async with submitted(cluster, body) as life:
            await life.until_phase("Running")
            deployment = await cluster.client.get(DEPLOYMENTS, NAMESPACE, name)
            await cluster.client.create(REPLICA_SETS, NAMESPACE, replica_set_of(deployment))
            await delete(cluster, APPWRAPPERS, name)
            message = f"Deployment {name} waits for ReplicaSet {name}-abc"
            held = await life.until(
                lambda item: (
                    DELETING in true_conditions(item)
                    and condition(item, DELETING).message == message
                ),
                message,
            )
            assert true_conditions(held) >= {QUOTA, DEPLOYED}
            # Forced as well by now, and still there.
            await asyncio.sleep(1)
            held = await looked_at_again(cluster, controller_words, name)
            assert true_conditions(held) >= {QUOTA, DEPLOYED}
            assert await exists(cluster.client, DEPLOYMENTS, NAMESPACE, name)
            cluster.processes[OWNERS].child.signal(signal.SIGCONT)
            await life.until_deleted()
            await life.check_the_promise_to_kueue()


async def test_the_end_of_its_namespace_is_reported_and_is_no_failure(
    cluster: LocalCluster,
) -> None:
    client = cluster.client
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ENDING}}
    await client.create(NAMESPACES, None, namespace)

    async def gone(resource: Resource, where: str | None, name: str) -> None:
        await client.delete(resource, where, name, uid=None, propagation=Propagation.BACKGROUND)

    async with Life(client, ENDING, "homeless") as life:
        async with unjudged(cluster, ENDING):
            body = appwrapper("homeless", job("homeless", hang="running"), queued=False)
            await client.create(APPWRAPPERS, ENDING, body)
            await life.until(lambda item: READY in true_conditions(item), "all pods ready")
        with standing_still(cluster):
            await gone(NAMESPACES, None, ENDING)
            await gone(JOBS, ENDING, "homeless")
            reported = await life.until(
                lambda item: (
                    condition(item, DEPLOYED).reason == "NamespaceTerminating"
                    if true_conditions(item)
                    else False
                ),
                "the end of the namespace",
            )
        assert condition(reported, DEPLOYED) == (
            "True",
            "NamespaceTerminating",
            "its namespace is being deleted, and everything in it",
        )
        assert phase(reported) == "Running"
        await life.until_deleted()
        assert "Failed" not in life.phases()
    await comes_to(lambda: exists(client, NAMESPACES, None, ENDING), False)
