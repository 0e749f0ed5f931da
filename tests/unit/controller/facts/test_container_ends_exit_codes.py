"""Which exit codes a failed pod has, and which of them forbid a retry."""

from typing import Any

import pytest

from controller.facts.container_ends import exit_codes
from controller.phases.snapshot import FaultTolerance
from shared.api.objects import JsonObject


def failed(*codes: int | None, **metadata: Any) -> JsonObject:
    """A pod whose containers ended with these codes at 10:00:30; None: it has no code."""
    statuses: list[JsonObject] = [
        {"state": {"terminated": {"exitCode": code, "finishedAt": "2026-01-01T10:00:30Z"}}}
        if code is not None
        else {"state": {"waiting": {}}}
        for code in codes
    ]
    status: JsonObject = {"phase": "Failed", "containerStatuses": statuses}
    status["initContainerStatuses"] = [{"state": {"terminated": {"exitCode": 9}}}]
    return {"metadata": metadata, "status": status}


def test_the_containers_count_and_neither_success_nor_init_containers() -> None:
    assert exit_codes(failed(42, 0, None, 3)) == (42, 3)
    assert exit_codes({"metadata": {}, "status": {"phase": "Failed", "reason": "Evicted"}}) == ()


@pytest.mark.parametrize(
    ("requested", "codes", "expected"),
    [
        pytest.param("10:00:29", (1, 137, 143), (), id="ended because it was deleted"),
        pytest.param("10:00:30", (1, 137, 143), (1,), id="within one second the code tells"),
        pytest.param("10:00:31", (1, 137, 143), (1, 137, 143), id="had ended before"),
    ],
)
@pytest.mark.parametrize("grace", [0, 30])
def test_an_exit_code_after_a_deletion_decides_nothing(
    requested: str, codes: tuple[int, ...], expected: tuple[int, ...], grace: int
) -> None:
    minute, second = divmod(int(requested[-2:]) + grace, 60)
    deletion = {
        "deletionTimestamp": f"2026-01-01T10:{minute:02}:{second:02}Z",
        "deletionGracePeriodSeconds": grace,
    }
    assert exit_codes(failed(*codes, **deletion)) == expected


def test_without_a_time_an_end_is_taken_for_the_containers_own() -> None:
    item = failed(143, deletionTimestamp="2026-01-01T10:00:00Z")
    del item["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    assert exit_codes(item) == (143,)


@pytest.mark.parametrize(("deleted", "codes"), [(True, ()), (False, (137,))])
def test_a_container_that_a_deletion_came_before_has_no_exit_code(
    deleted: bool, codes: tuple[int, ...]
) -> None:
    item = failed(137, **({"deletionTimestamp": "2026-01-01T10:00:00Z"} if deleted else {}))
    never_started = {"exitCode": 137, "reason": "ContainerStatusUnknown", "finishedAt": None}
    item["status"]["containerStatuses"][0]["state"]["terminated"] = never_started
    assert exit_codes(item) == codes


@pytest.mark.parametrize(
    ("terminal", "retryable", "expected"),
    [
        ({42}, set(), True),
        ({1}, set(), False),
        (set(), {42}, False),
        (set(), {1}, True),
        ({42}, {42}, True),
        (set(), set(), False),
    ],
)
def test_which_forbid_a_retry(terminal: set[int], retryable: set[int], expected: bool) -> None:
    config = FaultTolerance(
        terminal_exit_codes=frozenset(terminal), retryable_exit_codes=frozenset(retryable)
    )
    assert bool(config.forbids(42)) is expected
