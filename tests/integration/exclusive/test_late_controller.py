"""What happens to AppWrappers before the controller has looked at them for the first time."""

import os
import signal
from collections.abc import AsyncIterator

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, PODS
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import restarted_job
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE as LIVES
from tests.support.cluster.lives import Lives
from tests.support.cluster.resources import JOBS
from tests.support.cluster.sample_team import SUCCEEDED, Team, quota_reserved
from tests.support.cluster.stages import CRASH_LOOP, IMPATIENT, LONG, falls
from tests.support.life_record import READY, unhealthy_reasons
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE


@pytest.fixture
async def team(cluster: LocalCluster) -> AsyncIterator[Team]:
    user = Team(Kubectl(cluster.kubectl, cluster.kubeconfig), cluster.client)
    yield user
    await user.delete_all()


async def test_admitted_before_the_controller_looks_for_the_first_time(
    cluster: LocalCluster, team: Team
) -> None:
    """Kueue is that quick now and then: no change comes after the controller's first look."""
    controller = cluster.processes["controller"].pid
    os.kill(controller, signal.SIGSTOP)
    try:
        name = await team.apply("samples/wrapped-pod.yaml")
        await comes_to(lambda: quota_reserved(team, name), "True")
        await comes_to(lambda: suspended(team, name), False)
        assert await team.phase(name) == ""
    finally:
        os.kill(controller, signal.SIGCONT)
    await comes_to(lambda: team.row(name), SUCCEEDED)


async def suspended(team: Team, name: str) -> bool:
    """What Kueue wrote; absent means False."""
    appwrapper = await team.client.get(APPWRAPPERS, NAMESPACE, name)
    return bool(appwrapper["spec"].get("suspend"))


async def test_a_pod_that_succeeded_and_went_meanwhile_counts_by_its_jobs_word(
    lives: Lives, cluster: LocalCluster
) -> None:
    """What a process has seen is no record: after a restart the Job tells."""
    body = restarted_job("went", 2, hang="running")
    body["spec"]["completionMode"] = "Indexed"
    life = await lives.begin(appwrapper("went", body, annotations=LONG | IMPATIENT))
    await life.until(lambda item: READY in true_conditions(item), "all pods ready")
    first, second = await lives.names(PODS, life)
    await lives.patch_pod(first, {"phase": "Succeeded"})

    async def completed() -> object:
        return (await lives.client.get(JOBS, LIVES, "went"))["status"].get("succeeded")

    await comes_to(completed, 1)
    await lives.annotate("went", admissionGracePeriodDuration="0s")
    await cluster.processes.stop("controller")
    try:
        await lives.delete(PODS, first)
        await comes_to(lambda: exists(lives.client, PODS, LIVES, first), False)
    finally:
        await cluster.processes.restart("controller")
    await lives.patch_pod(second, CRASH_LOOP)
    await falls(life, "1 of 2 pods run or succeeded; 1 pod crashes again and again")
    await lives.patch_pod(second, {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
    assert unhealthy_reasons(life) == []
    await life.check_the_promise_to_kueue()
