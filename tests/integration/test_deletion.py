"""Deletions of every kind come to their end, also of what the cluster no longer knows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from shared.api.json import JsonObject
from shared.kube.client import PatchType, Propagation
from shared.kube.errors import NotFound
from shared.kube.resource import APPWRAPPERS, CONFIGMAPS, PODS
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job, scaled
from tests.support.builders.pods import pod
from tests.support.cluster.deletion_blockers import HOLD, blocked, set_finalizers
from tests.support.cluster.life import Life, exists
from tests.support.cluster.lives import (
    DELETING,
    DEPLOYED,
    NAMESPACE,
    QUOTA,
    READY,
    UNHEALTHY,
    Condition,
    Lives,
    condition,
    config_map,
)
from tests.support.cluster.resources import CRDS, JOBS, LEADER_WORKER_SETS
from tests.support.cluster.served_kinds import served
from tests.support.patience import comes_to

RUNS = {QUOTA, DEPLOYED, READY}
DEFINITION = "leaderworkersets.leaderworkerset.x-k8s.io"
SOON = {"forcefulDeletionGracePeriodDuration": "1s"}


@pytest.mark.parametrize("propagation", Propagation)
async def test_however_the_appwrapper_is_deleted_nothing_of_it_is_left(
    lives: Lives, propagation: Propagation
) -> None:
    """`kubectl delete --cascade=background|foreground|orphan`, and the same once more."""
    name = f"by-{propagation.lower()}"
    life = await lives.begin(
        appwrapper(name, config_map(name), scaled("Deployment", name), job(name, hang="running"))
    )
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    for _ in range(2):
        with suppress(NotFound):
            await lives.client.delete(
                APPWRAPPERS, NAMESPACE, name, uid=None, propagation=propagation
            )
    await life.until_deleted()
    for resource in (CONFIGMAPS, JOBS, PODS):
        assert await lives.names(resource, life) == []
    await life.check_the_promise_to_kueue()


async def test_without_our_finalizer_the_garbage_collector_takes_the_rest(lives: Lives) -> None:
    """An admin's last resort: the AppWrapper goes at once, and nobody waits for anything."""
    name = "let-go"
    life = await lives.begin(appwrapper(name, config_map(name), job(name, hang="running")))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    await set_finalizers(lives.client, CONFIGMAPS, name, HOLD)
    await lives.delete(APPWRAPPERS, name)
    await comes_to(lambda: exists(lives.client, JOBS, NAMESPACE, name), False)
    await comes_to(lambda: lives.names(PODS, life), [])
    await set_finalizers(lives.client, APPWRAPPERS, name)
    await life.until_deleted()
    await set_finalizers(lives.client, CONFIGMAPS, name)
    await comes_to(lambda: exists(lives.client, CONFIGMAPS, NAMESPACE, name), False)


async def test_an_object_that_took_a_components_name_is_neither_waited_for_nor_deleted(
    lives: Lives,
) -> None:
    name = "namesake"
    life = await lives.begin(appwrapper(name, config_map(name), job(name, hang="running")))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    await lives.delete(CONFIGMAPS, name)
    foreign = await lives.client.create(CONFIGMAPS, NAMESPACE, config_map(name))
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY).reason == "MissingComponent"
    await life.until(
        lambda item: (
            not true_conditions(item) & {QUOTA, DEPLOYED} and version_of(item) > version_of(failed)
        ),
        "the quota given back",
    )
    await lives.delete(APPWRAPPERS, name)
    await life.until_deleted()
    left = await lives.client.get(CONFIGMAPS, NAMESPACE, name)
    assert left["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert "deletionTimestamp" not in left["metadata"]
    await lives.delete(CONFIGMAPS, name)


@pytest.fixture
async def groups_are_served(lives: Lives) -> AsyncIterator[None]:
    """LeaderWorkerSets may be created, and nobody makes pods of them."""
    async with served(lives.client, LEADER_WORKER_SETS):
        yield


def group(name: str) -> JsonObject:
    worker = {"spec": {"containers": [{"name": "main", "image": "none"}]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 1, "workerTemplate": worker}},
    }


async def take_definition_away(lives: Lives) -> None:
    await lives.client.delete(CRDS, None, DEFINITION, uid=None, propagation=Propagation.BACKGROUND)
    await comes_to(lambda: exists(lives.client, CRDS, None, DEFINITION), False)


async def set_served(lives: Lives, served: bool) -> None:
    patch = [{"op": "replace", "path": "/spec/versions/0/served", "value": served}]
    await lives.client.patch(CRDS, None, DEFINITION, patch, PatchType.JSON)

    async def listed() -> bool:
        try:
            await lives.client.get(LEADER_WORKER_SETS, NAMESPACE, "none")
        except NotFound as error:
            return not error.of_resource
        return True

    await comes_to(listed, served)


async def until_given_back(life: Life, failed: JsonObject) -> None:
    await life.until(
        lambda item: (
            phase(item) == "Failed"
            and not true_conditions(item) & {QUOTA, DEPLOYED}
            and version_of(item) > version_of(failed)
        ),
        "the quota given back",
    )


@pytest.mark.usefixtures("groups_are_served")
@pytest.mark.parametrize("unserved_before", [False, True])
async def test_a_kind_that_is_taken_away_while_it_runs_is_a_component_that_somebody_deleted(
    lives: Lives, unserved_before: bool
) -> None:
    name = f"undefined-{unserved_before}".lower()
    life = await lives.begin(appwrapper(name, group(name), job(name, hang="running")))
    await life.until_phase("Running")
    await comes_to(lambda: lives.names(LEADER_WORKER_SETS, life), [name])
    if unserved_before:  # so that no watch tells of its end
        await set_served(lives, False)
    await take_definition_away(lives)
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY) == Condition(
        "True", "MissingComponent", f"deleted by somebody else: LeaderWorkerSet {name}"
    )
    await until_given_back(life, failed)
    assert await lives.names(PODS, life) == []
    await lives.delete(APPWRAPPERS, name)
    await life.until_deleted()
    await life.check_the_promise_to_kueue()


@pytest.mark.usefixtures("groups_are_served")
@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_kind_that_is_not_served_is_named_until_it_is_again_or_is_defined_no_more(
    lives: Lives, comes_back: bool
) -> None:
    name = f"unserved-{comes_back}".lower()
    life = await lives.begin(appwrapper(name, group(name), annotations=SOON))
    await life.until_phase("Running")
    await set_served(lives, False)
    await lives.delete(APPWRAPPERS, name)
    await blocked(
        life,
        f"LeaderWorkerSet {name} may exist though its Kind is not served:"
        f" CustomResourceDefinition {DEFINITION} serves no version",
    )
    if comes_back:
        await set_served(lives, True)
    else:
        await take_definition_away(lives)
    await life.until_deleted()
    await life.check_the_promise_to_kueue()


@pytest.mark.usefixtures("groups_are_served")
async def test_a_kind_that_is_taken_away_while_it_is_suspended_fails_the_next_attempt(
    lives: Lives,
) -> None:
    name = "undefined-suspended"
    life = await lives.begin(appwrapper(name, group(name)))
    running = await life.until_phase("Running")
    await lives.set_active(life, False)
    away = await life.until_phase("Suspended", after=version_of(running))
    await take_definition_away(lives)
    await lives.set_active(life, True)
    failed = await life.until_phase("Failed", after=version_of(away))
    assert condition(failed, UNHEALTHY).reason == "CreateFailed"
    await until_given_back(life, failed)
    await life.check_the_promise_to_kueue()


@pytest.mark.usefixtures("groups_are_served")
@pytest.mark.parametrize("moment", ["deleting", "pausing"])
async def test_a_kind_that_is_taken_away_while_it_is_reset_fails_the_next_attempt(
    lives: Lives, moment: str
) -> None:
    name = f"undefined-{moment}"
    failing = pod(name, run_for="500ms", exit_code="1")
    wait: dict[str, Any] = AT_ONCE | {"retryPausePeriodDuration": "1h"}
    life = await lives.begin(appwrapper(name, group(name), failing, annotations=wait))
    await life.until_phase("Running")
    if moment == "deleting":
        await set_finalizers(lives.client, LEADER_WORKER_SETS, name, HOLD)
    resetting = await life.until(
        lambda item: (
            phase(item) == "Resetting"
            and (DEPLOYED in true_conditions(item)) is (moment == "deleting")
        ),
        f"Resetting, {moment}",
    )
    assert QUOTA in true_conditions(resetting)
    if moment == "deleting":
        await set_served(lives, False)
        await asyncio.sleep(1)
        assert true_conditions(life.events[-1].object) >= {QUOTA, DEPLOYED, DELETING}
        await set_served(lives, True)
        await set_finalizers(lives.client, LEADER_WORKER_SETS, name)
    await take_definition_away(lives)
    await lives.annotate(name, retryPausePeriodDuration="0s")
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY).reason == "CreateFailed"
    await until_given_back(life, failed)
    await life.check_the_promise_to_kueue()
