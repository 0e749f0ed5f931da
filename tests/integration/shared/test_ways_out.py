"""How an AppWrapper leaves each phase for good, and what a deletion leaves to others."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job, scaled
from tests.support.builders.pods import pod
from tests.support.cluster.deletion_blockers import HOLD, set_finalizers
from tests.support.cluster.life import Life, exists
from tests.support.cluster.lives import NAMESPACE, Lives, force_off, slow_to_go
from tests.support.cluster.resources import CLAIMS, JOBS, STATEFUL_SETS
from tests.support.life_record import DEPLOYED, QUOTA, READY, steps
from tests.support.patience import comes_to

pytestmark = pytest.mark.kueue

LONG = "1h"


async def runs(life: Life) -> JsonObject:
    return await life.until(lambda item: READY in true_conditions(item), "all pods ready")


async def is_running(_lives: Lives, life: Life) -> None:
    await runs(life)


async def is_suspended(lives: Lives, life: Life) -> None:
    ready = await runs(life)
    await lives.set_active(life, active=False)
    await life.until_phase("Suspended", after=version_of(ready))


async def is_suspending(lives: Lives, life: Life) -> None:
    await runs(life)
    await lives.set_active(life, active=False)
    await life.until_phase("Suspending")


async def pauses(_lives: Lives, life: Life) -> None:
    await life.until(
        lambda item: phase(item) == "Resetting" and DEPLOYED not in true_conditions(item),
        "the retry pause",
    )


async def has_failed(_lives: Lives, life: Life) -> None:
    await life.until_phase("Failed")


async def has_succeeded(_lives: Lives, life: Life) -> None:
    await life.until_phase("Succeeded")


async def until_released(life: Life) -> None:
    """The controller has removed its finalizer."""
    await life.until(
        lambda item: phase(item) == "Terminating" and item["metadata"]["finalizers"] == [HOLD],
        "its release",
    )


@dataclass(frozen=True)
class Way:
    """The phase it is deleted in, and how it got there.

    If nothing exists, the finalizer goes at once. A finalizer of the test keeps the AppWrapper.
    """

    phase: str
    component: JsonObject
    until: Callable[[Lives, Life], Awaitable[None]]
    annotations: dict[str, str] = field(default_factory=dict)
    empty: bool = False  # nothing exists then


def failing() -> JsonObject:
    return pod("deleted", run_for="200ms", exit_code="1")


WAYS = (
    Way("Running", job("deleted", hang="running"), is_running),
    Way("Suspended", job("deleted", hang="running"), is_suspended, empty=True),
    Way(
        "Suspending",
        slow_to_go(pod("deleted", hang="running", ignore_deletion_for="1h")),
        is_suspending,
    ),
    Way("Resetting", failing(), pauses, AT_ONCE | {"retryPausePeriodDuration": LONG}, empty=True),
    Way(
        "Failed",
        failing(),
        has_failed,
        AT_ONCE | {"retryLimit": "0", "deletionOnFailureGracePeriodDuration": LONG},
    ),
    Way("Succeeded", job("deleted", 1, run_for="200ms"), has_succeeded),
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.phase)
async def test_deleted_there_it_is_terminating_until_nothing_is_left(
    lives: Lives, way: Way
) -> None:
    body = appwrapper("deleted", way.component, annotations=way.annotations)
    if way.empty:
        body["metadata"]["finalizers"] = [HOLD]
    life = await lives.begin(body)
    await way.until(lives, life)
    await lives.delete(APPWRAPPERS, "deleted")
    last = await life.until_phase("Terminating")
    if way.phase == "Suspending":  # it would not go for an hour
        await force_off(lives, "deleted")
    if way.empty:
        assert true_conditions(last) == set()
        await until_released(life)
        await set_finalizers(lives.client, APPWRAPPERS, "deleted")
    await life.until_deleted()
    assert life.phases()[-2:] == [way.phase, "Terminating"]
    for resource in (PODS, JOBS):
        assert await lives.names(resource, life) == []


async def test_a_reset_forces_remaining_pods_and_starts_the_next_attempt(lives: Lives) -> None:
    """Whatever pods do, the next attempt comes, and not before they are gone."""
    sick = pod("sick", hang="running")
    stubborn = slow_to_go(pod("stubborn", hang="running", ignore_deletion_for="1h"))
    soon = AT_ONCE | {"forcefulDeletionGracePeriodDuration": "2s"}
    life = await lives.begin(appwrapper("progress", sick, stubborn, annotations=soon))
    await runs(life)  # before a node has the other one, the API server would remove it at once
    await lives.patch_pod("sick", {"phase": "Failed"})
    await life.until(
        lambda item: READY in true_conditions(item) and item["status"]["attempt"] == 2,
        "the second attempt",
    )
    for name in ("sick", "stubborn"):
        await lives.patch_pod(name, {"phase": "Succeeded"})
    done = await life.until_phase("Succeeded")
    assert (done["status"]["resettingCount"], done["status"]["attempt"]) == (1, 2)
    await life.check_the_promise_to_kueue()  # it has seen all pods by then
    asked = [
        event.object["metadata"]["deletionGracePeriodSeconds"]
        for event in life.pod_events
        if event.object["metadata"]["name"] == "stubborn"
        and "deletionGracePeriodSeconds" in event.object["metadata"]
    ]
    # What its node was told at first, at the end of that, and when it was gone.
    assert list(dict.fromkeys(asked)) == [2, 1, 0]
    assert [step for step in steps(life, QUOTA, DEPLOYED) if step[0] == "Resetting"] == [
        ("Resetting", QUOTA, DEPLOYED),
        ("Resetting", QUOTA),
    ]


async def test_the_volumes_of_a_stateful_set_are_never_deleted(lives: Lives) -> None:
    """Kubernetes keeps them for the next StatefulSet of that name, and so do we."""
    body = scaled("StatefulSet", "stateful", 1)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": {"name": "data"}, "spec": claim | {"storageClassName": "none"}}
    body["spec"]["volumeClaimTemplates"] = [template]
    life = await lives.begin(appwrapper("stateful", body))
    running = await life.until_phase("Running")
    name = "data-stateful-0"
    await comes_to(lambda: exists(lives.client, CLAIMS, NAMESPACE, name), True)
    made = await lives.client.get(CLAIMS, NAMESPACE, name)
    try:
        await lives.set_active(life, active=False)
        away = await life.until_phase("Suspended", after=version_of(running))
        assert true_conditions(away) == set()
        assert not await exists(lives.client, STATEFUL_SETS, NAMESPACE, "stateful")
        await lives.delete(APPWRAPPERS, "stateful")
        await life.until_deleted()
        left = await lives.client.get(CLAIMS, NAMESPACE, name)
        assert left["metadata"]["uid"] == made["metadata"]["uid"]
        assert "deletionTimestamp" not in left["metadata"]
    finally:
        await lives.delete(CLAIMS, name)
