"""The simulation's actors can make each write of lives that are recorded afresh on real parts."""

import asyncio

import pytest

from localcluster.access.running import RunningCluster
from tests.simulation.inclusion import Life, explained
from tests.support.cluster.recorded_lives import (
    APPWRAPPER_LIVES,
    JOB_LIVES,
    Recorded,
    record_appwrapper,
    record_job,
)
from tests.support.team import NAMESPACE, claim, own

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", JOB_LIVES)
async def test_a_life_of_a_job_is_one_that_the_actors_can_make(
    cluster: RunningCluster, name: str
) -> None:
    namespace = own(name.replace("_", "-"))
    claim(namespace)
    await check(await record_job(cluster, namespace, JOB_LIVES[name]))


@pytest.mark.parametrize("name", APPWRAPPER_LIVES)
async def test_a_life_of_an_appwrapper_is_one_that_the_actors_can_make(
    cluster: RunningCluster, name: str
) -> None:
    await check(await record_appwrapper(cluster, NAMESPACE, APPWRAPPER_LIVES[name]))


async def check(recorded: Recorded) -> None:
    # The simulation has a loop of its own, which cannot run inside this one.
    counts, missing = await asyncio.to_thread(explained, Life(recorded))
    assert missing == []
    assert counts["JobController"] >= 2, counts
