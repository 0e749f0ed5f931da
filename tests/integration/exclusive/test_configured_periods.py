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
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.reconfigured import reconfigured

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
            response = await created(member_of(cluster, NAMESPACE), body, NAMESPACE)
            assert response.code == 201, response
            assert (
                f"{FORCEFUL}: lowered from 24h to 10m, the most that the operator allows with the "
                f"label {MAX_EXEC_TIME}"
            ) in response.warnings
            running = await life.until_phase("Running")
            # Of the recorded pods: on a slow machine Kueue may have ended them by now.
            made = await life.until_pod(lambda _: True, "its pod")
            assert made["spec"]["terminationGracePeriodSeconds"] == 2
            gone = await life.until_phase("Suspended", after=version_of(running))
            assert gone["metadata"]["annotations"][FORCEFUL] == "10m"
            assert await lives.names(PODS, life) == []
        finally:
            await lives.delete(APPWRAPPERS, name)
            await life.until_deleted()
