"""A kept component is made once, wherever the controller dies on the way through a reset."""

import pytest

from shared.kube.client import KubeClient, Propagation
from shared.kube.resource import APPWRAPPERS
from tests.appwrapper_life import Life, appwrapper, exists, job
from tests.integration.followed import CONFIG_MAPS
from tests.integration.test_crashes import NAMESPACE, Successor, client, dies, name_of

__all__ = ["client"]  # a fixture

KEEP = {"workload.codeflare.dev.appwrapper/keep": "true"}
SOON = {"failureGracePeriodDuration": "0s", "retryPausePeriodDuration": "0s"}
MOMENTS = ("create configmaps", "create jobs", "status Resetting", "delete jobs")


@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_crash_on_the_way_through_a_reset(
    client: KubeClient, moment: str, carried_out: bool
) -> None:
    name = name_of("crash-kept", MOMENTS.index(moment), carried_out)
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": f"{name}-"}}
    training = job(name, 1, run_for="200ms", fail_attempts="1", exit_code="1")
    body = appwrapper(name, data, training, annotations=SOON)
    body["spec"]["components"][0]["annotations"] = KEEP
    async with Life(client, NAMESPACE, name) as life:
        await client.create(APPWRAPPERS, NAMESPACE, body)
        await dies(client, moment, carried_out=carried_out)
        async with Successor(client):
            ended = await life.until_phase("Succeeded")
            first = await life.until_phase("Running")
            kept = [item["status"]["componentStatus"][0]["name"] for item in (first, ended)]
            made = await client.get(CONFIG_MAPS, NAMESPACE, kept[0])
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
    assert not await exists(client, CONFIG_MAPS, NAMESPACE, kept[0])
