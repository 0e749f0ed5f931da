from typing import Any

import pytest

from shared.kinds.kind import PodSet, PodSetError
from shared.kinds.table import inferred_pod_sets, pod_sets_to_declare

POD_TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
LEADER = "template.spec.leaderWorkerTemplate.leaderTemplate"
WORKER = "template.spec.leaderWorkerTemplate.workerTemplate"
MPI = "template.spec.mpiReplicaSpecs"


def leader_worker_set(
    *, replicas: object = None, size: object = None, leader: object = None
) -> dict[str, Any]:
    group = {"workerTemplate": POD_TEMPLATE, "size": size, "leaderTemplate": leader}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": {"replicas": replicas, "leaderWorkerTemplate": group},
    }


def mpi_job(version: str = "v2beta1", **roles: object) -> dict[str, Any]:
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "spec": {"mpiReplicaSpecs": roles},
    }


def role(**fields: object) -> dict[str, Any]:
    return {"template": POD_TEMPLATE, **fields}


@pytest.mark.parametrize(
    ("template", "pod_sets"),
    [
        pytest.param(leader_worker_set(), [(WORKER, 1)], id="one pod"),
        pytest.param(leader_worker_set(replicas=2, size=3), [(WORKER, 6)], id="all alike"),
        pytest.param(
            leader_worker_set(replicas=2, size=3, leader=POD_TEMPLATE),
            [(LEADER, 2), (WORKER, 4)],
            id="leaders and workers",
        ),
        pytest.param(
            leader_worker_set(replicas=2, size=1, leader=POD_TEMPLATE),
            [(LEADER, 2)],
            id="leaders alone",
        ),
        pytest.param(leader_worker_set(replicas=0, size=3), [(WORKER, 0)], id="no group yet"),
    ],
)
def test_a_leader_worker_set_is_groups_of_size_pods(
    template: dict[str, Any], pod_sets: list[tuple[str, int]]
) -> None:
    assert pod_sets_to_declare(template) == tuple(PodSet(*each) for each in pod_sets)


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
@pytest.mark.parametrize(
    ("roles", "pod_sets"),
    [
        pytest.param(
            {"Worker": role(replicas=4), "Launcher": role(replicas=1)},
            [(f"{MPI}.Launcher.template", 1), (f"{MPI}.Worker.template", 4)],
            id="launcher first, whatever the order",
        ),
        pytest.param(
            {"Launcher": role(), "Worker": role()},
            [(f"{MPI}.Launcher.template", 1), (f"{MPI}.Worker.template", 0)],
            id="the operators' defaults",
        ),
        pytest.param({"Launcher": role()}, [(f"{MPI}.Launcher.template", 1)], id="no workers"),
        pytest.param({}, [], id="no roles"),
    ],
)
def test_an_mpi_job_is_its_launcher_and_its_workers(
    version: str, roles: dict[str, Any], pod_sets: list[tuple[str, int]]
) -> None:
    expected = tuple(PodSet(*each) for each in pod_sets)
    assert pod_sets_to_declare(mpi_job(version, **roles)) == expected


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            leader_worker_set(size=0),
            "template.spec.leaderWorkerTemplate.size is 0, but a group has at least its leader",
        ),
        (
            leader_worker_set(size="3"),
            "template.spec.leaderWorkerTemplate.size must be an integer",
        ),
        (leader_worker_set(replicas=True), "template.spec.replicas must be an integer"),
        (
            leader_worker_set(replicas=2**30, size=2),
            f"{WORKER} would have 2147483648 replicas: the count must be from 0 to 2147483647",
        ),
        (
            leader_worker_set(replicas=-1),
            "template.spec.replicas is -1: it must be from 0 to 2147483647",
        ),
        (
            leader_worker_set(leader={}),
            f"the LeaderWorkerSet needs {LEADER.removeprefix('template.')}: {LEADER} has no spec "
            "object, so it is not a pod template",
        ),
        (
            {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"},
            f"the LeaderWorkerSet needs {WORKER.removeprefix('template.')}: template has no field "
            "'spec'",
        ),
        (
            mpi_job(Worker={"replicas": 3}),
            f"the MPIJob needs {MPI.removeprefix('template.')}.Worker.template: "
            f"{MPI}.Worker has no field 'template'",
        ),
        (mpi_job(Worker=role(replicas=1.0)), f"{MPI}.Worker.replicas must be an integer"),
        (
            mpi_job(Worker={"template": None}),
            f"the MPIJob needs {MPI.removeprefix('template.')}.Worker.template: "
            f"{MPI}.Worker.template is null, not a pod template",
        ),
    ],
)
def test_a_missing_pod_template_or_an_impossible_count_is_refused(
    template: dict[str, Any], message: str
) -> None:
    with pytest.raises(PodSetError) as refused:
        pod_sets_to_declare(template)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"apiVersion": "v1", "kind": "Pod", **POD_TEMPLATE},
        mpi_job("v1alpha2", Worker=role()),
        {**leader_worker_set(), "apiVersion": "leaderworkerset.x-k8s.io/v2"},
        {"apiVersion": 1, "kind": ["MPIJob"]},
    ],
)
def test_other_kinds_are_not_in_the_table(template: dict[str, Any]) -> None:
    assert pod_sets_to_declare(template) is None


@pytest.mark.parametrize("template", [leader_worker_set(), mpi_job(Worker=role())])
def test_kueue_infers_none_of_them_itself(template: dict[str, Any]) -> None:
    assert inferred_pod_sets(template) is None
