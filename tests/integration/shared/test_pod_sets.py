"""Which pods Kueue reserves quota for, and which pod sets are refused, on the real API server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import JsonObject
from tests.support.builders.wrapped_kinds import (
    DEPLOYMENT,
    GROUP,
    JOB_SET,
    LEADER_WORKER_SET,
    NAME,
    kind,
    mpi_job,
    pod,
    pytorch_job,
    ray,
    template,
)
from tests.support.cluster.submitting_team import NOWHERE, Team, wrapping
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.kueue


@pytest.fixture
async def team(cluster: RunningCluster) -> AsyncIterator[Team]:
    found = Team(cluster)
    yield found
    await found.clean_up()


# What Kueue reserves

POD_SETS: list[Any] = [
    pytest.param(pod(), [1], id="Pod"),
    pytest.param(DEPLOYMENT, [2], id="Deployment"),
    pytest.param({**DEPLOYMENT, "kind": "StatefulSet"}, [2], id="StatefulSet"),
    pytest.param(
        kind("batch/v1", "Job", parallelism=2, completions=4, template=template()),
        [2],
        id="Job, fewer at once",
    ),
    pytest.param(
        kind("batch/v1", "Job", parallelism=8, completions=4, template=template()),
        [4],
        id="Job, fewer in all",
    ),
    pytest.param(
        kind("batch/v1", "Job", completions=4, template=template()),
        [1],
        id="Job, completions alone",
    ),
    pytest.param(JOB_SET, [6, 1], id="JobSet"),
    pytest.param(pytorch_job(Worker=template(), Master=template()), [1, 1], id="PyTorchJob"),
    pytest.param(kind("ray.io/v1", "RayCluster", **ray()), [1, 2], id="RayCluster"),
    pytest.param(kind("ray.io/v1", "RayJob", rayClusterSpec=ray()), [1, 2], id="RayJob"),
    pytest.param(LEADER_WORKER_SET, [2, 4], id="LeaderWorkerSet"),
    pytest.param(mpi_job("v1"), [1, 4], id="MPIJob v1"),
    pytest.param(mpi_job("v2beta1"), [1, 4], id="MPIJob v2beta1"),
]


@pytest.mark.parametrize(("wrapped", "pods"), POD_SETS)
async def test_kueue_reserves_quota_for_the_pods_of_each_kind(
    team: Team, wrapped: JsonObject, pods: list[int]
) -> None:
    await team.queued_nowhere(wrapped)
    await comes_to(team.counts, pods)

    async def ours() -> list[int]:
        status = (await team.stored()).get("status", {})
        return [
            each.get("replicas", 1)
            for component in status.get("componentStatus", [])
            for each in component["podSets"]
        ]

    # Once the status has them Kueue reads them there: its Workload stays the same.
    await comes_to(ours, pods)
    assert await team.counts() == pods


async def test_a_users_own_declaration_stands_with_a_warning(team: Team) -> None:
    declared = [{"path": f"{GROUP}.workerTemplate", "replicas": 6}]
    response = await team.submit(
        wrapping({"template": LEADER_WORKER_SET, "podSets": declared}, name=NAME, labels=NOWHERE)
    )
    assert response.code == 201
    assert (
        "spec.components[0].podSets differ from those of the LeaderWorkerSet itself "
        f"({GROUP}.leaderTemplate x 2, {GROUP}.workerTemplate x 4); "
        "quota is reserved for the declared ones"
    ) in response.warnings
    assert (await team.stored())["spec"]["components"][0]["podSets"] == declared
    await comes_to(team.counts, [6])


# What is refused


def declared(*pod_sets: Any, of: JsonObject = LEADER_WORKER_SET) -> JsonObject:
    return {"template": of, "podSets": list(pod_sets)}


async def test_eight_pod_sets_are_accepted_and_nine_refused(team: Team) -> None:
    pods = [pod(name=f"{NAME}-{index}") for index in range(9)]
    assert await team.errors_of(*pods) == [
        "spec.components: Too many: 9: all components together may have at most 8 pod sets: "
        + ", ".join(f"spec.components[{index}] (Pod) has 1" for index in range(5))
        + ", and 4 more"
    ]
    await team.queued_nowhere(*pods[:8])
    await comes_to(team.counts, [1] * 8)


async def test_pod_sets_declared_as_inferred_are_accepted(team: Team) -> None:
    one = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 1}}
    await team.queued_nowhere(
        declared({"path": "template.spec.template", "replicas": 2}, of=DEPLOYMENT),
        # Replicas left out are one.
        declared({"path": "template.spec.template"}, of=one),
    )
    await comes_to(team.counts, [2, 1])


async def test_kinds_may_be_mixed(team: Team) -> None:
    here = pod(name=f"{NAME}-here")
    here["metadata"]["namespace"] = NAMESPACE
    cluster = kind("ray.io/v1", "RayCluster", **ray())
    await team.queued_nowhere(pod(), DEPLOYMENT, here, cluster, JOB_SET)
    await comes_to(team.counts, [1, 2, 1, 1, 2, 6, 1])
