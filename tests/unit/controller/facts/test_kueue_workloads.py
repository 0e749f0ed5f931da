"""Why Kueue took the quota back, read from what Kueue wrote."""

from typing import Any

import pytest

from controller.facts.kueue_workloads import pods_ready_eviction
from controller.phases.snapshot import PodsReadyEviction


def workload(name: str, reason: str, *counts: dict[str, Any], status: str = "True") -> Any:
    evicted = {"type": "Evicted", "status": status, "reason": reason, "message": "by Kueue"}
    statistics = {"schedulingStats": {"evictions": [*counts]}} if counts else {}
    return {"metadata": {"name": name}, "status": {"conditions": [evicted], **statistics}}


def counted(reason: str, cause: str, count: int) -> dict[str, Any]:
    return {"reason": reason, "underlyingCause": cause, "count": count}


TIMEOUT = "PodsReadyTimeout"


@pytest.mark.parametrize(
    ("workloads", "expected"),
    [
        pytest.param([], None, id="Kueue has made none"),
        pytest.param([{"metadata": {"name": "new"}}], None, id="without a status"),
        pytest.param([workload("w", "Preempted")], None, id="for another reason"),
        pytest.param(
            [workload("w", "Preempted", counted(TIMEOUT, "WaitForStart", 2))],
            None,
            id="for another reason this time",
        ),
        pytest.param([workload("w", TIMEOUT, status="False")], None, id="admitted since"),
        pytest.param(
            [workload("w", TIMEOUT)], PodsReadyEviction("w", 1), id="Kueue does not count"
        ),
        pytest.param(
            [
                workload(
                    "w",
                    TIMEOUT,
                    counted(TIMEOUT, "WaitForStart", 2),
                    counted("Preempted", "InCohortReclamation", 5),
                    counted(TIMEOUT, "WaitForRecovery", 1),
                )
            ],
            PodsReadyEviction("w", 3),
            id="whatever was waited for",
        ),
        pytest.param(
            [
                workload(
                    "w",
                    "DeactivatedDueToRequeuingLimitExceeded",
                    counted(TIMEOUT, "WaitForStart", 2),
                    counted("Deactivated", "RequeuingLimitExceeded", 1),
                )
            ],
            PodsReadyEviction("w", 2, given_up=True),
            id="given up after as many as Kueue allows",
        ),
        pytest.param([workload("w", "Deactivated")], None, id="deactivated by somebody"),
        pytest.param([workload("w", TIMEOUT, {})], PodsReadyEviction("w", 1), id="another schema"),
        pytest.param(
            [workload("old", "Preempted"), workload("w", TIMEOUT)],
            PodsReadyEviction("w", 1),
            id="one of several",
        ),
    ],
)
def test_pods_ready_eviction(workloads: list[Any], expected: PodsReadyEviction | None) -> None:
    assert pods_ready_eviction(workloads) == expected
