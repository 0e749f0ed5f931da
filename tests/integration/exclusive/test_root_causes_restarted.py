"""Root causes when the controller was away, and under another settle period."""

from dataclasses import replace

from localcluster.cluster import LocalCluster
from shared.api.objects import PODS
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job, pytorch_job
from tests.support.builders.pods import pod, pod_template
from tests.support.cluster.failed_workers import decided, folder_of, running, world_of
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.reconfigured import reconfigured
from tests.support.cluster.removed import removed
from tests.support.root_cause_cases.case import PATIENT, STORE
from tests.support.root_cause_cases.workers import End, leave, raised


async def test_recorded_root_causes_survive_a_restart(lives: Lives, cluster: LocalCluster) -> None:
    """Case 23: nothing is found or told a second time."""
    pods = [pod(f"kept-{index}", hang="running") for index in range(2)]
    annotations = {**PATIENT, "retryPausePeriodDuration": "1h"}
    life = await lives.begin(appwrapper("kept", *pods, annotations=annotations))
    workers = await running(lives, life, 2)
    end = End(after=1, record=raised("OSError: disk", recoverable=True, rank=0))
    await workers.end({0: end})
    before = await world_of(lives, await decided(lives, life, "Resetting"))
    await cluster.processes.restart("controller")
    await lives.annotate("kept", retryPausePeriodDuration="0s", failureGracePeriodDuration="1h")
    await running(lives, life, 2, attempt=2)
    after = await world_of(lives, life.events[-1].object)
    assert after.root_cause == before.root_cause
    assert (after.events, after.retries, after.suspects) == (
        before.events,
        before.retries,
        before.suspects,
    )


async def test_a_pod_that_went_meanwhile_is_known_from_the_store(
    lives: Lives, cluster: LocalCluster
) -> None:
    """Case 23."""
    annotations = {**PATIENT, "errorStore": STORE, "retryPausePeriodDuration": "1h"}
    body = appwrapper("away", job("away", 2, hang="running"), annotations=annotations)
    life = await lives.begin(body)
    workers = await running(lives, life, 2)
    end = End(after=0.5, record=raised("OSError: disk", recoverable=True, rank=0))
    await cluster.processes.stop("controller")
    try:
        file = leave(folder_of(cluster, life), workers.record(0, end))
        await workers.end({0: replace(end, record=None)})
        # The Job's controller counts its end first.
        await removed(lives.client, PODS, NAMESPACE, workers.name(0))
    finally:
        await cluster.processes.restart("controller")
    world = await world_of(lives, await life.until_phase("Resetting"))
    assert (world.root_cause["pod"], world.root_cause["source"], world.root_cause["uri"]) == (
        workers.name(0),
        "Store",
        file.as_uri(),
    )
    assert (world.root_cause["message"], world.retries) == ("OSError: disk", 1)


async def test_without_a_settle_period_the_first_reported_failure_decides(
    lives: Lives, cluster: LocalCluster
) -> None:
    """Case 21, the other side."""
    template = pod_template(container="pytorch", hang="running")
    body = appwrapper(
        "hasty", pytorch_job("hasty", "Never", Master=template, Worker=template),
        annotations={**PATIENT, "retryPausePeriodDuration": "1h"},
    )  # fmt: skip
    settings = {"errorAggregation": {"settlePeriod": "0s"}}
    async with reconfigured(cluster, "controller", faultTolerance=settings):
        life = await lives.begin(body)
        workers = await running(lives, life, 2)
        end = End(after=1, record=raised("OSError: disk", recoverable=True, rank=0))
        await workers.end({0: end})
        world = await world_of(lives, await life.until_phase("Resetting"))
    assert (world.root_cause["pod"], world.retries) == ("hasty-master-0", 1)
