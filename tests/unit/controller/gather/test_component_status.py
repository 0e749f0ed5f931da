from typing import Any

import pytest

from controller.gather.component_facts import ComponentFacts, project_component
from controller.gather.component_status.by_kind import REPORT_BY_KIND
from controller.gather.component_status.report import UNFINISHED, Report
from controller.phases.snapshot import Terminal

SUCCEEDED = Report(Terminal.SUCCEEDED)


def with_condition(kind: str, status: str = "True", **fields: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": status, **fields}]}}


@pytest.mark.parametrize(
    ("kind", "item", "expected"),
    [
        ("Pod", {"status": {"phase": "Succeeded"}}, SUCCEEDED),
        ("Pod", {"status": {"phase": "Failed"}}, UNFINISHED),
        ("batch/Job", {}, UNFINISHED),
        ("batch/Job", {"status": {"conditions": None}}, UNFINISHED),
        ("batch/Job", with_condition("Complete"), SUCCEEDED),
        ("batch/Job", with_condition("Complete", "False"), UNFINISHED),
        ("batch/Job", with_condition("FailureTarget"), UNFINISHED),
        (
            "batch/Job",
            with_condition("Failed", reason="BackoffLimitExceeded", message="too often"),
            Report(Terminal.FAILED, "BackoffLimitExceeded: too often"),
        ),
        ("kubeflow.org/PyTorchJob", with_condition("Running"), UNFINISHED),
        ("kubeflow.org/PyTorchJob", with_condition("Succeeded"), SUCCEEDED),
        (
            "kubeflow.org/PyTorchJob",
            with_condition("Failed", reason="PyTorchJobFailed"),
            Report(Terminal.FAILED, "PyTorchJobFailed"),
        ),
        ("jobset.x-k8s.io/JobSet", with_condition("Completed"), SUCCEEDED),
        ("jobset.x-k8s.io/JobSet", with_condition("Failed"), Report(Terminal.FAILED, "Failed")),
        (
            "ray.io/RayJob",
            {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}},
            SUCCEEDED,
        ),
        (
            "ray.io/RayJob",
            {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "FAILED"}},
            Report(Terminal.FAILED, "job FAILED"),
        ),
        (
            "ray.io/RayJob",
            {"status": {"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"}},
            Report(Terminal.FAILED, "DeadlineExceeded: job None"),
        ),
        ("ray.io/RayJob", {"status": {"jobDeploymentStatus": "Running"}}, UNFINISHED),
    ],
)
def test_the_end_of_a_component(kind: str, item: dict[str, Any], expected: Report) -> None:
    assert REPORT_BY_KIND[kind](item) == expected


METADATA = {
    "namespace": "team1",
    "name": "train",
    "uid": "j1",
    "labels": {"workload.codeflare.dev/attempt": "2"},
}
OWNER = {"uid": "u1", "kind": "AppWrapper", "name": "aw", "controller": True}


def test_what_is_remembered_of_a_component() -> None:
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
        terminal=Terminal.SUCCEEDED,
    )


def test_kinds_that_report_nothing() -> None:
    item = {"metadata": {**METADATA, "ownerReferences": [OWNER]}, **with_condition("Complete")}
    facts = project_component("apps/Deployment", item)
    assert facts is not None
    assert facts.terminal is None


def test_nobody_controls_it() -> None:
    assert project_component("batch/Job", {"metadata": METADATA}) is None
