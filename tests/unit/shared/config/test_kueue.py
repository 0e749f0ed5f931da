"""How long Kueue must wait for pods that are never ready."""

from datetime import timedelta

import pytest

from shared.api.times import parse_duration
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import FaultToleranceConfig
from shared.config.kueue import longest_unready, wait_for_pods_ready

MINUTE = timedelta(minutes=1)
HUNDRED_YEARS = timedelta(days=36_500)
NONE = timedelta(0)


def longest(**changes: timedelta | int) -> timedelta:
    nothing: dict[str, timedelta] = dict.fromkeys(
        (
            *("admission", "warmup", "flap", "failure"),
            *("deletion", "retry_pause", "deletion_on_failure"),
        ),
        NONE,
    )
    periods: dict[str, timedelta | int] = nothing | {"retry_limit": 0} | changes
    return longest_unready(**periods)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "minutes"),
    [
        ({}, 1),  # the last removal, forced at once
        ({"retry_limit": 3}, 4),
        ({"warmup": MINUTE, "flap": MINUTE, "failure": MINUTE}, 4),
        ({"warmup": MINUTE, "flap": MINUTE, "failure": MINUTE, "retry_limit": 3}, 16),
        ({"admission": MINUTE, "warmup": MINUTE}, 2),  # they begin together
        ({"admission": 20 * MINUTE, "warmup": MINUTE}, 21),
        ({"deletion": 10 * MINUTE, "retry_limit": 3}, 44),
        ({"retry_pause": 10 * MINUTE}, 1),  # there is no retry to pause for
        ({"retry_pause": 10 * MINUTE, "retry_limit": 3}, 37),  # each up to a tenth longer
        ({"deletion_on_failure": 60 * MINUTE, "retry_limit": 3}, 64),  # once, at the end
    ],
)
def test_the_sum_of_periods_and_retries(changes: dict[str, timedelta | int], minutes: int) -> None:
    assert longest(**changes) == minutes * MINUTE


@pytest.mark.parametrize("retries", [20_000_000, 2**31 - 1])
def test_an_unlimited_number_of_retries_has_a_sum(retries: int) -> None:
    assert longest(warmup=timedelta(days=100_000), retry_limit=retries) == HUNDRED_YEARS
    assert longest(warmup=timedelta(days=40_000)) == HUNDRED_YEARS
    assert longest(deletion=timedelta(minutes=4), retry_limit=retries) == HUNDRED_YEARS


def test_kueue_waits_longer_than_all_attempts_together() -> None:
    """With the defaults: 4 attempts of 7m15s, 4 removals of 11 m, 3 pauses of up to 99 s."""
    sum_of_defaults = 4 * timedelta(minutes=7, seconds=15) + 4 * 11 * MINUTE
    sum_of_defaults += 3 * timedelta(seconds=99)
    configured = wait_for_pods_ready(AppWrapperConfig())
    assert configured == {"timeout": "1h20m", "recoveryTimeout": "1h20m"}
    assert (
        sum_of_defaults == timedelta(minutes=77, seconds=57) < parse_duration(configured["timeout"])
    )


def test_a_sum_is_formatted_in_whole_seconds() -> None:
    assert longest(warmup=timedelta(microseconds=1)) == timedelta(minutes=1, seconds=1)


@pytest.mark.parametrize(("failed_for", "timeout"), [("3s", "1h20m"), ("3.001s", "1h30m")])
def test_the_timeout_is_the_next_ten_minutes_that_leave_two(failed_for: str, timeout: str) -> None:
    """77m57s, this much more, and 2 minutes."""
    patience = FaultToleranceConfig(deletion_on_failure_grace_period=parse_duration(failed_for))
    configured = wait_for_pods_ready(AppWrapperConfig(fault_tolerance=patience))
    assert configured == {"timeout": timeout, "recoveryTimeout": timeout}
