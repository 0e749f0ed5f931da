"""The Job controller: batches, counts, ends, deletion and suspension."""

from typing import Any

from shared.api.objects import PODS, JsonObject
from shared.kinds.job import JOBS
from tests.simulation.actors.job_controller import JobController
from tests.simulation.actors.job_counts import TRACKING, format_indices, parse_indices
from tests.simulation.actors.objects import Key
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, held
from tests.support.builders.jobs import job

CREATES = "job controller creates a pod of train"
RELEASES = "job controller releases pods of train"


def started(spec: JsonObject | None = None, **deviations: int) -> SmallCluster:
    """Start a Job of two pods; `deviations` are the options of the first pick of each step."""
    places = {"creates": CREATES, "releases": RELEASES}
    cluster = SmallCluster(deviations={(places[key], 1): at for key, at in deviations.items()})
    JobController(cluster)
    body = job("train")
    body["spec"].update(spec or {})
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 30
    cluster.create(JOBS, body)
    cluster.advance(0.2)
    return cluster


def end(cluster: SmallCluster, *phases: str) -> None:
    for pod, phase in zip(cluster.pods(), phases, strict=False):
        cluster.change_pod(pod["metadata"]["name"], phase=phase)


def status(cluster: SmallCluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.job()["status"]
    return found


def test_a_new_job_gets_its_pods() -> None:
    cluster = started()
    owners = [each["metadata"]["ownerReferences"][0]["uid"] for each in cluster.pods()]
    assert owners == [cluster.job()["metadata"]["uid"]] * 2
    assert all(each["metadata"]["finalizers"] == [TRACKING] for each in cluster.pods())
    assert status(cluster)["active"] == 2


def test_enough_succeeded_pods_complete_the_job_in_three_writes() -> None:
    cluster = started()
    end(cluster, "Succeeded", "Succeeded")
    cluster.advance(5)
    assert held(cluster.job()) == {"SuccessCriteriaMet", "Complete"}
    assert status(cluster)["succeeded"] == 2
    assert not any("finalizers" in each["metadata"] for each in cluster.pods())
    conditions = [held(each.item) for each in cluster.writes if each.resource == JOBS]
    assert conditions[-2:] == [{"SuccessCriteriaMet"}, {"SuccessCriteriaMet", "Complete"}]


def test_a_pod_is_counted_once_if_it_disappears_before_its_count_is_written() -> None:
    cluster = started({"backoffLimit": 6}, releases=0)
    pod = cluster.pods()[0]["metadata"]["name"]
    end(cluster, "Failed")
    cluster.advance(0.9)
    cluster.store.delete(PODS, TEAM, pod, grace=0)
    cluster.advance(3)
    assert status(cluster)["failed"] == 1
    assert pod not in [each["metadata"]["name"] for each in cluster.pods()]
    cluster.advance(30)
    assert (status(cluster)["failed"], len(cluster.pods())) == (1, 2)


def test_a_failed_job_deletes_its_other_pods_and_fails_when_they_are_gone() -> None:
    cluster = started()
    for pod in cluster.pods():
        cluster.store.change(
            PODS, TEAM, pod["metadata"]["name"], lambda item: item["spec"].update(nodeName="n1")
        )
    end(cluster, "Failed", "Running")
    cluster.advance(5)
    (failed, other) = cluster.pods()
    assert "deletionTimestamp" not in failed["metadata"]
    assert "deletionTimestamp" in other["metadata"]
    assert held(cluster.job()) == {"FailureTarget"}
    cluster.store.delete(PODS, TEAM, other["metadata"]["name"], grace=0)
    cluster.advance(5)
    assert held(cluster.job()) == {"FailureTarget", "Failed"}
    assert status(cluster)["failed"] == 2


def test_a_failed_pod_is_replaced_after_the_back_off() -> None:
    cluster = started({"backoffLimit": 6})
    end(cluster, "Failed", "Running")
    cluster.advance(9)
    assert len(cluster.pods()) == 2
    cluster.advance(4)
    assert len(cluster.pods()) == 3


def test_a_batch_continues_after_the_deletion_of_its_job() -> None:
    cluster = started(creates=2)
    assert cluster.pods() == []
    cluster.store.delete(JOBS, TEAM, "train", propagation="Background")
    cluster.advance(10)
    assert len(cluster.pods()) == 2


def test_pods_of_a_deleted_job_lose_their_finalizers() -> None:
    cluster = started()
    cluster.store.delete(JOBS, TEAM, "train", propagation="Background")
    cluster.advance(1)
    assert not any("finalizers" in each["metadata"] for each in cluster.pods())


def test_a_job_that_is_deleted_in_the_foreground_makes_no_more_pods() -> None:
    cluster = started({"backoffLimit": 6})
    cluster.store.delete(JOBS, TEAM, "train", propagation="Foreground")
    end(cluster, "Failed", "Failed")
    cluster.advance(100)
    assert len(cluster.pods()) == 2
    assert status(cluster)["failed"] == 2


def test_a_suspended_job_has_no_pods_and_makes_them_when_it_resumes() -> None:
    cluster = started({"suspend": True})
    assert cluster.pods() == []
    assert held(cluster.job()) == {"Suspended"}
    key = Key.of(JOBS, cluster.job())
    key.change(cluster.store, lambda item: item["spec"].update(suspend=False))
    cluster.advance(5)
    assert len(cluster.pods()) == 2
    assert held(cluster.job()) == frozenset()
    key.change(cluster.store, lambda item: item["spec"].update(suspend=True))
    cluster.advance(5)
    assert cluster.pods() == []
    assert status(cluster).get("failed", 0) == 0


def test_a_deleted_pod_is_replaced_at_once_or_after_its_end_by_policy() -> None:
    for policy, pods in (("TerminatingOrFailed", 3), ("Failed", 2)):
        cluster = started({"backoffLimit": 6, "podReplacementPolicy": policy})
        name = cluster.pods()[0]["metadata"]["name"]
        cluster.store.change(PODS, TEAM, name, lambda item: item["spec"].update(nodeName="n1"))
        end(cluster, "Running", "Running")
        cluster.store.delete(PODS, TEAM, name)
        cluster.advance(25)
        assert len(cluster.pods()) == pods, policy


def test_an_indexed_job_replaces_the_missing_index() -> None:
    cluster = started({"completionMode": "Indexed", "backoffLimit": 6})
    end(cluster, "Succeeded", "Failed")
    cluster.advance(15)
    labels = [each["metadata"]["labels"] for each in cluster.pods()]
    assert [each["batch.kubernetes.io/job-completion-index"] for each in labels] == ["0", "1", "1"]
    assert status(cluster)["completedIndexes"] == "0"


def test_a_deadline_fails_the_job() -> None:
    cluster = started({"activeDeadlineSeconds": 30})
    cluster.advance(29)
    assert held(cluster.job()) == frozenset()
    cluster.advance(5)
    assert "Failed" in held(cluster.job())


def test_indices_are_written_as_the_job_controller_writes_them() -> None:
    assert format_indices({0, 1, 3, 4, 5}) == "0,1,3-5"
    assert parse_indices("0,1,3-5") == {0, 1, 3, 4, 5}
