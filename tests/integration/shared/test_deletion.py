"""Deletions of every kind come to their end, also of what the cluster no longer knows."""

from contextlib import suppress

import pytest

from shared.api.objects import APPWRAPPERS, CONFIGMAPS, PODS
from shared.kube.client import NotFound, Propagation
from tests.support.builders.appwrappers import (
    appwrapper,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job, scaled
from tests.support.cluster.deletion_blockers import HOLD, set_finalizers
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE, Lives, config_map
from tests.support.cluster.resources import JOBS
from tests.support.life_record import DEPLOYED, QUOTA, READY, UNHEALTHY, condition
from tests.support.patience import comes_to

pytestmark = pytest.mark.kueue

RUNS = {QUOTA, DEPLOYED, READY}


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
