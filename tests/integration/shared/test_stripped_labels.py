"""Labels of ours that somebody takes off what was deployed: no watch tells of it any more."""

from collections.abc import AsyncIterator

import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS
from shared.kube.client import PatchType
from tests.support.builders.appwrappers import appwrapper, version_of
from tests.support.builders.jobs import job
from tests.support.cluster.at_once import UnderWay, under_way
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.resources import JOBS
from tests.support.patience import comes_to

NO_LABEL = {"metadata": {"labels": {"workload.codeflare.dev/appwrapper": None}}}


async def a_job_without_its_label_is_seen_to_complete(lives: Lives) -> None:
    life = await lives.begin(appwrapper("stripped", job("stripped", 1, run_for="4s")))
    await life.until_phase("Running")
    await lives.client.patch(JOBS, NAMESPACE, "stripped", NO_LABEL, PatchType.MERGE)
    done = await life.until_phase("Succeeded")
    assert "resettingCount" not in done["status"]


async def a_job_without_its_label_goes_with_its_appwrapper(lives: Lives) -> None:
    life = await lives.begin(appwrapper("bare", job("bare", 1, hang="running")))
    await life.until_phase("Running")
    await lives.client.patch(JOBS, NAMESPACE, "bare", NO_LABEL, PatchType.MERGE)
    await lives.set_active(life, active=False)  # Kueue takes its quota back
    suspending = await life.until_phase("Suspending")
    await life.until_phase("Suspended", after=version_of(suspending))

    async def job_exists() -> bool:
        """Without a label no watch reports its end: the proof counts its pods and its delete."""
        return await exists(lives.client, JOBS, NAMESPACE, "bare")

    await comes_to(job_exists, False)
    assert await lives.names(PODS, life) == []


CASES = (
    a_job_without_its_label_is_seen_to_complete,
    a_job_without_its_label_goes_with_its_appwrapper,
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def started(cluster: RunningCluster, lives_team: None) -> AsyncIterator[UnderWay]:
    async with under_way(cluster, *CASES) as cases:
        yield cases


async def test_a_job_without_its_label_is_seen_to_complete(started: UnderWay) -> None:
    await started["a_job_without_its_label_is_seen_to_complete"]


async def test_a_job_without_its_label_goes_with_its_appwrapper(started: UnderWay) -> None:
    await started["a_job_without_its_label_goes_with_its_appwrapper"]
