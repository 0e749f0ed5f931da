from dataclasses import fields
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from controller.phases.actions import MoveTo, Reason
from controller.phases.phase import Phase
from controller.phases.snapshot import Timers
from controller.phases.timers import CLOCK_SKEW, Stamp, decode_timers, encode_timers, evolve

BEGAN = datetime(2026, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)
STAMP = Stamp("Running", attempt=2, retries=1)
ALL = Timers(**{each.name: BEGAN for each in fields(Timers)})


def test_stored_values_of_periods() -> None:
    assert encode_timers(Timers(deletion_on_failure=BEGAN), STAMP) == {
        "deletionOnFailure": {
            "began": "2026-01-01T10:00:00.123456Z",
            "phase": "Running",
            "attempt": 2,
            "resettingCount": 1,
        }
    }


KEYS = (
    *("admission", "warmup", "failure", "deletionOnFailure", "forcefulDeletion", "retryPause"),
    *("successTTL", "stragglers", "unschedulable", "unready", "records", "errorStore"),
    *("noWorkload", "queueReason", "podsTold"),
)


def test_all_periods_are_stored_in_these_bytes() -> None:
    """An earlier or later version reads them, so neither keys nor values may change."""
    entry = (
        '{"began":"2026-01-01T10:00:00.123456Z","phase":"Running","attempt":2,"resettingCount":1}'
    )
    expected = ",".join(f'"{key}":{entry}' for key in KEYS)
    assert orjson.dumps(encode_timers(ALL, STAMP)).decode() == f"{{{expected}}}"


def test_every_timer_is_decoded_as_it_was_encoded() -> None:
    stored = encode_timers(ALL, STAMP)
    assert decode_timers(stored, STAMP, BEGAN) == ALL
    assert len(stored) == len(fields(Timers)), "two timers share a key"


@pytest.mark.parametrize(
    "other", [Stamp("Failed", 2, 1), Stamp("Running", 3, 1), Stamp("Running", 2, 2)]
)
def test_a_timer_of_another_moment_is_missing(other: Stamp) -> None:
    assert decode_timers(encode_timers(ALL, STAMP), other, BEGAN) == Timers()


@pytest.mark.parametrize(
    "stored",
    [
        {"failure": "2026-01-01T10:00:00Z"},
        {"failure": {"began": "soon", "phase": "Running", "attempt": 2, "resettingCount": 1}},
        {"failure": None},
    ],
)
def test_an_unreadable_timer_is_missing(stored: dict[str, object]) -> None:
    assert decode_timers(stored, STAMP, BEGAN) == Timers()


def test_a_clock_that_was_set_back_makes_every_period_begin_once_more() -> None:
    """And not last until the clock has caught up, an hour say, with the quota reserved."""
    stored = encode_timers(ALL, STAMP)
    assert decode_timers(stored, STAMP, BEGAN - CLOCK_SKEW - timedelta(microseconds=1)) == Timers()


def test_the_clock_of_another_replica_may_be_a_little_behind() -> None:
    assert decode_timers(encode_timers(ALL, STAMP), STAMP, BEGAN - CLOCK_SKEW) == ALL


def test_a_new_phase_ends_all_periods_but_running_keeps_those_of_new_pods() -> None:
    kept = Timers(admission=BEGAN, warmup=BEGAN)
    for phase in Phase:
        evolved = evolve(ALL, (MoveTo(phase, Reason.RESUMING),), BEGAN)
        assert evolved == (kept if phase is Phase.RUNNING else Timers()), phase
