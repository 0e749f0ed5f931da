"""Why each condition is as it is, at every step of two lives; and what dashboards find."""

from typing import Any

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.controller_log import entries_about, moves_in
from tests.support.cluster.deletion_blockers import HOLD, set_finalizers
from tests.support.cluster.life import Life
from tests.support.cluster.lives import Lives
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import comes_to

# Condition, status, reason; of the AppWrapper itself.
Reported = set[tuple[str, str, str]]
STARTS: Reported = {
    ("QuotaReserved", "True", "Resuming"),
    ("ResourcesDeployed", "True", "Resuming"),
    ("PodsReady", "False", "Resuming"),
    ("Unhealthy", "False", "Resuming"),
}
GONE: Reported = {
    ("ResourcesDeployed", "False", "DeletionComplete"),
    ("DeletingResources", "False", "DeletionComplete"),
}
RESET: Reported = {
    ("Unhealthy", "True", "FoundFailedPods"),
    ("PodsReady", "False", "Resetting"),
    ("DeletingResources", "True", "DeletionInitiated"),
}


def reported(life: Life, *phases: str) -> Reported:
    """While it was in one of these phases."""
    return {
        (each["type"], each["status"], each["reason"])
        for event in life.events
        if phase(event.object) in phases
        for each in event.object["status"]["conditions"]
    }


def reported_of_components(life: Life) -> set[tuple[str, str, str]]:
    return {
        (each["type"], each["status"], each["reason"])
        for event in life.events
        for component in (event.object.get("status") or {}).get("componentStatus") or ()
        for each in component.get("conditions") or ()
    }


async def test_through_a_reset_and_a_suspension_to_its_deletion(
    lives: Lives, cluster: RunningCluster
) -> None:
    sick = pod("says-sick", run_for="200ms", exit_code="1", fail_attempts="1")
    staying = job("says-stays", 1, hang="running")
    body = appwrapper("says", sick, staying, annotations=AT_ONCE)
    body["metadata"]["finalizers"] = [HOLD]  # otherwise it goes without another status
    life = await lives.begin(body)
    ended = await life.until(
        lambda item: ("Succeeded", "True") in ends(item) and "PodsReady" in true_conditions(item),
        "that one component has ended, and the other runs",
    )
    await lives.set_active(life, active=False)
    await life.until_phase("Suspended", after=version_of(ended))
    await lives.delete(APPWRAPPERS, "says")
    await life.until(
        lambda item: phase(item) == "Terminating" and item["metadata"]["finalizers"] == [HOLD],
        "its release",
    )
    await set_finalizers(lives.client, APPWRAPPERS, "says")
    await life.until_deleted()

    assert reported(life, "Resuming") >= STARTS
    assert reported(life, "Resetting") >= RESET | GONE
    assert ("PodsReady", "True", "SufficientPodsReady") in reported(life, "Running")
    assert ("DeletingResources", "True", "DeletionInitiated") in reported(life, "Suspending")
    suspended = GONE | {
        (kind, "False", "Suspended") for kind in ("QuotaReserved", "PodsReady", "Unhealthy")
    }
    assert reported(life, "Suspended") >= suspended
    last = life.events[-1].object["status"]["conditions"]
    assert {(each["type"], each["status"], each["reason"]) for each in last} == GONE | {
        (kind, "False", "Terminating") for kind in ("QuotaReserved", "PodsReady", "Unhealthy")
    }
    assert reported_of_components(life) == {
        ("ResourcesDeployed", "Unknown", "ComponentCreationInitiated"),
        ("ResourcesDeployed", "True", "ComponentCreatedSuccessfully"),
        ("ResourcesDeployed", "False", "ComponentDeleted"),
        ("Succeeded", "True", "ComponentSucceeded"),
    }

    async def moves() -> Any:
        moved = moves_in(entries_about(cluster, life))
        return [(each["phase"], each["reason"]) for each in moved]

    await comes_to(
        moves,
        [
            ("Resuming", "Resuming"),
            ("Running", "ComponentsCreated"),
            ("Resetting", "FoundFailedPods"),
            ("Resuming", "RetryPauseOver"),
            ("Running", "ComponentsCreated"),
            ("Suspending", "Suspending"),
            ("Suspended", "Suspended"),
            ("Terminating", "Terminating"),
        ],
    )


def ends(item: Any) -> set[tuple[str, str]]:
    return {
        (each["type"], each["status"])
        for component in (item.get("status") or {}).get("componentStatus") or ()
        for each in component.get("conditions") or ()
    }


async def test_to_failure(lives: Lives) -> None:
    body = appwrapper(
        "says-no",
        pod("says-no", run_for="200ms", exit_code="1"),
        annotations=AT_ONCE | {"retryLimit": "0"},
    )
    life = await lives.begin(body)
    await life.until(
        lambda item: ("QuotaReserved", "False", "Failed") in reported(life, "Failed"), "its end"
    )
    assert reported(life, "Failed") >= GONE | {
        ("QuotaReserved", "False", "Failed"),
        ("PodsReady", "False", "Failed"),
        ("Unhealthy", "True", "FoundFailedPods"),
    }


async def test_to_success(lives: Lives) -> None:
    life = await lives.begin(appwrapper("says-yes", job("says-yes", 1, run_for="300ms")))
    await life.until_phase("Succeeded")
    assert reported(life, "Succeeded") == {
        ("QuotaReserved", "False", "Succeeded"),
        ("ResourcesDeployed", "True", "ComponentsCreated"),
        ("PodsReady", "True", "SufficientPodsReady"),
        ("Unhealthy", "False", "Resuming"),
    }


PASSES = {"controller": "appwrapper"}
QUEUE = {"name": "appwrapper"}
GROW_WITH_EVERY_LIFE = {
    "controller_runtime_reconcile_total": PASSES | {"result": "success"},
    "controller_runtime_reconcile_time_seconds_count": PASSES,
    "workqueue_adds_total": QUEUE,
    "workqueue_queue_duration_seconds_count": QUEUE,
    "workqueue_work_duration_seconds_count": QUEUE,
}
ARE_THERE = {
    "controller_runtime_reconcile_errors_total": PASSES,
    "workqueue_depth": QUEUE,
    "workqueue_retries_total": QUEUE,
    "workqueue_unfinished_work_seconds": QUEUE,
    "workqueue_longest_running_processor_seconds": QUEUE,
}


async def test_metrics_for_dashboards_exist_and_grow_with_every_life(
    lives: Lives, controller_words: ControllerWords
) -> None:
    def values(names: dict[str, dict[str, str]]) -> dict[str, float]:
        return {name: controller_words.sample(name, labels) for name, labels in names.items()}

    before = values(GROW_WITH_EVERY_LIFE)
    life = await lives.begin(appwrapper("measured", job("measured", 1, run_for="100ms")))
    await life.until_phase("Succeeded")

    async def grown() -> list[str]:
        now = values(GROW_WITH_EVERY_LIFE)
        return [name for name in now if now[name] > before[name]]

    await comes_to(grown, [*GROW_WITH_EVERY_LIFE])
    assert min(values(ARE_THERE).values()) >= 0
