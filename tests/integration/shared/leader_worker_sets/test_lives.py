"""LeaderWorkerSets, whose definition only this folder adds and removes: one worker runs it.

Nobody makes pods of them. What their operator makes of them is in `operated_kinds`.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import NotFound, PatchType, Propagation
from tests.support import team as own
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.autopilot import BY_DEFAULT
from tests.support.builders.jobs import job
from tests.support.builders.operated_kinds import leader_worker_set
from tests.support.builders.pods import pod
from tests.support.builders.wrapped_kinds import LEADER_WORKER_SET, NAME
from tests.support.cluster.deletion_blockers import HOLD, blocked, set_finalizers
from tests.support.cluster.followed import followed, reported, until_reported
from tests.support.cluster.life import Life, exists
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.resources import CRDS, LEADER_WORKER_SETS
from tests.support.cluster.served_kinds import converted_by_nobody, served, undefined
from tests.support.cluster.stages import LONG
from tests.support.cluster.submitting_team import Team
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, UNHEALTHY, Condition, condition
from tests.support.patience import comes_to

DEFINITION = "leaderworkersets.leaderworkerset.x-k8s.io"
SCHEDULER = "scheduler-plugins-scheduler"
SOON = {"forcefulDeletionGracePeriodDuration": "1s"}


@pytest.fixture
async def groups_are_served(lives: Lives) -> AsyncIterator[None]:
    """LeaderWorkerSets may be created, and nobody makes pods of them."""
    async with served(lives.client, LEADER_WORKER_SETS):
        yield


async def serve_in_another_version(lives: Lives) -> None:
    """As an operator's release does that drops a version: objects of the old one can be read."""
    definition = await lives.client.get(CRDS, None, DEFINITION)
    another = {**definition["spec"]["versions"][0], "name": "v2", "served": True, "storage": False}
    patch = [{"op": "add", "path": "/spec/versions/-", "value": another}]
    await lives.client.patch(CRDS, None, DEFINITION, patch, PatchType.JSON)


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
async def test_a_kind_removed_while_it_runs_counts_as_a_deleted_component(
    lives: Lives, unserved_before: bool
) -> None:
    name = f"undefined-{unserved_before}".lower()
    parts = leader_worker_set(name), job(name, hang="running")
    # The API server may need two minutes, in which nobody makes the group's pods.
    life = await lives.begin(appwrapper(name, *parts, annotations=LONG))
    await life.until_phase("Running")
    await comes_to(lambda: lives.names(LEADER_WORKER_SETS, life), [name])
    if unserved_before:  # so that no watch tells of its end
        await set_served(lives, False)
    await undefined(lives.client, DEFINITION)
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY) == Condition(
        "True", "MissingComponent", f"deleted by another client: LeaderWorkerSet {name}"
    )
    await until_given_back(life, failed)
    assert await lives.names(PODS, life) == []
    await lives.delete(APPWRAPPERS, name)
    await life.until_deleted()
    await life.check_the_promise_to_kueue()


@pytest.mark.long
@pytest.mark.usefixtures("groups_are_served")
@pytest.mark.parametrize("then", ["again", "anew", "undefined"])
async def test_a_kind_that_is_not_served_is_named_until_any_version_is_or_it_is_defined_no_more(
    lives: Lives, then: str
) -> None:
    name = f"unserved-{then}"
    life = await lives.begin(appwrapper(name, leader_worker_set(name), annotations=SOON))
    await life.until_phase("Running")
    await set_served(lives, False)
    await lives.delete(APPWRAPPERS, name)
    await blocked(
        life,
        f"LeaderWorkerSet {name} may exist although its Kind is not served:"
        f" CustomResourceDefinition {DEFINITION} exists",
    )
    if then == "again":
        await set_served(lives, True)
    elif then == "anew":
        await serve_in_another_version(lives)
    else:
        await undefined(lives.client, DEFINITION)
    await life.until_deleted()
    await life.check_the_promise_to_kueue()


@pytest.mark.long
@pytest.mark.usefixtures("groups_are_served")
async def test_a_kind_that_is_taken_away_while_it_is_suspended_fails_the_next_attempt(
    lives: Lives,
) -> None:
    name = "undefined-suspended"
    life = await lives.begin(appwrapper(name, leader_worker_set(name)))
    running = await life.until_phase("Running")
    await lives.set_active(life, False)
    away = await life.until_phase("Suspended", after=version_of(running))
    await undefined(lives.client, DEFINITION)
    await lives.set_active(life, True)
    failed = await life.until_phase("Failed", after=version_of(away))
    assert condition(failed, UNHEALTHY).reason == "CreateFailed"
    await until_given_back(life, failed)
    await life.check_the_promise_to_kueue()


@pytest.mark.long
@pytest.mark.usefixtures("groups_are_served")
@pytest.mark.parametrize("moment", ["deleting", "pausing"])
async def test_a_kind_that_is_taken_away_while_it_is_reset_fails_the_next_attempt(
    lives: Lives, moment: str
) -> None:
    name = f"undefined-{moment}"
    failing = pod(name, hang="running")
    wait: dict[str, Any] = AT_ONCE | {"retryPausePeriodDuration": "1h"}
    life = await lives.begin(appwrapper(name, leader_worker_set(name), failing, annotations=wait))
    await life.until_phase("Running")
    if moment == "deleting":
        await set_finalizers(lives.client, LEADER_WORKER_SETS, name, HOLD)

    async def runs() -> str:
        return str((await lives.client.get(PODS, NAMESPACE, name))["status"]["phase"])

    await comes_to(runs, "Running")
    await lives.patch_pod(name, {"phase": "Failed"})
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
    await undefined(lives.client, DEFINITION)
    await lives.annotate(name, retryPausePeriodDuration="0s")
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY).reason == "CreateFailed"
    await until_given_back(life, failed)
    await life.check_the_promise_to_kueue()


async def test_a_leader_worker_set_is_missed_as_well(cluster: RunningCluster) -> None:
    client = cluster.client
    body = appwrapper("wrapped-group", leader_worker_set("wrapped-group"))
    async with (
        served(client, LEADER_WORKER_SETS),
        followed(client, own.NAMESPACE, body) as life,
    ):
        await life.until_phase("Running")
        await comes_to(
            lambda: exists(client, LEADER_WORKER_SETS, own.NAMESPACE, "wrapped-group"), True
        )
        await client.delete(
            LEADER_WORKER_SETS,
            own.NAMESPACE,
            "wrapped-group",
            uid=None,
            propagation=Propagation.BACKGROUND,
        )
        failed = await life.until_phase("Failed")
        message = "deleted by another client: LeaderWorkerSet wrapped-group"
        assert reported(failed, "Unhealthy") == ("True", "MissingComponent", message)


async def test_a_leader_worker_set_is_created_with_everything_injected(
    cluster: RunningCluster,
) -> None:
    team = Team(cluster)
    async with served(team.client, LEADER_WORKER_SETS):
        await team.create(LEADER_WORKER_SET)
        await comes_to(lambda: exists(team.client, LEADER_WORKER_SETS, own.NAMESPACE, NAME), True)
        await comes_to(team.counts, [2, 4])
        made = await team.client.get(LEADER_WORKER_SETS, own.NAMESPACE, NAME)
        leader_worker = made["spec"]["leaderWorkerTemplate"]
        for index, (role, affinity) in enumerate(
            {"leaderTemplate": None, "workerTemplate": BY_DEFAULT}.items()
        ):
            labels = leader_worker[role]["metadata"]["labels"]
            assert labels[LABEL_APPWRAPPER] == NAME
            assert labels["kueue.x-k8s.io/podset"] == f"{NAME}-{index}"
            assert leader_worker[role]["spec"]["schedulerName"] == SCHEDULER
            assert leader_worker[role]["spec"].get("affinity") == affinity
        await team.clean_up()
        assert not await exists(team.client, LEADER_WORKER_SETS, own.NAMESPACE, NAME)


@pytest.mark.long
async def test_it_is_created_watched_and_deleted_in_the_wrapped_version(
    cluster: RunningCluster,
) -> None:
    client = cluster.client
    body = appwrapper("converted", leader_worker_set("converted"))
    async with (
        served(client, LEADER_WORKER_SETS, stored_as="v0"),
        followed(client, own.NAMESPACE, body) as life,
    ):
        running = await life.until_phase("Running")
        recorded = running["status"]["componentStatus"][0]["apiVersion"]
        assert recorded == "leaderworkerset.x-k8s.io/v1"
        await client.delete(
            LEADER_WORKER_SETS,
            own.NAMESPACE,
            "converted",
            uid=None,
            propagation=Propagation.BACKGROUND,
        )
        failed = await life.until_phase("Failed")
        message = "deleted by another client: LeaderWorkerSet converted"
        assert reported(failed, "Unhealthy") == ("True", "MissingComponent", message)


@pytest.mark.long
async def test_a_failed_conversion_is_reported_and_awaited(cluster: RunningCluster) -> None:
    client = cluster.client
    body = appwrapper("unconverted", leader_worker_set("unconverted"))
    async with (
        served(client, LEADER_WORKER_SETS, stored_as="v0", conversion=converted_by_nobody()),
        followed(client, own.NAMESPACE, body) as life,
    ):
        held = await until_reported(life, "ResourcesDeployed", "CreateFailed")
        status, _, message = reported(held, "ResourcesDeployed")
        assert status == "True"
        assert message.startswith("spec.components[0]: 500 ")
        assert "conversion webhook for leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet" in message
    assert "Failed" not in life.phases()
