from datetime import UTC, datetime

import pytest

from controller.phases.snapshot import Timers
from controller.phases.timers import Stamp, decode, encode

BEGAN = datetime(2026, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)
STAMP = Stamp("Running", attempt=2, retries=1)
ALL = Timers(
    admission=BEGAN,
    warmup=BEGAN,
    failure=BEGAN,
    deletion_on_failure=BEGAN,
    forceful_deletion=BEGAN,
    retry_pause=BEGAN,
    success=BEGAN,
    stragglers=BEGAN,
    unready=BEGAN,
)


def test_what_is_stored() -> None:
    assert encode(Timers(deletion_on_failure=BEGAN), STAMP) == {
        "deletionOnFailure": {
            "began": "2026-01-01T10:00:00.123456Z",
            "phase": "Running",
            "attempt": 2,
            "resettingCount": 1,
        }
    }


def test_every_timer_comes_back_as_it_was_stored() -> None:
    assert decode(encode(ALL, STAMP), STAMP) == ALL


@pytest.mark.parametrize(
    "other", [Stamp("Failed", 2, 1), Stamp("Running", 3, 1), Stamp("Running", 2, 2)]
)
def test_a_timer_of_another_moment_is_missing(other: Stamp) -> None:
    assert decode(encode(ALL, STAMP), other) == Timers()


@pytest.mark.parametrize(
    "stored",
    [
        {"failure": "2026-01-01T10:00:00Z"},
        {"failure": {"began": "soon", "phase": "Running", "attempt": 2, "resettingCount": 1}},
        {"failure": None},
    ],
)
def test_what_cannot_be_read_is_missing(stored: dict[str, object]) -> None:
    assert decode(stored, STAMP) == Timers()
