"""A component that nobody can read: its definition's conversion webhook is gone.

What runs runs on; suspending and deleting go on without it, and its quota stays until it is seen.
"""

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, JsonObject
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.builders.operated_kinds import leader_worker_set
from tests.support.cluster.followed import until_reported
from tests.support.cluster.life import Life, exists
from tests.support.cluster.lives import NAMESPACE, Lives, config_map
from tests.support.cluster.resources import JOBS, LEADER_WORKER_SETS
from tests.support.cluster.served_kinds import converted_by_nobody, served, set_conversion
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, condition
from tests.support.patience import comes_to

UNREADABLE = "ComponentUnreadable"
WHY = "cannot be read: 500 InternalError: "
CONVERSION = "conversion webhook for leaderworkerset.x-k8s.io/"


def wrapping(name: str) -> JsonObject:
    """Between two that can be read."""
    parts = (config_map(name), leader_worker_set(name), job(name, pods=1, hang="running"))
    annotations = {"admissionGracePeriodDuration": "1h", "warmupGracePeriodDuration": "1h"}
    return appwrapper(name, *parts, annotations=annotations)


async def others(lives: Lives, name: str) -> list[bool]:
    return [await exists(lives.client, each, NAMESPACE, name) for each in (CONFIGMAPS, JOBS)]


async def until_only_it_is_left(lives: Lives, life: Life, name: str) -> None:
    """Its quota stays, and the condition and a Warning Event say what for."""
    held = await until_reported(life, DELETING, "DeletionBlocked")
    message = condition(held, DELETING).message
    assert message.startswith(f"LeaderWorkerSet {name} {WHY}")
    assert CONVERSION in message
    await comes_to(lambda: others(lives, name), [False, False])
    assert true_conditions(life.events[-1].object) >= {QUOTA, DEPLOYED, DELETING}
    assert "QuotaReserved" in await lives.kueue_says(life)
    assert any(WHY in each for each in await lives.event_messages(name, "DeletionBlocked"))


async def test_it_holds_nothing_else_up(cluster: RunningCluster, lives: Lives) -> None:
    async with served(cluster.client, LEADER_WORKER_SETS, stored_as="v0"):
        suspended = await lives.begin(wrapping("hidden"))
        deleted = await lives.begin(wrapping("doomed"))
        for life, name in ((suspended, "hidden"), (deleted, "doomed")):
            await life.until_phase("Running")
            await comes_to(lambda name=name: others(lives, name), [True, True])  # type: ignore[misc]

        await set_conversion(cluster.client, LEADER_WORKER_SETS, converted_by_nobody())
        for life, name in ((suspended, "hidden"), (deleted, "doomed")):
            held = await until_reported(life, DEPLOYED, UNREADABLE)
            reported = condition(held, DEPLOYED)
            opening = f"cannot be read: LeaderWorkerSet {name}: 500 InternalError: "
            assert (reported.status, phase(held)) == ("True", "Running")
            assert reported.message.startswith(opening)
            assert CONVERSION in reported.message
            assert len(await lives.event_messages(name, UNREADABLE)) == 1
            assert await others(lives, name) == [True, True]

        await lives.set_active(suspended, False)
        await lives.delete(APPWRAPPERS, "doomed")
        await until_only_it_is_left(lives, suspended, "hidden")
        await until_only_it_is_left(lives, deleted, "doomed")
        suspending = suspended.events[-1].object
        assert phase(suspending) == "Suspending"
        assert phase(deleted.events[-1].object) == "Terminating"

        await set_conversion(cluster.client, LEADER_WORKER_SETS, {"strategy": "None"})
        back = await suspended.until_phase("Suspended", after=version_of(suspending))
        assert true_conditions(back) & {QUOTA, DEPLOYED, DELETING} == set()
        await deleted.until_deleted()
        for life in (suspended, deleted):
            await life.check_the_promise_to_kueue()


async def test_a_component_that_becomes_readable_is_reported_and_succeeds(
    cluster: RunningCluster, lives: Lives
) -> None:
    async with served(cluster.client, LEADER_WORKER_SETS, stored_as="v0"):
        life = await lives.begin(wrapping("back"))
        await life.until_phase("Running")
        await set_conversion(cluster.client, LEADER_WORKER_SETS, converted_by_nobody())
        hidden = await until_reported(life, DEPLOYED, UNREADABLE)
        await set_conversion(cluster.client, LEADER_WORKER_SETS, {"strategy": "None"})
        await until_reported(life, DEPLOYED, "ComponentsCreated", after=version_of(hidden))
    # Now somebody deletes it, and that is noticed as ever.
    await life.until_phase("Failed")
