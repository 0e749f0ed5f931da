"""What objects say of their pods: how many ended well, and how many they want by now."""

from typing import Any

import pytest

from shared.api.conditions import NO_PROGRESS, Progress
from shared.kinds.table import KINDS, progress_of


def replicated(name: str, replicas: int, pods: int, **fields: Any) -> dict[str, Any]:
    job = {"parallelism": pods, "completions": pods, "template": {"spec": {}}}
    return {"name": name, "replicas": replicas, "template": {"spec": job}, **fields}


def after(name: str, status: str) -> dict[str, Any]:
    return {"dependsOn": [{"name": name, "status": status}]}


def job_set(*jobs: dict[str, Any], statuses: Any = None, **spec: Any) -> dict[str, Any]:
    status = {"replicatedJobsStatus": statuses}
    return {
        "metadata": {"name": "set"},
        "spec": {"replicatedJobs": list(jobs), **spec},
        "status": status,
    }


def says(name: str, **counts: int) -> dict[str, Any]:
    return {"name": name, **counts}


DRIVER = replicated("driver", 1, 1)
WORKERS = replicated("workers", 2, 3)
LOGGER = replicated("logger", 1, 1)
COMPLETE, READY = after("driver", "Complete"), after("driver", "Ready")
IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}


@pytest.mark.parametrize(
    ("kind", "item", "expected"),
    [
        ("batch/Job", {}, NO_PROGRESS),
        ("batch/Job", {"status": {"succeeded": 3}}, Progress(3)),
        (
            "batch/Job",
            {"status": {"succeeded": 3, "completedIndexes": "0,2-3"}},
            Progress(3, indices="0,2-3"),
        ),
        ("batch/Job", {"spec": {"suspend": True}}, Progress(0, wanted=0)),
        ("batch/Job", {"spec": {"suspend": False}, "status": {"succeeded": None}}, NO_PROGRESS),
        (
            "kubeflow.org/PyTorchJob",
            {"status": {"replicaStatuses": {"Master": {}, "Worker": {"succeeded": 2}}}},
            Progress(2),
        ),
        (
            "kubeflow.org/PyTorchJob",
            {"spec": {"runPolicy": {"suspend": True}}},
            Progress(wanted=0),
        ),
        ("ray.io/RayCluster", {"spec": {"suspend": True}}, Progress(wanted=0)),
        ("ray.io/RayJob", {"spec": {}}, NO_PROGRESS),
        ("apps/Deployment", {"spec": {"replicas": 3}}, NO_PROGRESS),
        ("v1/Unknown", {}, NO_PROGRESS),
    ],
)
def test_jobs_and_what_is_suspended(kind: str, item: Any, expected: Progress) -> None:
    assert progress_of(kind, item) == expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(job_set(DRIVER, WORKERS), NO_PROGRESS, id="all at once"),
        pytest.param(
            job_set(DRIVER, WORKERS, statuses=[says("driver", succeeded=1)]),
            Progress(1, by_owner=(("set-driver-", 1, 1),)),
            id="pods of Jobs that succeeded",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS, statuses=[says("driver", succeeded=3)]),
            Progress(1, by_owner=(("set-driver-", 1, 1),)),
            id="no more Jobs than there are: its replicas were reduced",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS, suspend=True), Progress(wanted=0), id="it is suspended"
        ),
        pytest.param(
            job_set(DRIVER, WORKERS | COMPLETE, suspend=True),
            Progress(wanted=0),
            id="it is suspended between stages",
        ),
        pytest.param(job_set(DRIVER, WORKERS | COMPLETE), Progress(0, 1), id="nothing began"),
        pytest.param(
            job_set(DRIVER, WORKERS | COMPLETE, statuses=[says("workers", suspended=2)]),
            Progress(0, 1),
            id="suspended Jobs have not begun: each is resumed in its turn",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS | COMPLETE, statuses=[says("driver", ready=1)]),
            Progress(0, 1),
            id="ready is not complete",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS | COMPLETE, statuses=[says("driver", succeeded=1)]),
            Progress(1, 7, by_owner=(("set-driver-", 1, 1),)),
            id="complete",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS | READY, statuses=[says("driver", ready=1)]),
            Progress(0, 7),
            id="ready",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS | READY, statuses=[says("driver", failed=1)]),
            Progress(0, 7),
            id="what failed was ready",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS | READY, statuses=[says("workers", active=1)]),
            Progress(0, 7),
            id="what began stays wanted",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS | after("nobody", "Ready")), Progress(0, 1), id="on nobody"
        ),
        pytest.param(job_set(DRIVER, WORKERS, **IN_ORDER), Progress(0, 1), id="in order"),
        pytest.param(
            job_set(DRIVER, WORKERS, statuses=[says("driver", ready=1)], **IN_ORDER),
            Progress(0, 7),
            id="in order, the next",
        ),
        pytest.param(
            job_set(WORKERS, DRIVER, statuses=[says("workers", ready=1)], **IN_ORDER),
            Progress(0, 6),
            id="in order, not all are ready",
        ),
        pytest.param(
            job_set(DRIVER, WORKERS, LOGGER, statuses=[says("workers", ready=2)], **IN_ORDER),
            Progress(0, 7),
            id="in order, the third waits although the second is ready",
        ),
        pytest.param(
            job_set(*[replicated(str(each), 1, 1) for each in range(100)], **IN_ORDER),
            Progress(0, 1),
            id="as many as are read",
        ),
        pytest.param(
            job_set(*[replicated(str(each), 1, 1) for each in range(101)], **IN_ORDER),
            NO_PROGRESS,
            id="more than are read",
        ),
    ],
)
def test_job_sets(item: Any, expected: Progress) -> None:
    assert progress_of("jobset.x-k8s.io/JobSet", item) == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"replicas": 3}, {}, Progress(wanted=1)),
        ({"replicas": 3}, {"replicas": 1, "readyReplicas": 0}, Progress(wanted=1)),
        ({"replicas": 3}, {"replicas": 1, "readyReplicas": 1}, Progress(wanted=2)),
        ({"replicas": 3}, {"replicas": 3, "readyReplicas": 1}, Progress(wanted=3)),
        ({"replicas": 3}, {"replicas": 3, "readyReplicas": 3}, Progress(wanted=3)),
        ({"replicas": 3, "podManagementPolicy": "Parallel"}, {}, NO_PROGRESS),
        ({}, {}, NO_PROGRESS),
        ({"replicas": "three"}, {}, NO_PROGRESS),
    ],
)
def test_stateful_sets(spec: Any, status: Any, expected: Progress) -> None:
    assert progress_of("apps/StatefulSet", {"spec": spec, "status": status}) == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"startupPolicy": "LeaderReady"}, {}, Progress(wanted=2)),
        ({"startupPolicy": "LeaderReady"}, {"updatedReplicas": 1}, Progress(wanted=5)),
        ({"startupPolicy": "LeaderReady"}, {"updatedReplicas": 2}, Progress(wanted=8)),
        ({"startupPolicy": "LeaderReady"}, {"updatedReplicas": 3}, Progress(wanted=8)),
        ({"startupPolicy": "LeaderCreated"}, {}, NO_PROGRESS),
        ({}, {}, NO_PROGRESS),
    ],
)
def test_leader_worker_sets(spec: Any, status: Any, expected: Progress) -> None:
    whole = {"replicas": 2, "leaderWorkerTemplate": {"size": 4}, **spec}
    item = {"spec": whole, "status": status}
    assert progress_of("leaderworkerset.x-k8s.io/LeaderWorkerSet", item) == expected


@pytest.mark.parametrize(
    ("spec", "roles", "expected"),
    [
        ({}, {}, NO_PROGRESS),
        ({}, {"Launcher": {"succeeded": 1}}, Progress(1)),
        ({"launcherCreationPolicy": "AtStartup"}, {}, NO_PROGRESS),
        ({"launcherCreationPolicy": "WaitForWorkersReady"}, {}, Progress(wanted=2)),
        (
            {"launcherCreationPolicy": "WaitForWorkersReady"},
            {"Worker": {"active": 2}},
            Progress(wanted=2),
        ),
        (
            {"launcherCreationPolicy": "WaitForWorkersReady"},
            {"Launcher": {}, "Worker": {"active": 1}},
            NO_PROGRESS,
        ),
        (
            {
                "launcherCreationPolicy": "WaitForWorkersReady",
                "runPolicy": {"suspend": True},
            },
            {},
            Progress(wanted=0),
        ),
    ],
)
def test_mpi_jobs(spec: Any, roles: Any, expected: Progress) -> None:
    whole = {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 2}}, **spec}
    item = {"spec": whole, "status": {"replicaStatuses": roles}}
    assert progress_of("kubeflow.org/MPIJob", item) == expected


@pytest.mark.parametrize("kind", [each.group_kind for each in KINDS])
def test_an_empty_object_reports_nothing(kind: str) -> None:
    assert progress_of(kind, {"spec": None, "status": None}).succeeded == 0
