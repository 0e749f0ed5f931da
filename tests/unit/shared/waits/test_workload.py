"""A Workload in Kueue's own words, and who holds quota."""

from decimal import Decimal
from typing import Any

import pytest

from shared.waits.workload import (
    PodsReadyEviction,
    Words,
    asks_of,
    fits_no_flavor,
    has_quota,
    holders,
    pods_ready_eviction,
    why_pending,
    workload_of,
)
from tests.support.builders.explained.objects import NOW, UID, condition, holder, workload

WAITS = condition("QuotaReserved", "False", "WaitingForQuota", "12 more needed", seconds=0)
EVICTED = condition("Evicted", "True", "Preempted", "to accommodate another", seconds=0)
HOLDS = condition("QuotaReserved", "True", "QuotaReserved", seconds=0)


def test_it_asks_for_what_its_pods_ask_for() -> None:
    (ask,) = asks_of(workload())
    assert (ask.count, ask.each) == (2, {"cpu": Decimal(4), "nvidia.com/gpu": Decimal(8)})
    assert ask.total == {"cpu": Decimal(8), "nvidia.com/gpu": Decimal(16)}
    assert ask.quota == {**ask.total, "pods": Decimal(2)}


def test_it_needs_quota_of_what_kueue_counts() -> None:
    """Its configuration leaves CPUs out here, and counts GPU memory instead of GPUs."""
    counted = {"name": "train-0", "resources": {"example.com/gpu-memory": "1280Gi"}}
    (ask,) = asks_of(workload(status={"resourceRequests": [counted, {"name": "another"}]}))
    assert ask.total == {"cpu": Decimal(8), "nvidia.com/gpu": Decimal(16)}
    assert ask.quota == {"example.com/gpu-memory": Decimal(1280 * 2**30), "pods": Decimal(2)}


def test_why_it_is_pending() -> None:
    checks = condition("Admitted", "False", "UnsatisfiedAdmissionChecks", "2 checks", seconds=0)
    short = Words("QuotaReserved", "WaitingForQuota", "12 more needed", NOW)
    assert why_pending(workload(WAITS)) == short
    # What it was evicted for matters once it is out; then it waits for quota again.
    assert why_pending(workload(HOLDS, EVICTED)) == Words(
        "Evicted", "Preempted", "to accommodate another", NOW
    )
    assert why_pending(workload(WAITS, EVICTED)) == short
    unsatisfied = Words("Admitted", "UnsatisfiedAdmissionChecks", "2 checks", NOW)
    assert why_pending(workload(HOLDS, checks)) == unsatisfied
    assert why_pending(workload(HOLDS, condition("Admitted", "True", "Admitted"))) is None
    assert why_pending(workload()) is None


SHORT = "insufficient unused quota for cpu in flavor a, 12 more needed"
LABELS = "flavor a doesn't match node affinity"
TAINTS = "untolerated taint {gpu true NoSchedule <nil>} in flavor b"
OF = "couldn't assign flavors to pod set"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f"{OF} main: {LABELS}", True),
        (f"{OF} main: {LABELS}, {TAINTS}", True),
        (f"{OF} main: {LABELS}, {SHORT}", False),
        (f"{OF} main: {SHORT}", False),
        (f"{OF} main: {SHORT}; {OF} more: {TAINTS}", True),
        (f"{OF} main: {SHORT}; {OF} more: {TAINTS}, {SHORT}", False),
        ("The workload is deactivated", False),
        ("", False),
    ],
)
def test_whether_a_flavor_fits_as_kueue_words_it(message: str, expected: bool) -> None:
    assert fits_no_flavor(Words("QuotaReserved", "Pending", message)) is expected
    assert fits_no_flavor(Words("QuotaReserved", "NoMatchingFlavor", message))


def test_the_newest_of_its_own_counts() -> None:
    old, new, foreign = workload(name="old"), workload(name="new"), holder("other", 8)
    old["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    assert workload_of([new, old, foreign], UID) is new
    assert workload_of([foreign], UID) is None


def test_who_holds_quota_by_priority_and_age() -> None:
    finished = holder("finished", 8)
    finished["status"]["conditions"].append(condition("Finished", "True", "Succeeded"))
    found = holders(
        [
            holder("young", 8, seconds=10),
            holder("low", 16, priority=1),
            holder("high", 4, priority=10),
            holder("old", 8, seconds=100),
            finished,
            workload(WAITS),
        ]
    )
    assert [(each.name, each.priority, int(each.amounts["nvidia.com/gpu"])) for each in found] == [
        ("high", 10, 4),
        ("old", 5, 8),
        ("young", 5, 8),
        ("low", 1, 16),
    ]
    assert not has_quota(workload(WAITS))


def evicted(name: str, reason: str, *counts: dict[str, Any], status: str = "True") -> Any:
    words = {"type": "Evicted", "status": status, "reason": reason, "message": "by Kueue"}
    statistics = {"schedulingStats": {"evictions": [*counts]}} if counts else {}
    return {"metadata": {"name": name}, "status": {"conditions": [words], **statistics}}


def counted(reason: str, cause: str, count: int) -> dict[str, Any]:
    return {"reason": reason, "underlyingCause": cause, "count": count}


TIMEOUT = "PodsReadyTimeout"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param({"metadata": {"name": "new"}}, None, id="without a status"),
        pytest.param(evicted("w", "Preempted"), None, id="for another reason"),
        pytest.param(
            evicted("w", "Preempted", counted(TIMEOUT, "WaitForStart", 2)),
            None,
            id="for another reason this time",
        ),
        pytest.param(evicted("w", TIMEOUT, status="False"), None, id="admitted since"),
        pytest.param(evicted("w", TIMEOUT), PodsReadyEviction("w", 1), id="Kueue does not count"),
        pytest.param(
            evicted(
                "w",
                TIMEOUT,
                counted(TIMEOUT, "WaitForStart", 2),
                counted("Preempted", "InCohortReclamation", 5),
                counted(TIMEOUT, "WaitForRecovery", 1),
            ),
            PodsReadyEviction("w", 3),
            id="whatever was waited for",
        ),
        pytest.param(
            evicted(
                "w",
                "DeactivatedDueToRequeuingLimitExceeded",
                counted(TIMEOUT, "WaitForStart", 2),
                counted("Deactivated", "RequeuingLimitExceeded", 1),
            ),
            PodsReadyEviction("w", 2),
            id="given up after as many as Kueue allows",
        ),
        pytest.param(evicted("w", "Deactivated"), None, id="deactivated by somebody"),
        pytest.param(evicted("w", TIMEOUT, {}), PodsReadyEviction("w", 1), id="another schema"),
    ],
)
def test_pods_ready_eviction(found: Any, expected: PodsReadyEviction | None) -> None:
    assert pods_ready_eviction(found) == expected
