"""A kept component is made once, wherever the controller dies on the way through a reset."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS
from shared.kube.client import KubeClient, Propagation
from tests.support.builders.appwrappers import AT_ONCE, appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.crashes import Successor, controller_away, dies, name_of
from tests.support.cluster.life import Life, exists
from tests.support.team import NAMESPACE

KEEP = {"workload.codeflare.dev.appwrapper/keep": "true"}
MOMENTS = ("create configmaps", "create jobs", "status Resetting", "delete jobs")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """The product's own controller is away from the first test to the last."""
    async with controller_away(cluster) as found:
        yield found


@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_crash_on_the_way_through_a_reset(
    client: KubeClient, moment: str, carried_out: bool
) -> None:
    name = name_of("crash-kept", MOMENTS.index(moment), carried_out)
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": f"{name}-"}}
    training = job(name, 1, run_for="200ms", fail_attempts="1", exit_code="1")
    body = appwrapper(name, data, training, annotations=AT_ONCE)
    body["spec"]["components"][0]["annotations"] = KEEP
    async with Life(client, NAMESPACE, name) as life:
        await client.create(APPWRAPPERS, NAMESPACE, body)
        await dies(client, moment, carried_out=carried_out)
        async with Successor(client):
            ended = await life.until_phase("Succeeded")
            first = await life.until_phase("Running")
            kept = [item["status"]["componentStatus"][0]["name"] for item in (first, ended)]
            made = await client.get(CONFIGMAPS, NAMESPACE, kept[0])
            assert (kept[0], made["metadata"]["labels"]["workload.codeflare.dev/attempt"]) == (
                kept[1],
                "1",
            )
            assert ended["status"]["attempt"] == 2
            assert ended["status"]["resettingCount"] == 1
            await life.check_the_promise_to_kueue()
            await client.delete(
                APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
            )
            await life.until_deleted()
    assert not await exists(client, CONFIGMAPS, NAMESPACE, kept[0])
