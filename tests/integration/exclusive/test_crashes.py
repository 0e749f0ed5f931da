"""A controller that is killed, and the one that comes after it.

The simulation lets it die before and after every single write.
"""

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.life import Life
from tests.support.team import NAMESPACE


async def test_kill_9_of_the_process_and_a_restart(cluster: LocalCluster) -> None:
    client = cluster.client
    async with Life(client, NAMESPACE, "crash-kill") as life:
        await client.create(
            APPWRAPPERS, NAMESPACE, appwrapper("crash-kill", job("crash-kill", run_for="1s"))
        )
        await life.until_phase("Resuming")
        await cluster.processes.stop("controller", patience=0)
        await cluster.processes.restart("controller")
        await life.until_phase("Succeeded")
        await client.delete(
            APPWRAPPERS, NAMESPACE, "crash-kill", uid=None, propagation=Propagation.BACKGROUND
        )
        await life.until_deleted()
        await life.check_the_promise_to_kueue()


# What one life writes. PodsReady may come with Running, so it has no moment of its own.
