"""The API server is restarted under a running controller. On a cluster of its own: every watch of
the others would be interrupted too.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from localcluster.cluster import ClusterOptions, LocalCluster
from shared.api.objects import APPWRAPPERS
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.jobs import job
from tests.support.cluster.life import ends_well, listed
from tests.support.cluster.patient_client import be_patient
from tests.support.cluster.resources import JOBS
from tests.support.observer.observer import observed
from tests.support.patience import PATIENCE_SECONDS
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.long

# However long the API server takes to come back.
PATIENT = {"admissionGracePeriodDuration": "1h", "warmupGracePeriodDuration": "1h"}


@pytest.fixture
async def own_cluster() -> AsyncIterator[LocalCluster]:
    async with LocalCluster(ClusterOptions(components=frozenset(), product=True)) as cluster:
        be_patient(cluster.client)
        with observed(cluster.kubeconfig):
            yield cluster


async def test_no_life_is_interrupted(own_cluster: LocalCluster) -> None:
    """Some wait for their pods, some have yet to be created when it goes away."""
    client = own_cluster.client
    process = own_cluster.processes["controller"]
    names = [f"restarted-{number}" for number in range(10)]
    for name in names:
        body = appwrapper(name, job(name, 1, run_for="3s"), annotations=PATIENT)
        await client.create(APPWRAPPERS, NAMESPACE, body)
    phases: set[str] = set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not phases & {"Running", "Succeeded"}:
            await asyncio.sleep(0.05)
            phases = {phase(each) for each in await listed(client, APPWRAPPERS, NAMESPACE)}
    await own_cluster.processes.restart("kube-apiserver")
    made = {each["metadata"]["name"]: each["metadata"]["uid"] for each in await jobs(own_cluster)}
    for name in names:
        await ends_well(client, NAMESPACE, name)
    still = {each["metadata"]["name"]: each["metadata"]["uid"] for each in await jobs(own_cluster)}
    assert sorted(still) == sorted(names)
    assert made.items() <= still.items()
    assert own_cluster.processes["controller"] is process
    assert process.state == "running"
    assert "Traceback" not in process.log.read_text()


async def jobs(cluster: LocalCluster) -> list[dict[str, Any]]:
    return await listed(cluster.client, JOBS, NAMESPACE)
