from typing import Any

import pytest

from controller.facts.components import ComponentFacts, project_component
from shared.api.conditions import SUCCEEDED, UNFINISHED, ComponentReport, Terminal
from shared.kinds.scaled import deployment_report
from shared.kinds.table import BY_GROUP_KIND, record_of, report_of


def with_condition(kind: str, status: str = "True", **fields: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": status, **fields}]}}


def failed(message: str) -> ComponentReport:
    return ComponentReport(Terminal.FAILED, message)


def ray_job(deployment: str, outcome: str = "", **fields: Any) -> dict[str, Any]:
    return {"status": {"jobDeploymentStatus": deployment, "jobStatus": outcome, **fields}}


def both(*items: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"conditions": [each["status"]["conditions"][0] for each in items]}}


@pytest.mark.parametrize(
    ("kind", "item", "expected"),
    [
        ("Pod", {"status": {"phase": "Succeeded"}}, SUCCEEDED),
        ("Pod", {"status": {"phase": "Failed"}}, UNFINISHED),
        ("batch/Job", {}, UNFINISHED),
        ("batch/Job", {"status": {"conditions": None}}, UNFINISHED),
        ("batch/Job", with_condition("Complete"), SUCCEEDED),
        ("batch/Job", with_condition("Complete", "False"), UNFINISHED),
        ("batch/Job", with_condition("SuccessCriteriaMet"), UNFINISHED),
        (
            "batch/Job",
            with_condition("Failed", reason="BackoffLimitExceeded", message="too often"),
            failed("BackoffLimitExceeded: too often"),
        ),
        (
            "batch/Job",
            both(with_condition("FailureTarget"), with_condition("Failed", message="too often")),
            failed("Failed: too often"),
        ),
        ("kubeflow.org/MPIJob", with_condition("Running"), UNFINISHED),
        ("kubeflow.org/MPIJob", with_condition("Succeeded"), SUCCEEDED),
        (
            "kubeflow.org/MPIJob",
            both(
                with_condition("Succeeded", "False"),
                with_condition("Failed", reason="MPIJobFailed", message="launcher failed"),
            ),
            failed("MPIJobFailed: launcher failed"),
        ),
        ("kubeflow.org/PyTorchJob", with_condition("Running"), UNFINISHED),
        ("kubeflow.org/PyTorchJob", with_condition("Succeeded"), SUCCEEDED),
        (
            "kubeflow.org/PyTorchJob",
            with_condition("Failed", reason="PyTorchJobFailed"),
            failed("PyTorchJobFailed"),
        ),
        (
            "kubeflow.org/PyTorchJob",
            both(with_condition("Restarting"), with_condition("Failed")),
            failed("Failed"),
        ),
        (
            "kubeflow.org/PyTorchJob",
            both(with_condition("Succeeded"), with_condition("Failed")),
            failed("Failed"),
        ),
        (
            "kubeflow.org/PyTorchJob",
            both(with_condition("Suspended", "False"), with_condition("Succeeded")),
            SUCCEEDED,
        ),
        ("jobset.x-k8s.io/JobSet", with_condition("Completed"), SUCCEEDED),
        ("jobset.x-k8s.io/JobSet", with_condition("StartupPolicyInProgress"), UNFINISHED),
        ("jobset.x-k8s.io/JobSet", {"status": {"restarts": 3}}, UNFINISHED),
        (
            "jobset.x-k8s.io/JobSet",
            with_condition("Failed", reason="ReachedMaxRestarts", message="first failed job: a"),
            failed("ReachedMaxRestarts: first failed job: a"),
        ),
        ("ray.io/RayJob", ray_job("Running", "RUNNING"), UNFINISHED),
        ("ray.io/RayJob", ray_job("Running", "SUCCEEDED"), UNFINISHED),
        ("ray.io/RayJob", ray_job("Complete", "SUCCEEDED"), SUCCEEDED),
        ("ray.io/RayJob", ray_job("Complete", "FAILED"), failed("Complete: job FAILED")),
        ("ray.io/RayJob", ray_job("Complete", "STOPPED"), failed("Complete: job STOPPED")),
        (
            "ray.io/RayJob",
            ray_job("Failed", "FAILED", reason="AppFailed", message="no such file"),
            failed("AppFailed: no such file: job FAILED"),
        ),
        ("ray.io/RayJob", ray_job("Failed", reason="DeadlineExceeded"), failed("DeadlineExceeded")),
        (
            "ray.io/RayJob",
            ray_job("ValidationFailed", reason="ValidationFailed", message="no head"),
            ComponentReport(Terminal.FAILED, "ValidationFailed: no head", invalid=True),
        ),
        ("ray.io/RayCluster", {"status": {"state": "ready"}}, UNFINISHED),
        ("apps/Deployment", with_condition("Available"), UNFINISHED),
        ("apps/Deployment", with_condition("Progressing"), UNFINISHED),
    ],
)
def test_the_end_of_a_component(kind: str, item: dict[str, Any], expected: ComponentReport) -> None:
    assert report_of(kind, item) == expected


QUOTA = {
    "reason": "FailedCreate",
    "message": 'pods "a-x7k" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1',
}
EXCEEDED = "FailedCreate: exceeded quota: q, requested: pods=1, used: pods=1"
NO_PODS = with_condition("ReplicaFailure", **QUOTA)
LATE = {"reason": "ProgressDeadlineExceeded", "message": "has timed out"}


@pytest.mark.parametrize(
    ("kind", "item", "expected"),
    [
        (
            "batch/Job",
            with_condition("FailureTarget", reason="BackoffLimitExceeded", message="too often"),
            "BackoffLimitExceeded: too often",
        ),
        (
            "batch/Job",
            with_condition("Suspended", reason="JobSuspended", message="Job suspended"),
            "JobSuspended: Job suspended",
        ),
        ("jobset.x-k8s.io/JobSet", with_condition("Suspended"), "Suspended"),
        (
            "kubeflow.org/PyTorchJob",
            with_condition("Restarting", reason="PyTorchJobRestarting", message="1 failed"),
            "PyTorchJobRestarting: 1 failed",
        ),
        (
            "ray.io/RayJob",
            ray_job("Retrying", "FAILED", reason="AppFailed", message="no such file"),
            "Retrying: AppFailed: no such file",
        ),
        ("ray.io/RayJob", ray_job("Suspended"), "Suspended"),
        ("ray.io/RayJob", ray_job("Initializing", rayClusterStatus=NO_PODS["status"]), EXCEEDED),
        ("ray.io/RayCluster", NO_PODS, EXCEEDED),
        ("ray.io/RayCluster", with_condition("RayClusterSuspended"), "RayClusterSuspended"),
        ("ray.io/RayCluster", {"status": {"state": "failed", "reason": "no"}}, "failed: no"),
        ("ray.io/RayCluster", {"status": NO_PODS["status"] | {"state": "failed"}}, EXCEEDED),
        ("apps/Deployment", NO_PODS, EXCEEDED),
        (
            "apps/Deployment",
            both(with_condition("Progressing", "False", **LATE), NO_PODS),
            EXCEEDED,
        ),
        (
            "apps/Deployment",
            with_condition("Progressing", "False", **LATE),
            "ProgressDeadlineExceeded: has timed out",
        ),
        (
            "apps/Deployment",
            with_condition("Progressing", "Unknown", reason="DeploymentPaused"),
            "DeploymentPaused",
        ),
    ],
)
def test_a_problem_is_reported_and_no_end(kind: str, item: dict[str, Any], expected: str) -> None:
    assert report_of(kind, item) == ComponentReport(message=expected)


def test_another_try_to_make_a_pod_is_no_change() -> None:
    again = {**QUOTA, "message": QUOTA["message"].replace("a-x7k", "a-9zz")}
    reports = [
        deployment_report(with_condition("ReplicaFailure", **each)) for each in (QUOTA, again)
    ]
    assert reports[0] == reports[1]


def test_a_message_is_kept_short() -> None:
    report = report_of("batch/Job", with_condition("Failed", message="x" * 5000))
    assert report.message == "Failed: " + "x" * 992 + "…"


def stateful_set(made: int, ready: int, **spec: Any) -> dict[str, Any]:
    return {"spec": spec, "status": {"replicas": made, "readyReplicas": ready}}


WAITS = ComponentReport(
    message="0 of the 1 pods that it made are ready, and the next waits for them"
)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({}, UNFINISHED),
        (stateful_set(1, 0, replicas=3), WAITS),
        (stateful_set(1, 1, replicas=3), UNFINISHED),
        (stateful_set(3, 0, replicas=3), UNFINISHED),
        (stateful_set(1, 0), UNFINISHED),
        (stateful_set(1, 0, replicas=3, podManagementPolicy="OrderedReady"), WAITS),
        (stateful_set(1, 0, replicas=3, podManagementPolicy="Parallel"), UNFINISHED),
    ],
)
def test_a_stateful_set_reports_why_its_next_pod_waits(
    item: dict[str, Any], expected: ComponentReport
) -> None:
    assert report_of("apps/StatefulSet", item) == expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({}, UNFINISHED),
        (with_condition("Available"), UNFINISHED),
        (
            with_condition(
                "Progressing", reason="GroupsProgressing", message="Replicas are progressing"
            ),
            ComponentReport(
                message="GroupsProgressing: Replicas are progressing (0 of 1 groups are ready)"
            ),
        ),
        pytest.param(
            {
                "spec": {"replicas": 3},
                "status": {
                    "readyReplicas": 2,
                    "conditions": [
                        {
                            "type": "Progressing",
                            "status": "True",
                            "reason": "GroupsProgressing",
                            "message": "Replicas are progressing",
                        },
                        {
                            "type": "Available",
                            "status": "False",
                            "reason": "AllGroupsReady",
                            "message": "All replicas are ready",
                        },
                    ],
                },
            },
            ComponentReport(
                message="GroupsProgressing: Replicas are progressing (2 of 3 groups are ready)"
            ),
            id="as 0.8.0 writes it when a group is lost",
        ),
    ],
)
def test_a_leader_worker_set_reports_its_ready_groups(
    item: dict[str, Any], expected: ComponentReport
) -> None:
    assert report_of("leaderworkerset.x-k8s.io/LeaderWorkerSet", item) == expected


def test_kinds_that_report_their_end() -> None:
    assert {kind for kind in BY_GROUP_KIND if record_of(kind).ends} == {
        "Pod",
        "batch/Job",
        "kubeflow.org/PyTorchJob",
        "kubeflow.org/MPIJob",
        "jobset.x-k8s.io/JobSet",
        "trainer.kubeflow.org/TrainJob",
        "ray.io/RayJob",
    }
    assert not record_of("apps/StatefulSet").ends


METADATA = {
    "namespace": "team1",
    "name": "train",
    "uid": "j1",
    "labels": {
        "workload.codeflare.dev/appwrapper": "aw",
        "workload.codeflare.dev/attempt": "2",
    },
}
OWNER = {"uid": "u1", "kind": "AppWrapper", "name": "aw", "controller": True}


def test_projection_of_a_component() -> None:
    item = {
        "metadata": {**METADATA, "deletionTimestamp": "now", "ownerReferences": [OWNER]},
        **with_condition("Complete"),
    }
    assert project_component("batch/Job", item) == ComponentFacts(
        namespace="team1",
        name="train",
        group_kind="batch/Job",
        uid="j1",
        owner_uid="u1",
        owner_name="aw",
        attempt="2",
        deleting=True,
        deletion_deadline="now",
        terminal=Terminal.SUCCEEDED,
        controlled=True,
    )


def test_rejections_in_events_alone_are_those_of_three_operators() -> None:
    """As read in KubeRay 1.6.0, the MPI Operator 0.7.0, and the Training Operator 1.9.3 (MPIJobs of
    v1). The webhooks of the others refuse.
    """
    assert {kind: found for kind in BY_GROUP_KIND if (found := record_of(kind).rejections)} == {
        "ray.io/RayCluster": ("InvalidRayClusterMetadata", "InvalidRayClusterSpec"),
        "kubeflow.org/MPIJob": ("ValidationError", "MPIJobFailedValidation"),
    }
    assert record_of("example.com/Other").rejections == ()


def test_kinds_that_report_nothing() -> None:
    item = {"metadata": {**METADATA, "ownerReferences": [OWNER]}, **with_condition("Complete")}
    facts = project_component("apps/StatefulSet", item)
    assert facts is not None
    assert facts.terminal is None


def test_an_object_without_controller() -> None:
    assert project_component("batch/Job", {"metadata": METADATA}) is None
