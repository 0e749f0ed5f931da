"""Kueue 0.16.1 is replaced by a newer, under AppWrappers of every state (docs/admins/kueue.md)."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.programs.catalogue import KUEUE_VERSIONS
from shared.api.objects import PODS, JsonObject
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, phase, true_conditions
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.another_team import another_team
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, lives_documents, requesting
from tests.support.cluster.moved_kueue import move_kueue
from tests.support.cluster.patient_client import be_patient
from tests.support.cluster.reconfigured import pause_resets
from tests.support.life_record import DEPLOYED, QUOTA, READY, UNHEALTHY, condition, revisions
from tests.support.observer.controller_words import ControllerWords
from tests.support.observer.observer import Observer
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

NEWEST, *_, OLDEST = KUEUE_VERSIONS
LONG = AT_ONCE | {"retryPausePeriodDuration": "1h"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def moving() -> AsyncIterator[LocalCluster]:
    """A cluster with the oldest Kueue; every promise to Kueue is watched from start to end."""
    async with LocalCluster(ClusterOptions(nodes=2, kueue=OLDEST)) as cluster:
        be_patient(cluster.client)
        with Observer(cluster.kubeconfig) as observer:
            yield cluster
            assert not (found := observer.report()), found
            assert observer.gaps == []


async def test_nothing_that_runs_or_waits_notices(moving: LocalCluster) -> None:
    """The team has two CPUs of quota, which nearly all of them use."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(another_team(moving, NAMESPACE, lives_documents()))
        lives = Lives(moving, stack)
        runs, pauses, fails, waits = await in_every_state(lives)
        before = await everything(lives, runs, pauses, waits)

        old = moving.processes["kueue"].spec.command[0]

        async def meanwhile() -> None:
            """One fails; its reset waits, since none could create anything."""
            await lives.patch_pod("fails", {"phase": "Failed"})
            held = await fails.until(
                lambda item: (
                    UNHEALTHY in true_conditions(item)
                    and condition(item, UNHEALTHY).reason == "ResetsPaused"
                ),
                "its reset waits",
            )
            assert phase(held) == "Running"

        await pausing(moving, True)
        await move_kueue(moving, NEWEST, meanwhile)
        await pausing(moving, False)
        assert f"/kueue-{OLDEST}-" in old != moving.processes["kueue"].spec.command[0]

        again = await fails.until(
            lambda item: phase(item) == "Running" and item["status"].get("resettingCount") == 1,
            "its reset, and the next attempt",
        )
        assert again["status"]["attempt"] == 2
        # What comes now is judged after all that was there: so Kueue has looked at that again.
        urgent = await lives.begin(wrapped("urgent", "high-priority", run_for="200ms"))
        await urgent.until_phase("Succeeded")
        # It took the room of the lowest priority, and of nobody else.
        suspended = await pauses.until_phase("Suspended", after=max_version(pauses))
        assert QUOTA not in true_conditions(suspended)
        after = await everything(lives, runs, pauses, waits)
        assert after["workloads"] == before["workloads"]
        assert after["pods"][runs] == before["pods"][runs] != before["pods"][pauses] == []
        assert runs.phases() == ["", "Suspended", "Resuming", "Running"]
        assert await lives.kueue_says(runs) >= {"QuotaReserved", "Admitted", "PodsReady"}
        # Who waited gets the room that is left, one after the other.
        await waits.until_phase("Succeeded")
        await lives.annotate("pauses", retryPausePeriodDuration="0s")
        await pauses.until_phase("Succeeded")
        assert [*revisions(urgent, ["Resuming"]).values()] < [
            *revisions(waits, ["Resuming"]).values()
        ]
        for life in (runs, pauses, fails, waits, urgent):
            await life.check_the_promise_to_kueue()


async def pausing(cluster: LocalCluster, paused: bool) -> None:
    """Returns when the controller knows."""
    pause_resets(cluster, paused)
    words = ControllerWords.of(cluster.directory)

    async def known() -> bool:
        return words.sample("appwrapper_resets_paused", {}) == paused

    await comes_to(known, True)


async def in_every_state(lives: Lives) -> tuple[Life, Life, Life, Life]:
    """One runs on, one pauses between two attempts, one is to fail, one waits for room."""
    runs = await lives.begin(wrapped("runs", "default-priority", hang="running"))
    await runs.until(lambda item: READY in true_conditions(item), "all pods ready")
    await comes_to(lambda: known_as_ready(lives, runs), True)
    failing = {"run_for": "200ms", "exit_code": "1", "fail_attempts": "1"}
    pauses = await lives.begin(
        appwrapper("pauses", half(pod("pauses", **failing), "low-priority"), annotations=LONG)
    )
    await pauses.until(
        lambda item: phase(item) == "Resetting" and DEPLOYED not in true_conditions(item),
        "the retry pause",
    )
    fails = await lives.begin(
        appwrapper("fails", requesting("100m", pod("fails", hang="running")), annotations=AT_ONCE)
    )
    await fails.until(lambda item: READY in true_conditions(item), "all pods ready")
    waits = await lives.begin(wrapped("waits", "low-priority", run_for="200ms"))
    await judged(lives, waits)
    return runs, pauses, fails, waits


async def known_as_ready(lives: Lives, life: Life) -> bool:
    """Kueue has read it, too, so that its successor finds it there."""
    return READY in await lives.kueue_says(life)


def half(body: JsonObject, priority: str) -> JsonObject:
    """Two of them fill the team's quota."""
    return requesting("900m", body, priority)


def wrapped(name: str, priority: str, **simulation: str) -> JsonObject:
    return appwrapper(name, half(job(name, 1, **simulation), priority))


async def judged(lives: Lives, life: Life) -> None:
    """Kueue has looked for room, and found none."""

    async def refused() -> bool:
        conditions = (await lives.workload(life)).get("status", {}).get("conditions") or ()
        return (QUOTA, "False") in [(each["type"], each["status"]) for each in conditions]

    await comes_to(refused, True)


async def everything(lives: Lives, *those: Life) -> dict[str, dict[Life, object]]:
    """The Workload and the pods of each, by UID."""
    workloads: dict[Life, object] = {}
    pods: dict[Life, object] = {}
    for life in those:
        workloads[life] = (await lives.workload(life))["metadata"]["uid"]
        uid = life.events[0].object["metadata"]["uid"]
        found = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
        pods[life] = sorted(each["metadata"]["uid"] for each in found)
    return {"workloads": workloads, "pods": pods}


def max_version(life: Life) -> int:
    return max(revisions(life, ["Resetting"]).values())
