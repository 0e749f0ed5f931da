"""`appwrapper cancel` and `resubmit` as a member of a team types them, on the real cluster."""

import asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.cluster.removed import removed
from tests.support.command import Ended
from tests.support.command import appwrapper as appwrapper_command
from tests.support.patience import comes_to

MEMBER = ("--as", "alice", "--as-group", f"{NAMESPACE}-edit-group", "-n", NAMESPACE)
# This cluster asks for the user's own right to create a Job, which members lack.
CREATOR = ("--as", "alice", "--as-group", "system:masters", "-n", NAMESPACE)


async def typed(cluster: RunningCluster, *words: str, who: tuple[str, ...] = MEMBER) -> Ended:
    """`appwrapper WORDS`."""
    command = (*words, "--kubeconfig", str(cluster.kubeconfig), *who)
    return await asyncio.to_thread(appwrapper_command, *command)


async def test_cancel_waits_until_the_pods_are_gone_and_spares_others(
    cluster: RunningCluster, lives: Lives
) -> None:
    runs = await lives.begin(appwrapper("runs", requesting("500m", job("runs", hang="running"))))
    await runs.until_phase("Running")
    code, out, _ = await typed(cluster, "cancel", "--me", "--yes")
    assert (code, out.startswith("Nothing to cancel: ")) == (0, True)  # the test's admin made it
    assert await typed(cluster, "cancel", "runs", "--yes", "--wait") == (
        0,
        "runs is being deleted.\n1 AppWrapper gone.\n",
        "",
    )
    assert not await exists(cluster.client, APPWRAPPERS, NAMESPACE, "runs")


async def test_resubmit_runs_an_ended_one_again(cluster: RunningCluster, lives: Lives) -> None:
    ends = await lives.begin(appwrapper("ends", requesting("500m", job("ends"))))
    assert (await typed(cluster, "resubmit", "ends")).code == 2
    await ends.until_phase("Succeeded")
    code, _, err = await typed(cluster, "resubmit", "ends")
    assert (code, err.partition(",")[0]) == (1, "error: ends still has Job ends")
    words = ("resubmit", "ends", "--remove-old", "--set", "retryLimit=7", "-o", "name")
    try:
        assert await typed(cluster, *words, who=CREATOR) == (0, "ends-2\n", "")

        async def phase() -> str:
            item = await cluster.client.get(APPWRAPPERS, NAMESPACE, "ends-2")
            assert prefixed(retryLimit="7").items() <= item["metadata"]["annotations"].items()
            return str((item.get("status") or {}).get("phase"))

        await comes_to(phase, "Succeeded")
        assert await exists(cluster.client, APPWRAPPERS, NAMESPACE, "ends")
    finally:
        await removed(cluster.client, APPWRAPPERS, NAMESPACE, "ends-2")
