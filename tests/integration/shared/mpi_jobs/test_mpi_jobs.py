"""MPIJobs, whose definition only this folder adds, removes or misses: one worker runs it.

Their operator is not installed: the tests make the pods and write the status as it would.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from shared.api.objects import PODS, JsonObject, Resource
from shared.kube.client import PatchType
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.operated_kinds import made_by
from tests.support.builders.pods import pod_template
from tests.support.cluster.followed import followed, said
from tests.support.cluster.life import Life, exists
from tests.support.cluster.lives import (
    DEPLOYED,
    NAMESPACE,
    QUOTA,
    READY,
    UNHEALTHY,
    Condition,
    Lives,
    condition,
)
from tests.support.cluster.resources import MPI_JOBS
from tests.support.cluster.served_kinds import served
from tests.support.patience import comes_to

ROLES = ("Launcher", "Worker")


def mpi_job(name: str) -> JsonObject:
    roles = {role: {"replicas": 1, "template": pod_template(hang="running")} for role in ROLES}
    return {
        "apiVersion": MPI_JOBS.gvk.api_version,
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {"mpiReplicaSpecs": roles, "runPolicy": {"cleanPodPolicy": "None"}},
    }


@asynccontextmanager
async def running(lives: Lives, name: str, **periods: str) -> AsyncIterator[Life]:
    """All pods of an MPIJob run."""
    async with served(lives.client, MPI_JOBS):
        life = await lives.begin(appwrapper(name, mpi_job(name), annotations=periods))
        await comes_to(lambda: exists(lives.client, MPI_JOBS, NAMESPACE, name), True)
        made = await lives.client.get(MPI_JOBS, NAMESPACE, name)
        for role in ROLES:
            template = made["spec"]["mpiReplicaSpecs"][role]["template"]
            template["metadata"]["name"] = f"{name}-{role.lower()}"
            await lives.client.create(PODS, NAMESPACE, made_by(made, PODS, template))
        await life.until(
            lambda item: true_conditions(item) == {QUOTA, DEPLOYED, READY}, "all pods ready"
        )
        yield life
    await life.check_the_promise_to_kueue()


async def ends(lives: Lives, name: str, kind: str, **words: str) -> None:
    """Its operator says so."""
    status = {"conditions": [{"type": kind, "status": "True", **words}]}
    await lives.client.patch(MPI_JOBS, NAMESPACE, name, {"status": status}, PatchType.MERGE)


async def test_it_succeeds_by_its_own_word_and_workers_that_serve_on_are_removed(
    lives: Lives,
) -> None:
    async with running(lives, "mpi-ends", failureGracePeriodDuration="0s") as life:
        await lives.patch_pod("mpi-ends-launcher", {"phase": "Succeeded"})
        await ends(lives, "mpi-ends", "Succeeded")
        await life.until_phase("Succeeded")
        assert await lives.names(PODS, life) == ["mpi-ends-launcher"]
        assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]


@pytest.mark.parametrize("retries", [0, 1])
async def test_a_failure_of_its_own_word_gets_no_grace(lives: Lives, retries: int) -> None:
    name = f"mpi-fails-{retries}"
    periods = {"failureGracePeriodDuration": "1h", "retryPausePeriodDuration": "1h"}
    async with running(lives, name, retryLimit=str(retries), **periods) as life:
        await ends(lives, name, "Failed", reason="MPIJobFailed", message="the launcher failed")
        ended = await life.until_phase("Resetting" if retries else "Failed")
        assert condition(ended, UNHEALTHY) == Condition(
            "True", "FailedComponent", f"MPIJob {name}: MPIJobFailed: the launcher failed"
        )


# In the version that serves PyTorchJobs: the controller remembers what else that serves.
MPI_JOBS_V1 = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")


async def test_one_that_is_defined_just_after_it_was_missed_runs(lives: Lives) -> None:
    """Whatever the controller remembers: what it would fail for good it asks anew."""
    if "training-operator" not in lives.cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    version = {"apiVersion": MPI_JOBS_V1.gvk.api_version}
    early = await lives.begin(appwrapper("mpi-early", mpi_job("mpi-early") | version))
    failed = await early.until_phase("Failed")
    message = 'spec.components[0]: no matches for kind "MPIJob" in version "kubeflow.org/v1"'
    assert said(failed, UNHEALTHY) == ("True", "CreateFailed", message)
    body = appwrapper("mpi-just", mpi_job("mpi-just") | version)
    async with served(lives.client, MPI_JOBS_V1), followed(lives.client, NAMESPACE, body) as life:
        await life.until_phase("Running")
        assert await exists(lives.client, MPI_JOBS_V1, NAMESPACE, "mpi-just")
        assert life.phases() == ["", "Suspended", "Resuming", "Running"]
