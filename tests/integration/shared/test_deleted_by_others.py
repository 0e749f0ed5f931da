"""What another client deletes on a real cluster: a component, or the AppWrapper itself.

Each phase and each Kind: tests/simulation/lives/test_deleted_by_others.py.
"""

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.support.builders.appwrappers import (
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job, scaled
from tests.support.cluster.life import Life
from tests.support.cluster.lives import Lives, config_map
from tests.support.cluster.resources import DEPLOYMENTS, JOBS
from tests.support.life_record import DEPLOYED, QUOTA, READY, UNHEALTHY, condition, steps

LONG = "1h"
# No reset while a component is refused.
IN_NO_HURRY = {"admissionGracePeriodDuration": LONG}
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


async def test_a_running_one_fails_at_once(lives: Lives) -> None:
    others = job("kept-company", 1, hang="running")
    patient = {"failureGracePeriodDuration": LONG, "retryLimit": "9"}
    component = scaled("Deployment", "lost", 1)
    life = await lives.begin(appwrapper("loser", others, component, annotations=patient))
    await is_ready(life)
    await lives.delete(DEPLOYMENTS, "lost")
    await fails_for(life, "deleted by another client: Deployment lost")
    assert steps(life, *HELD) == [
        ("",),
        ("Suspended",),
        ("Resuming", *HELD),
        ("Running", *HELD),
        ("Failed", *HELD),
        ("Failed",),
    ]
    assert await lives.names(JOBS, life) == []


async def test_one_that_is_still_resuming_fails_at_once(lives: Lives) -> None:
    async with lives.forbidden("count/configmaps"):
        late = job("lost", 1, hang="running"), config_map("late")
        life = await lives.begin(appwrapper("loser", *late, annotations=IN_NO_HURRY))
        await is_resuming(life)
        await lives.delete(JOBS, "lost")
        await fails_for(life, "deleted by another client: Job lost")
    assert life.phases() == ["", "Suspended", "Resuming", "Failed"]


async def test_a_running_appwrapper_that_is_deleted_leaves_nothing(lives: Lives) -> None:
    """A Deployment, whose pods its ReplicaSet would make again."""
    life = await lives.begin(appwrapper("doomed", scaled("Deployment", "doomed")))
    await is_ready(life)
    await lives.delete(APPWRAPPERS, "doomed")
    await life.until_deleted()
    for resource in (PODS, DEPLOYMENTS):
        assert await lives.names(resource, life) == []


async def test_an_appwrapper_that_is_deleted_while_it_resumes_leaves_nothing(lives: Lives) -> None:
    async with lives.forbidden("count/configmaps"):
        late = job("doomed", hang="running"), config_map("late")
        life = await lives.begin(appwrapper("doomed", *late, annotations=IN_NO_HURRY))
        resuming = await is_resuming(life)
        await lives.delete(APPWRAPPERS, "doomed")
        await life.until_deleted()
    assert life.phases() == ["", "Suspended", "Resuming", "Terminating"]
    assert version_of(life.events[-1].object) > version_of(resuming)
    assert await lives.names(JOBS, life) == []
    assert await lives.names(PODS, life) == []
