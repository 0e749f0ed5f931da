"""PyTorchJobs: pods by role and index, ends, restarts, and pods made from an old reading."""

from typing import Any

import pytest

from shared.api.objects import PODS, JsonObject
from shared.kinds.pytorch_job import PYTORCH_JOB
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, held
from tests.simulation.actors.training_operator import TrainingOperator
from tests.simulation.api.kinds import PYTORCH_JOBS
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template

PODS_OF_TRAIN = ["train-master-0", "train-worker-0", "train-worker-1"]


def started(
    restart: str = "", deviations: dict[tuple[str, int], int] | None = None, **policy: Any
) -> SmallCluster:
    """Start a PyTorchJob of a master and two workers."""
    cluster = SmallCluster(deviations=deviations)
    TrainingOperator(cluster)
    submit(cluster, restart, **policy)
    cluster.advance(1)
    return cluster


def submit(cluster: SmallCluster, restart: str = "", **policy: Any) -> None:
    template = pod_template(container="pytorch")
    body = pytorch_job("train", restart, Master=template, Worker=(2, template))
    body["spec"]["runPolicy"] = policy
    cluster.create(PYTORCH_JOBS, body)


def job(cluster: SmallCluster) -> JsonObject:
    found = cluster.store.get(PYTORCH_JOBS, TEAM, "train")
    assert found is not None
    return found


def names(cluster: SmallCluster) -> list[str]:
    return sorted(each["metadata"]["name"] for each in cluster.pods())


def set_phase(cluster: SmallCluster, phase: str, *pods: str, code: int = 0) -> None:
    ended: JsonObject = (
        {"running": {}} if phase == "Running" else {"terminated": {"exitCode": code}}
    )
    for name in pods:
        containers = [{"name": "pytorch", "restartCount": 0, "state": ended}]
        cluster.change_pod(name, phase=phase, containerStatuses=containers)
    cluster.advance(1)


def test_a_new_job_gets_a_pod_for_each_role_and_index() -> None:
    """pod.go: createNewPod; names and labels by role and index, restartPolicy of the role."""
    cluster = started("ExitCode")
    assert names(cluster) == PODS_OF_TRAIN
    (worker,) = [p for p in cluster.pods() if p["metadata"]["name"] == "train-worker-1"]
    labels = worker["metadata"]["labels"]
    assert labels["training.kubeflow.org/replica-type"] == "worker"
    assert labels["training.kubeflow.org/replica-index"] == "1"
    assert worker["spec"]["restartPolicy"] == "Never"
    assert held(job(cluster)) == {"Created"}


def test_the_masters_success_ends_the_job_while_workers_run() -> None:
    """pytorchjob_controller.go: UpdateJobStatus; cleanPodPolicy None leaves the workers."""
    cluster = started()
    set_phase(cluster, "Running", *PODS_OF_TRAIN)
    assert held(job(cluster)) == {"Created", "Running"}
    set_phase(cluster, "Succeeded", "train-master-0")
    assert held(job(cluster)) == {"Created", "Succeeded"}
    assert names(cluster) == PODS_OF_TRAIN
    counts = job(cluster)["status"]["replicaStatuses"]
    assert counts == {"Master": {"succeeded": 1}, "Worker": {"succeeded": 2}}


def test_clean_pod_policy_running_deletes_the_workers_that_still_run() -> None:
    """job.go: DeletePodsAndServices."""
    cluster = started(cleanPodPolicy="Running")
    set_phase(cluster, "Running", *PODS_OF_TRAIN)
    set_phase(cluster, "Succeeded", "train-master-0")
    assert names(cluster) == ["train-master-0"]


def test_restart_policy_never_fails_the_job_at_the_first_failed_pod() -> None:
    cluster = started("Never")
    set_phase(cluster, "Running", *PODS_OF_TRAIN)
    set_phase(cluster, "Failed", "train-worker-0", code=1)
    assert held(job(cluster)) == {"Created", "Failed"}
    assert PYTORCH_JOB.report is not None
    assert "1 Worker replica(s) failed" in PYTORCH_JOB.report(job(cluster)).message


def test_a_failed_pod_is_replaced_by_one_of_the_same_name() -> None:
    """pod.go: ReconcilePods deletes it; the next pass creates the new one, and reports Running."""
    cluster = started("OnFailure")
    set_phase(cluster, "Running", *PODS_OF_TRAIN)
    (old,) = [p for p in cluster.pods() if p["metadata"]["name"] == "train-worker-0"]
    set_phase(cluster, "Failed", "train-worker-0", code=1)
    (new,) = [p for p in cluster.pods() if p["metadata"]["name"] == "train-worker-0"]
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    reported = [held(each.item) for each in cluster.writes if each.resource == PYTORCH_JOBS]
    assert reported[-2:] == [{"Created", "Restarting"}, {"Created", "Running"}]


def test_a_pod_is_created_although_the_job_was_deleted_meanwhile() -> None:
    """Reconcile reads the job once, at its beginning."""
    cluster = started(deviations={("training operator creates Worker-0 of train", 1): 2})
    assert names(cluster) == ["train-master-0"]
    cluster.store.delete(PYTORCH_JOBS, TEAM, "train", propagation="Background")
    cluster.advance(5)
    assert names(cluster) == PODS_OF_TRAIN


def test_pods_of_a_deleted_job_block_its_successor_of_the_same_name() -> None:
    """pod.go: createNewPod fails, and the pass ends before the status is written."""
    cluster = started()
    cluster.store.delete(PYTORCH_JOBS, TEAM, "train", propagation="Orphan")
    cluster.advance(1)
    cluster.store.change(
        PYTORCH_JOBS, TEAM, "train", lambda item: item["metadata"].pop("finalizers", None)
    )
    submit(cluster)
    cluster.advance(10)
    assert "status" not in job(cluster)
    for name in PODS_OF_TRAIN:
        cluster.store.delete(PODS, TEAM, name, grace=0)
    cluster.advance(20)
    assert names(cluster) == PODS_OF_TRAIN
    assert held(job(cluster)) == {"Created"}


def test_a_suspended_job_deletes_its_pods() -> None:
    """job.go: ReconcileJobs, IsJobSuspended."""
    cluster = started()
    set_phase(cluster, "Running", *PODS_OF_TRAIN)
    cluster.store.change(
        PYTORCH_JOBS, TEAM, "train", lambda item: item["spec"]["runPolicy"].update(suspend=True)
    )
    cluster.advance(1)
    assert cluster.pods() == []
    assert held(job(cluster)) == {"Created", "Suspended"}


@pytest.mark.parametrize(
    ("phase", "again"), [("Running", ["train-master-0"]), ("Succeeded", [])], ids=["runs", "ended"]
)
def test_an_operator_that_missed_the_end_of_a_job_makes_its_pods_again_unless_it_had_ended(
    phase: str, again: list[str]
) -> None:
    cluster = started(deviations={("training operator hears of the end of train", 1): 1})
    set_phase(cluster, phase, "train-master-0")
    cluster.store.delete(PYTORCH_JOBS, TEAM, "train", propagation="Background")
    cluster.store.delete(PODS, TEAM, "train-master-0", grace=0)
    cluster.advance(0.2)
    assert [each for each in names(cluster) if "master" in each] == again
