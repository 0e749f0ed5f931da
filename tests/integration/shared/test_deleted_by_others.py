"""What somebody else deletes: a component, or the AppWrapper itself, in each phase."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shared.api.objects import APPWRAPPERS, CONFIGMAPS, PODS, JsonObject, Resource
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job, scaled
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE, Lives, config_map, slow_to_go
from tests.support.cluster.resources import DEPLOYMENTS, JOBS
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, READY, UNHEALTHY, condition, steps

LONG = "1h"
HELD = (QUOTA, DEPLOYED)


async def is_resuming(life: Life) -> JsonObject:
    """Its last component cannot be created."""
    return await life.until(
        lambda item: phase(item) == "Resuming" and "403" in condition(item, DEPLOYED).message,
        "a component that is refused",
    )


async def is_ready(life: Life) -> JsonObject:
    return await life.until(lambda item: READY in true_conditions(item), "all pods ready")


async def fails_for(life: Life, message: str) -> None:
    """At once, whatever the retry limit; then everything goes."""
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY) == ("True", "MissingComponent", message)
    assert true_conditions(failed) >= {*HELD}
    assert "resettingCount" not in failed["status"]
    await life.until(
        lambda item: phase(item) == "Failed" and not true_conditions(item) & {*HELD},
        "everything given back",
    )


LOST: list[Any] = [
    pytest.param(JOBS, job("lost", 1, hang="running"), id="Job"),
    pytest.param(PODS, pod("lost", hang="running"), id="Pod"),
    pytest.param(DEPLOYMENTS, scaled("Deployment", "lost", 1), id="Deployment"),
    pytest.param(CONFIGMAPS, config_map("lost"), id="ConfigMap"),
]


@pytest.mark.parametrize(("resource", "component"), LOST)
async def test_a_running_one_fails_at_once(
    lives: Lives, resource: Resource, component: JsonObject
) -> None:
    others = job("kept-company", 1, hang="running")
    patient = {"failureGracePeriodDuration": LONG, "retryLimit": "9"}
    life = await lives.begin(appwrapper("loser", others, component, annotations=patient))
    await is_ready(life)
    await lives.delete(resource, "lost")
    await fails_for(life, f"deleted by another client: {resource.kind} lost")
    assert steps(life, *HELD) == [
        ("",),
        ("Suspended",),
        ("Resuming", *HELD),
        ("Running", *HELD),
        ("Failed", *HELD),
        ("Failed",),
    ]
    assert await lives.names(JOBS, life) == []


async def test_one_whose_pod_fails_before_it_has_gone_is_not_begun_again(lives: Lives) -> None:
    """Foreground deletion ends the pods first, which takes time, and there is no grace."""
    body = slow_to_go(job("leaving", 1, hang="running", ignore_deletion_for="1h"))
    graces = AT_ONCE | {"forcefulDeletionGracePeriodDuration": "1s"}
    life = await lives.begin(appwrapper("leaver", body, annotations=graces))
    await is_ready(life)
    await lives.client.delete(
        JOBS, NAMESPACE, "leaving", uid=None, propagation=Propagation.FOREGROUND
    )
    [name] = await lives.names(PODS, life)
    await lives.patch_pod(name, {"phase": "Failed"})
    await fails_for(life, "deleted by another client: Job leaving")
    assert "Resetting" not in life.phases()


async def test_one_that_is_still_resuming_fails_at_once(lives: Lives) -> None:
    async with lives.forbidden("count/configmaps"):
        body = appwrapper("loser", job("lost", 1, hang="running"), config_map("late"))
        life = await lives.begin(body)
        await is_resuming(life)
        await lives.delete(JOBS, "lost")
        await fails_for(life, "deleted by another client: Job lost")
    assert life.phases() == ["", "Suspended", "Resuming", "Failed"]


async def test_one_that_is_being_reset_goes_on(lives: Lives) -> None:
    """The reset deletes everything anyway; a person forces off what is slow to go."""
    sick = pod("sick", run_for="200ms", exit_code="1", fail_attempts="1")
    slow = slow_to_go(pod("slow", run_for="1s", ignore_deletion_for="1h"))
    life = await lives.begin(appwrapper("goes-on", sick, slow, annotations=AT_ONCE))
    await life.until_phase("Resetting")
    await lives.client.delete(
        PODS,
        NAMESPACE,
        "slow",
        uid=None,
        propagation=Propagation.BACKGROUND,
        grace_period_seconds=0,
    )
    done = await life.until_phase("Succeeded")
    assert (done["status"]["resettingCount"], done["status"]["attempt"]) == (1, 2)
    assert "Failed" not in life.phases()


async def never(_life: Life) -> None:
    """Deleted as soon as it was created, if the controller was as quick as that."""


async def waits(life: Life) -> JsonObject:
    return await life.until_phase("Suspended")


async def resets(life: Life) -> JsonObject:
    return await life.until_phase("Resetting")


async def pauses(life: Life) -> JsonObject:
    return await life.until(
        lambda item: phase(item) == "Resetting" and DEPLOYED not in true_conditions(item),
        "the retry pause",
    )


async def has_failed(life: Life) -> JsonObject:
    return await life.until_phase("Failed")


async def has_succeeded(life: Life) -> JsonObject:
    return await life.until_phase("Succeeded")


async def has_succeeded_long_ago(life: Life) -> JsonObject:
    return await life.until(
        lambda item: phase(item) == "Succeeded" and DEPLOYED not in true_conditions(item),
        "the end of its TTL",
    )


def failing(**simulation: str) -> JsonObject:
    return pod("doomed", run_for="200ms", exit_code="1", **simulation)


GOING: list[Any] = [
    pytest.param(never, job("doomed", run_for="1s"), {}, id="no phase"),
    pytest.param(waits, job("doomed", run_for="1s"), {}, id="Suspended"),
    pytest.param(is_ready, scaled("Deployment", "doomed"), {}, id="Running"),
    pytest.param(
        resets,
        failing(),
        AT_ONCE | {"retryPausePeriodDuration": LONG},
        id="Resetting",
    ),
    pytest.param(
        pauses, failing(), AT_ONCE | {"retryPausePeriodDuration": LONG}, id="the retry pause"
    ),
    pytest.param(
        has_failed,
        failing(),
        AT_ONCE | {"retryLimit": "0", "deletionOnFailureGracePeriodDuration": LONG},
        id="Failed, kept for debugging",
    ),
    pytest.param(has_succeeded, job("doomed", run_for="200ms"), {}, id="Succeeded"),
    pytest.param(
        has_succeeded_long_ago,
        job("doomed", run_for="200ms"),
        {"successTTLDuration": "1ms"},
        id="Succeeded, its TTL over",
    ),
]


@pytest.mark.parametrize(("until", "component", "annotations"), GOING)
async def test_an_appwrapper_that_is_deleted_leaves_nothing_in_any_phase(
    lives: Lives,
    until: Callable[[Life], Awaitable[Any]],
    component: JsonObject,
    annotations: dict[str, str],
) -> None:
    life = await lives.begin(appwrapper("doomed", component, annotations=annotations))
    await until(life)
    await lives.delete(APPWRAPPERS, "doomed")
    await life.until_deleted()
    for resource in (PODS, JOBS, DEPLOYMENTS):
        assert await lives.names(resource, life) == []
    last = life.events[-1].object
    assert true_conditions(last) & {QUOTA, DEPLOYED, DELETING} == set()


async def test_an_appwrapper_that_is_deleted_while_it_resumes_leaves_nothing(lives: Lives) -> None:
    async with lives.forbidden("count/configmaps"):
        body = appwrapper("doomed", job("doomed", hang="running"), config_map("late"))
        life = await lives.begin(body)
        resuming = await is_resuming(life)
        await lives.delete(APPWRAPPERS, "doomed")
        await life.until_deleted()
    assert life.phases() == ["", "Suspended", "Resuming", "Terminating"]
    assert version_of(life.events[-1].object) > version_of(resuming)
    assert await lives.names(JOBS, life) == []
    assert await lives.names(PODS, life) == []
