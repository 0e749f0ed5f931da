"""The operator's own period for what Kueue stops by the clock.

Its other periods: tests/simulation/lives/test_operators_periods.py.
"""

import pytest

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import APPWRAPPERS, PODS
from tests.support.builders.appwrappers import (
    QUEUE,
    appwrapper,
    version_of,
)
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.answers import created
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.reconfigured import reconfigured
from tests.support.patience import comes_to

LONG = "1h"
MAX_EXEC_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
SECONDS = f"{stretched(25.0):.0f}"  # of which a start on a slow machine needs a part
FORCEFUL = "workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration"
# What has a default above one second.


@pytest.mark.long
async def test_with_a_maximum_execution_time_the_operators_own_deletion_period_applies(
    cluster: LocalCluster, lives: Lives
) -> None:
    """Kueue counts its pods no more from then on. A researcher asks for a day; the pod never ends.

    What the webhook let pass is ten minutes here: it has another configuration than the controller.
    """
    name = "by-the-clock"
    stubborn = pod_template(container="pytorch", hang="running", ignore_deletion_for="1h")
    stubborn["spec"]["terminationGracePeriodSeconds"] = 3600
    body = appwrapper(
        name,
        pytorch_job(name, Master=stubborn),
        annotations={"forcefulDeletionGracePeriodDuration": "24h"},
        labels={**QUEUE, MAX_EXEC_TIME: SECONDS},
        namespace=NAMESPACE,
    )
    async with (
        reconfigured(cluster, "controller", faultTolerance={"forcefulDeletionGracePeriod": "2s"}),
        Life(cluster.client, NAMESPACE, name) as life,
    ):
        try:
            said = await created(member_of(cluster, NAMESPACE), body, NAMESPACE)
            assert said.code == 201, said
            assert (
                f"{FORCEFUL}: lowered from 24h to 10m, the most that the operator allows with the "
                f"label {MAX_EXEC_TIME}"
            ) in said.warnings
            running = await life.until_phase("Running")
            await comes_to(lambda: asked_for(lives, life), [2])
            gone = await life.until_phase("Suspended", after=version_of(running))
            assert gone["metadata"]["annotations"][FORCEFUL] == "10m"
            assert await lives.names(PODS, life) == []
        finally:
            await lives.delete(APPWRAPPERS, name)
            await life.until_deleted()


async def asked_for(lives: Lives, life: Life) -> list[int]:
    """The grace periods that its pods were created with."""
    uid = life.events[0].object["metadata"]["uid"]
    pods = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
    return [each["spec"]["terminationGracePeriodSeconds"] for each in pods]
