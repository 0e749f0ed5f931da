"""MPIJobs whose definition only this folder adds, removes or misses: one worker runs it.

Their operator is not there. What it makes of them is in `operated_kinds`.
"""

import pytest

from shared.api.objects import Resource
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.operated_kinds import mpi_job
from tests.support.cluster.followed import followed, reported
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.served_kinds import served
from tests.support.life_record import UNHEALTHY

# In the version that serves PyTorchJobs: the controller remembers what else that serves.
MPI_JOBS_V1 = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")


async def test_one_that_is_defined_just_after_it_was_missed_runs(lives: Lives) -> None:
    """Whatever the controller remembers: what it would fail for good it asks anew."""
    if "training-operator" not in lives.cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    early = await lives.begin(appwrapper("mpi-early", mpi_job("mpi-early", version="v1")))
    failed = await early.until_phase("Failed")
    message = 'spec.components[0]: no matches for kind "MPIJob" in version "kubeflow.org/v1"'
    assert reported(failed, UNHEALTHY) == ("True", "CreateFailed", message)
    body = appwrapper("mpi-just", mpi_job("mpi-just", version="v1"))
    async with served(lives.client, MPI_JOBS_V1), followed(lives.client, NAMESPACE, body) as life:
        await life.until_phase("Running")
        assert await exists(lives.client, MPI_JOBS_V1, NAMESPACE, "mpi-just")
        assert life.phases() == ["", "Suspended", "Resuming", "Running"]
