"""What is in the way of a deletion is named, never overridden, and holds the quota meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, NODES, PODS, JsonObject, Resource
from shared.kube.client import Invalid, KubeClient, PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.at_once import UnderWay, under_way
from tests.support.cluster.deletion_blockers import HOLD, blocked, set_finalizers
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.lives import NAMESPACE, Lives, config_map
from tests.support.cluster.resources import JOBS
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, READY, condition
from tests.support.patience import comes_to
from tests.support.team import FIRST_NODE

RUNS = {QUOTA, DEPLOYED, READY}
POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
SILENT = "simulation.localcluster.dev/heartbeat"
SILENCED = f"gpu-node-{FIRST_NODE + 7}"  # the other cases' pods stay away from it


def soon(name: str, *templates: JsonObject) -> JsonObject:
    """Its forceful deletion begins after a second."""
    return appwrapper(name, *templates, annotations={"forcefulDeletionGracePeriodDuration": "1s"})


async def deletion_of(lives: Lives, life: Life) -> None:
    await lives.delete(APPWRAPPERS, life.events[0].object["metadata"]["name"])


async def eviction_of(lives: Lives, life: Life) -> None:
    await lives.set_active(life, False)


async def a_finalizer_of_others_is_named_and_stays_when_deleted(lives: Lives) -> None:
    await _a_finalizer_of_others_is_named_and_stays(lives, deletion_of, "Terminating")


async def a_finalizer_of_others_is_named_and_stays_when_evicted(lives: Lives) -> None:
    await _a_finalizer_of_others_is_named_and_stays(lives, eviction_of, "Suspending")


async def _a_finalizer_of_others_is_named_and_stays(lives: Lives, begin: Any, during: str) -> None:
    name = f"held-{during.lower()}"
    life = await lives.begin(soon(name, job(name, hang="running")))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    await set_finalizers(lives.client, JOBS, name, HOLD)
    try:
        await begin(lives, life)
        message = f"Job {name} has the finalizer {HOLD}"
        held = await blocked(life, message)
        assert phase(held) == during
        assert message in await lives.event_messages(name, "DeletionBlocked", until=message)
        assert await lives.names(PODS, life) == []
        item = await lives.client.get(JOBS, NAMESPACE, name)
        assert HOLD in item["metadata"]["finalizers"]
    finally:
        await set_finalizers(lives.client, JOBS, name)
    if during == "Terminating":
        await life.until_deleted()
    else:
        await life.until(
            lambda each: (
                phase(each) == "Suspended"
                and version_of(each) > version_of(held)
                and not true_conditions(each)
            ),
            "the quota given back",
        )
    await life.check_the_promise_to_kueue()


async def a_pod_with_a_finalizer_of_others_is_named_once_it_has_ended(lives: Lives) -> None:
    life = await lives.begin(soon("held-pod", pod("held-pod", hang="running")))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    await set_finalizers(lives.client, PODS, "held-pod", HOLD)
    await lives.delete(APPWRAPPERS, "held-pod")
    try:
        await life.until(
            lambda item: (
                DELETING in true_conditions(item)
                and f"Pod held-pod has the finalizer {HOLD}" in condition(item, DELETING).message
            ),
            "the pod's finalizer named",
        )
        # It was forced meanwhile: that takes off no finalizer of others either.
        assert await lives.names(PODS, life) == ["held-pod"]
    finally:
        await set_finalizers(lives.client, PODS, "held-pod")
    await life.until_deleted()
    await life.check_the_promise_to_kueue()


async def pods_that_do_not_end_are_removed_after_the_grace_period(lives: Lives) -> None:
    """Case 67: pods without grace first, then their components."""
    stubborn = job("stubborn", hang="running", ignore_deletion_for="1h")
    stubborn["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 3600
    patient = {"forcefulDeletionGracePeriodDuration": "1h"}
    life = await lives.begin(appwrapper("stubborn", stubborn, annotations=patient))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    await lives.delete(APPWRAPPERS, "stubborn")

    label = "workload.codeflare.dev/appwrapper=stubborn"

    async def leaving() -> int:
        pods = await listed(lives.client, PODS, NAMESPACE, label)
        return sum("deletionTimestamp" in each["metadata"] for each in pods)

    graces = [
        each["spec"]["terminationGracePeriodSeconds"]
        for each in await listed(lives.client, PODS, NAMESPACE, label)
    ]
    assert graces == [600, 600]  # the operator's own period, whatever the annotation asks
    await comes_to(leaving, 2)  # the garbage collector asks them one by one
    await lives.annotate("stubborn", forcefulDeletionGracePeriodDuration="1s")
    await blocked(life, "2 of 2 pods are within their grace period")
    await life.until_deleted()
    await life.check_the_promise_to_kueue()
    assert not await exists(lives.client, JOBS, NAMESPACE, "stubborn")


@asynccontextmanager
async def undeletable(client: KubeClient, message: str) -> AsyncGenerator[None, None]:
    """ConfigMaps with the label `keep` may not be deleted, says an admission policy meanwhile.

    In this namespace alone: elsewhere other tests delete ConfigMaps, and whole namespaces.
    """
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    here = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}
    labels = "oldObject.metadata.labels"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": POLICIES.kind,
        "metadata": {"name": "undeletable"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": here,
                "resourceRules": [{**rule, "operations": ["DELETE"]}],
            },
            "validations": [
                {"expression": f"!has({labels}) || !has({labels}.keep)", "message": message}
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": BINDINGS.kind,
        "metadata": {"name": "undeletable"},
        "spec": {"policyName": "undeletable", "validationActions": ["Deny"]},
    }
    await client.create(POLICIES, None, policy)
    await client.create(BINDINGS, None, binding)
    try:
        yield
    finally:
        for resource in (BINDINGS, POLICIES):
            await client.delete(
                resource, None, "undeletable", uid=None, propagation=Propagation.BACKGROUND
            )


def kept(name: str) -> JsonObject:
    body = config_map(name)
    body["metadata"]["labels"] = {"keep": "me"}
    return body


async def is_enforced(client: KubeClient) -> bool:
    """Asked of a ConfigMap that only the test needs."""
    if not await exists(client, CONFIGMAPS, NAMESPACE, "probe"):
        await client.create(CONFIGMAPS, NAMESPACE, kept("probe"))
    try:
        await client.delete(
            CONFIGMAPS, NAMESPACE, "probe", uid=None, propagation=Propagation.BACKGROUND
        )
    except Invalid:
        return True
    return False


async def who_refuses_a_delete_is_quoted_and_keeps_nothing_else(lives: Lives) -> None:
    name = "refused"
    life = await lives.begin(soon(name, kept(name), job(name, hang="running")))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    async with undeletable(lives.client, "first ask the archive"):
        await comes_to(lambda: is_enforced(lives.client), True)
        await lives.delete(APPWRAPPERS, name)
        await blocked(
            life,
            f'ConfigMap {name} may not be deleted: configmaps "{name}" is forbidden:'
            " ValidatingAdmissionPolicy 'undeletable' with binding 'undeletable' denied request:"
            " first ask the archive",
        )
        await comes_to(lambda: exists(lives.client, JOBS, NAMESPACE, name), False)
        assert await exists(lives.client, CONFIGMAPS, NAMESPACE, name)
    await life.until_deleted()
    assert not await exists(lives.client, CONFIGMAPS, NAMESPACE, name)
    await lives.delete(CONFIGMAPS, "probe")


async def is_silent(client: KubeClient, node: str) -> bool:
    item = await client.get(NODES, None, node)
    taints = {taint["key"] for taint in item["spec"].get("taints") or ()}
    return "node.kubernetes.io/unreachable" in taints


async def set_silent(client: KubeClient, node: str, value: str | None) -> None:
    patch = {"metadata": {"labels": {SILENT: value}}}
    await client.patch(NODES, None, node, patch, PatchType.MERGE)


async def until_silent(client: KubeClient, node: str, silent: bool) -> None:
    """The node controller waits for most of a minute."""
    async with asyncio.timeout(stretched(300.0)):
        while True:
            if await is_silent(client, node) is silent:
                return
            await asyncio.sleep(0.2)


async def what_is_removed_without_word_from_its_node_is_warned_of(lives: Lives) -> None:
    """The object goes; whether its process does, nobody knows.

    Shows also that a simulated node without heartbeat becomes unreachable, and comes back.
    """
    node, client = SILENCED, lives.client
    pinned = job("cut-off", hang="running")
    spec = pinned["spec"]["template"]["spec"]
    spec |= {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}],
        "terminationGracePeriodSeconds": 1,
    }
    life = await lives.begin(soon("cut-off", pinned))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    pods = await lives.names(PODS, life)
    await set_silent(client, node, "stopped")
    try:
        await until_silent(client, node, True)
        await lives.delete(APPWRAPPERS, "cut-off")
        await life.until_deleted()
        item = await client.get(NODES, None, node)
        since = min(
            taint["timeAdded"]
            for taint in item["spec"]["taints"]
            if taint["key"] == "node.kubernetes.io/unreachable"
        )
        expected = (
            "deleted without confirmation from its node:"
            f" Pods {', '.join(pods)} on node {node}, which does not answer since {since}"
        )
        # Once more of a pod that is still there much later: its Job takes off their finalizers.
        assert expected in await lives.event_messages(
            "cut-off", "ForcedOnUnreachableNode", until=expected
        )
        await life.check_the_promise_to_kueue()
    finally:
        await set_silent(client, node, None)
        await until_silent(client, node, False)


CASES = (
    what_is_removed_without_word_from_its_node_is_warned_of,
    who_refuses_a_delete_is_quoted_and_keeps_nothing_else,
    pods_that_do_not_end_are_removed_after_the_grace_period,
    a_pod_with_a_finalizer_of_others_is_named_once_it_has_ended,
    a_finalizer_of_others_is_named_and_stays_when_deleted,
    a_finalizer_of_others_is_named_and_stays_when_evicted,
)


async def set_unschedulable(client: KubeClient, value: bool | None) -> None:
    await client.patch(NODES, None, SILENCED, {"spec": {"unschedulable": value}}, PatchType.MERGE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def started(cluster: RunningCluster, lives_team: None) -> AsyncIterator[UnderWay]:
    """One waits for most of a minute, another for half of one: the others wait beside them."""
    await set_unschedulable(cluster.client, True)
    try:
        async with under_way(cluster, *CASES) as cases:
            yield cases
    finally:
        await set_unschedulable(cluster.client, None)


@pytest.mark.parametrize("how", ["deleted", "evicted"])
async def test_a_finalizer_of_others_is_named_and_stays(started: UnderWay, how: str) -> None:
    await started[f"a_finalizer_of_others_is_named_and_stays_when_{how}"]


async def test_a_pod_with_a_finalizer_of_others_is_named_once_it_has_ended(
    started: UnderWay,
) -> None:
    await started["a_pod_with_a_finalizer_of_others_is_named_once_it_has_ended"]


async def test_pods_that_do_not_end_are_removed_after_the_grace_period(started: UnderWay) -> None:
    await started["pods_that_do_not_end_are_removed_after_the_grace_period"]


async def test_who_refuses_a_delete_is_quoted_and_keeps_nothing_else(started: UnderWay) -> None:
    await started["who_refuses_a_delete_is_quoted_and_keeps_nothing_else"]


async def test_a_pod_deleted_without_confirmation_of_its_node_causes_a_warning(
    started: UnderWay,
) -> None:
    await started["what_is_removed_without_word_from_its_node_is_warned_of"]
