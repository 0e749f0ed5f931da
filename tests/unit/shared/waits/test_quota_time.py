from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.api.appwrapper import AppWrapper
from shared.waits.quota_time import quota_time

NOW = datetime(2026, 1, 1, 10, 0, 0, tzinfo=UTC)
WITHOUT: dict[str, Any] = {"type": "QuotaReserved", "status": "False"}


def reserved(since: str) -> dict[str, Any]:
    return {"type": "QuotaReserved", "status": "True", "lastTransitionTime": since}


@pytest.mark.parametrize(
    ("status", "seconds"),
    [
        ({}, 0),
        ({"conditions": [WITHOUT]}, 0),
        ({"conditions": [reserved("2026-01-01T09:59:00Z")], "attempt": 1}, 60),
        # It was preempted before.
        (
            {
                "conditions": [reserved("2026-01-01T09:59:00Z")],
                "attempt": 2,
                "quotaSeconds": 40,
            },
            100,
        ),
        # The clock that wrote the condition goes ahead.
        ({"conditions": [reserved("2026-01-01T10:00:05Z")], "attempt": 1}, 0),
        ({"conditions": [WITHOUT], "attempt": 2, "quotaSeconds": 100}, 100),
        # An earlier version released the quota, or no clock wrote the condition.
        ({"conditions": [WITHOUT], "attempt": 1}, None),
        ({"conditions": [reserved("")], "attempt": 1}, None),
    ],
)
def test_the_time_with_quota(status: dict[str, Any], seconds: int | None) -> None:
    found = quota_time(AppWrapper({"status": status}), NOW)
    assert found == (None if seconds is None else timedelta(seconds=seconds))
