"""When a failed pod failed by itself."""

from typing import Any

import pytest

from controller.facts.container_ends import failed_at
from shared.api.objects import JsonObject


def raw(*containers: JsonObject, deleted: str = "", **status: Any) -> JsonObject:
    metadata = {"creationTimestamp": "2026-01-01T08:00:00Z"}
    if deleted:
        metadata["deletionTimestamp"] = deleted
    statuses = [{"state": {"terminated": each}} for each in containers]
    return {"metadata": metadata, "status": {"containerStatuses": statuses, **status}}


def ended(at: str, code: int = 1) -> JsonObject:
    return {"exitCode": code, "finishedAt": f"2026-01-01T10:00:{at}Z"}


DISRUPTED = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
INIT = {"state": {"terminated": ended("02")}}
WITHOUT_TIME: JsonObject = {"exitCode": 1}


@pytest.mark.parametrize(
    ("item", "second"),
    [
        (raw(ended("05"), ended("03"), ended("01", code=0)), "10:00:03"),
        (raw(ended("05"), initContainerStatuses=[INIT]), "10:00:02"),
        # A deletion ended the other one.
        (raw(ended("05"), ended("09", 143), deleted="2026-01-01T10:00:07Z"), "10:00:05"),
        (raw(startTime="2026-01-01T09:00:00Z"), "09:00:00"),
        (raw(WITHOUT_TIME), "08:00:00"),
        # So the kubelet writes that the container runtime knows no time.
        (raw({**WITHOUT_TIME, "finishedAt": "1970-01-01T00:00:00Z"}), "08:00:00"),
        (
            raw(conditions=[{**DISRUPTED, "lastTransitionTime": "2026-01-01T09:30:00Z"}]),
            "09:30:00",
        ),
    ],
)  # fmt: skip
def test_when_a_pod_failed(item: JsonObject, second: str) -> None:
    assert failed_at(item) == f"2026-01-01T{second}Z"


def test_a_pod_that_only_a_deletion_ended_did_not_fail_by_itself() -> None:
    deleted = "2026-01-01T10:00:00Z"
    assert failed_at(raw(ended("00", 137), ended("01", 1), deleted=deleted)) == ""
    assert failed_at(raw(deleted=deleted, startTime="2026-01-01T09:00:00Z")) == ""
