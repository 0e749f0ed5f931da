"""JobSets: their Jobs, failure and success policies, restarts, order and suspension."""

from typing import Any

import pytest

from shared.api.objects import JsonObject
from shared.kinds.job_set import JOB_SET
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.actors.job_set import JobSetController
from tests.simulation.actors.objects import set_condition
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, held
from tests.simulation.api.kinds import JOB_SETS, JOBS
from tests.support.builders.operated_kinds import job_set
from tests.support.builders.pods import pod_template

LEADER, WORKER = "train-leader-0", "train-worker-0"


def started(**policies: Any) -> SmallCluster:
    """Start a JobSet with a Job `leader` and a Job `worker`, without a Job controller."""
    cluster = SmallCluster()
    GarbageCollector(cluster)
    JobSetController(cluster)
    body = job_set("train", policies=policies, leader=pod_template(), worker=pod_template())
    cluster.create(JOB_SETS, body)
    cluster.advance(1)
    return cluster


def owner(cluster: SmallCluster) -> JsonObject:
    found = cluster.store.get(JOB_SETS, TEAM, "train")
    assert found is not None
    return found


def names(cluster: SmallCluster) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.store.items(JOBS)]


def end(cluster: SmallCluster, name: str, kind: str) -> None:
    cluster.store.change(
        JOBS, TEAM, name, lambda job: set_condition(job, kind, "True", "Test", cluster.loop.now)
    )
    cluster.advance(2)


def test_a_new_job_set_gets_all_of_its_jobs() -> None:
    cluster = started()
    assert names(cluster) == [LEADER, WORKER]
    (job, _) = cluster.store.items(JOBS)
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["jobset.sigs.k8s.io/jobset-name"] == "train"
    assert labels["jobset.sigs.k8s.io/restart-attempt"] == "0"


@pytest.mark.parametrize(
    ("operator", "completes"), [("All", False), ("Any", True)], ids=["all", "any"]
)
def test_the_success_policy_decides_how_many_jobs_must_succeed(
    operator: str, completes: bool
) -> None:
    """success_policy.go: numJobsExpectedToSucceed. The active Jobs are deleted at the end."""
    cluster = started(successPolicy={"operator": operator, "targetReplicatedJobs": []})
    end(cluster, LEADER, "Complete")
    assert ("Completed" in held(owner(cluster))) is completes
    assert names(cluster) == ([LEADER] if completes else [LEADER, WORKER])


def test_without_a_failure_policy_the_first_failed_job_fails_the_job_set() -> None:
    """failure_policy.go: executeFailurePolicy."""
    cluster = started()
    end(cluster, WORKER, "Failed")
    assert held(owner(cluster)) == {"Failed"}
    assert owner(cluster)["status"]["terminalState"] == "Failed"
    assert JOB_SET.report is not None
    assert WORKER in JOB_SET.report(owner(cluster)).message


def test_max_restarts_allows_so_many_restarts_of_all_jobs() -> None:
    """failure_policy.go: restartJobSetActionApplier; deleteJobs deletes in the foreground."""
    cluster = started(failurePolicy={"maxRestarts": 1})
    first = [each["metadata"]["uid"] for each in cluster.store.items(JOBS)]
    end(cluster, WORKER, "Failed")
    assert owner(cluster)["status"]["restarts"] == 1
    assert names(cluster) == [LEADER, WORKER]
    assert not {each["metadata"]["uid"] for each in cluster.store.items(JOBS)} & set(first)
    end(cluster, WORKER, "Failed")
    assert held(owner(cluster)) == {"Failed"}


def test_a_rule_fails_the_job_set_before_its_restarts_are_used() -> None:
    rules = [{"action": "FailJobSet", "targetReplicatedJobs": ["worker"]}]
    cluster = started(failurePolicy={"maxRestarts": 5, "rules": rules})
    end(cluster, WORKER, "Failed")
    assert held(owner(cluster)) == {"Failed"}


def test_in_order_the_second_job_waits_until_the_first_is_ready() -> None:
    """startup_policy.go."""
    cluster = started(startupPolicy={"startupPolicyOrder": "InOrder"})
    assert names(cluster) == [LEADER]
    cluster.store.change(JOBS, TEAM, LEADER, lambda job: job.update(status={"ready": 1}))
    cluster.advance(1)
    assert names(cluster) == [LEADER, WORKER]


def test_a_suspended_job_set_suspends_its_jobs_and_resumes_them() -> None:
    cluster = started()
    cluster.store.change(JOB_SETS, TEAM, "train", lambda item: item["spec"].update(suspend=True))
    cluster.advance(1)
    assert [each["spec"]["suspend"] for each in cluster.store.items(JOBS)] == [True, True]
    assert held(owner(cluster)) == {"Suspended"}
    cluster.store.change(JOB_SETS, TEAM, "train", lambda item: item["spec"].update(suspend=False))
    cluster.advance(1)
    assert [each["spec"]["suspend"] for each in cluster.store.items(JOBS)] == [False, False]
    assert held(owner(cluster)) == frozenset()
