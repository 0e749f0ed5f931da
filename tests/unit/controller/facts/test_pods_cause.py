"""Kubernetes' own word for why a pod failed or does not start."""

from typing import Any

import pytest

from controller.facts.pods import pod_cause


def ended(code: int, reason: str) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code, "reason": reason}}}


def waiting(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


def failed(*containers: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"phase": "Failed", "containerStatuses": list(containers), **status}


def disrupted(status: str) -> list[dict[str, str]]:
    reason = "DeletionByTaintManager"
    return [{"type": "DisruptionTarget", "status": status, "reason": reason}]


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (failed(ended(137, "OOMKilled")), "OOMKilled"),
        (failed(ended(0, "Completed"), ended(137, "OOMKilled")), "OOMKilled"),
        (failed(ended(1, "Error")), ""),
        (failed(ended(137, "ContainerStatusUnknown")), ""),
        (failed(ended(0, "OOMKilled")), ""),  # it ended well all the same
        (failed(ended(128, "StartError"), ended(137, "OOMKilled")), "StartError"),
        (failed(reason="Evicted"), "Evicted"),
        (failed(reason="OutOfnvidia.com/gpu"), "OutOfnvidia.com/gpu"),
        (failed(ended(137, "OOMKilled"), reason="DeadlineExceeded"), "DeadlineExceeded"),
        (failed(ended(137, "Error"), conditions=disrupted("True")), "DeletionByTaintManager"),
        (failed(ended(137, "Error"), conditions=disrupted("False")), ""),
        (failed(conditions=disrupted("True"), reason="Evicted"), "Evicted"),
        (failed(initContainerStatuses=[ended(2, "StartError")]), "StartError"),
        (failed(waiting("ErrImagePull")), ""),
        (failed(), ""),
        ({"phase": "Failed", "containerStatuses": None, "conditions": None}, ""),
    ],
)
def test_the_cause_of_a_failed_pod(status: dict[str, Any], cause: str) -> None:
    assert pod_cause(status) == cause


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("ErrImagePull", "ErrImagePull"),
        ("ImagePullBackOff", "ErrImagePull"),  # the same trouble: no change
        ("InvalidImageName", "InvalidImageName"),
        ("CreateContainerConfigError", "CreateContainerConfigError"),
        ("CrashLoopBackOff", ""),  # of an init container: it is told as what it is elsewhere
        ("ContainerCreating", ""),
        ("PodInitializing", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses"])
def test_the_cause_of_a_pod_that_does_not_start(field: str, reason: str, cause: str) -> None:
    assert pod_cause({"phase": "Pending", field: [waiting(reason)]}) == cause


@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Unknown"])
def test_others_need_no_word(phase: str) -> None:
    containers = [ended(137, "OOMKilled"), waiting("ErrImagePull")]
    status = {"phase": phase, "reason": "Evicted", "containerStatuses": containers}
    assert pod_cause(status) == ""


def test_the_cause_of_a_pod_that_is_disrupted() -> None:
    status = {"phase": "Running", "conditions": disrupted("True")}
    assert pod_cause(status) == ""
    assert pod_cause(status, deleting=True) == "DeletionByTaintManager"


def test_a_new_pod_has_no_cause() -> None:
    assert pod_cause({}) == ""


@pytest.mark.parametrize(
    "reason", ["two words", "Evicted: the node had too little memory", "x" * 49, "\x1b[31m", "1st"]
)
def test_a_malformed_reason_is_not_repeated(reason: str) -> None:
    """Whoever may write the status of pods could put anything into a condition of another."""
    assert pod_cause(failed(reason=reason)) == ""
