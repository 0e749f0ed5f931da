from datetime import UTC, datetime
from typing import Any

from shared.api.conditions import (
    condition,
    in_words,
    is_true,
    transition_time,
    true_types,
    with_condition,
)

THEN = "2026-01-01T09:00:00Z"
NOW = datetime(2026, 1, 1, 10, 0, 0, 999999, tzinfo=UTC)


def ready(status: str, since: str = THEN, reason: str = "Old", message: str = "") -> dict[str, Any]:
    return {
        "type": "PodsReady",
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


OTHER = {**ready("True"), "type": "QuotaReserved"}


def test_the_message_of_a_component_is_one_printable_line() -> None:
    assert in_words("AppFailed", None, "Job failed:\n\x1b[31mboom\x1b[0m") == (
        "AppFailed: Job failed: ?[31mboom?[0m"
    )
    assert len(in_words("x" * 90_000)) == 1001


def test_a_new_condition_is_appended() -> None:
    assert with_condition([OTHER], "PodsReady", "True", "New", "all run", NOW) == [
        OTHER,
        ready("True", "2026-01-01T10:00:00Z", "New", "all run"),
    ]


def test_a_changed_status_moves_the_transition_time_and_keeps_the_place() -> None:
    before = [ready("False"), OTHER]
    assert with_condition(before, "PodsReady", "True", "New", "", NOW) == [
        ready("True", "2026-01-01T10:00:00Z", "New"),
        OTHER,
    ]
    assert before == [ready("False"), OTHER]


def test_another_reason_alone_does_not() -> None:
    assert with_condition([ready("True")], "PodsReady", "True", "New", "m", NOW) == [
        ready("True", THEN, "New", "m")
    ]


def test_reading() -> None:
    conditions = [ready("Unknown"), OTHER]
    assert condition(conditions, "PodsReady") == ready("Unknown")
    assert condition(conditions, "Unhealthy") is None
    assert not is_true(conditions, "PodsReady")
    assert is_true(conditions, "QuotaReserved")
    assert true_types(conditions) == {"QuotaReserved"}
    assert transition_time(conditions, "PodsReady") == datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert transition_time(conditions, "Unhealthy") is None
    assert transition_time([ready("True", "long ago")], "PodsReady") is None
