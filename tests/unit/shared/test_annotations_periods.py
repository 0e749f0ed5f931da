from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.annotations import PERIODS, Admitted, AnnotationError, Period, admitted
from shared.api.times import parse_duration
from shared.config.fault_tolerance import FaultToleranceConfig

CONFIG = FaultToleranceConfig()
HOUR = timedelta(hours=1)
BY_NAME = {each.name: each for each in PERIODS}
WARMUP_GRACE = BY_NAME["warmupGracePeriodDuration"]
SUCCESS_TTL = BY_NAME["successTTLDuration"]
every_period = pytest.mark.parametrize("period", PERIODS, ids=lambda each: each.key)


@every_period
def test_a_default_is_within_its_limit(period: Period) -> None:
    assert timedelta(0) <= period.default(CONFIG) <= period.limit(CONFIG)


@every_period
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("soon", "must be a duration such as 90s, 1h30m or 7d"),
        ("", "must be a duration such as 90s, 1h30m or 7d"),
        ("10", "must be a duration such as 90s, 1h30m or 7d"),
        ("1w", "must be a duration such as 90s, 1h30m or 7d"),
        ("9999999d", "must be a duration such as 90s, 1h30m or 7d"),
        ("-1s", "must not be negative"),
    ],
)
def test_values_refused_for_every_period(period: Period, text: str, problem: str) -> None:
    with pytest.raises(AnnotationError) as refused:
        period.parse(text, CONFIG)
    assert str(refused.value) == problem


def test_only_the_success_ttl_cannot_be_zero() -> None:
    assert [each.key for each in PERIODS if not each.may_be_zero] == [SUCCESS_TTL.key]
    assert WARMUP_GRACE.parse("0s", CONFIG) == timedelta(0)
    with pytest.raises(AnnotationError) as refused:
        SUCCESS_TTL.parse("0s", CONFIG)
    assert str(refused.value) == "must be longer than 0s"
    assert SUCCESS_TTL.parse("1us", CONFIG) == timedelta(microseconds=1)
    # An AppWrapper of the Go operator may contain what this webhook refuses.
    assert WARMUP_GRACE.read({WARMUP_GRACE.key: "0s"}, CONFIG) == timedelta(0)
    assert SUCCESS_TTL.read({SUCCESS_TTL.key: "0s"}, CONFIG) == CONFIG.success_ttl


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24h", Admitted("24h", 24 * HOUR, lowered=False)),
        ("1440m", Admitted("1440m", 24 * HOUR, lowered=False)),
        ("1d", Admitted("24h", 24 * HOUR, lowered=False)),
        ("0.5d", Admitted("12h", 12 * HOUR, lowered=False)),
        ("0d", Admitted("0s", 0 * HOUR, lowered=False)),
        ("24h1us", Admitted("24h", 24 * HOUR, lowered=True)),
        ("1d1s", Admitted("24h", 24 * HOUR, lowered=True)),
        ("7d", Admitted("24h", 24 * HOUR, lowered=True)),
    ],
)
def test_stored_values_of_periods(text: str, expected: Admitted) -> None:
    assert admitted(WARMUP_GRACE, text, CONFIG) == expected


@every_period
def test_a_value_above_the_limit_is_reported_with_the_limit(period: Period) -> None:
    limit = period.limit(CONFIG)
    hours = limit // HOUR
    period.check_limit(f"{hours}h", CONFIG)
    with pytest.raises(AnnotationError) as refused:
        period.check_limit(f"{hours}h1us", CONFIG)
    assert str(refused.value) == f"must be at most {hours}h, the operator's limit"


def test_the_success_ttl_has_the_operators_own_as_limit() -> None:
    assert admitted(SUCCESS_TTL, "7d", CONFIG) == Admitted("168h", 168 * HOUR, lowered=False)
    assert admitted(SUCCESS_TTL, "8d", CONFIG) == Admitted("168h", 168 * HOUR, lowered=True)
    short = FaultToleranceConfig(success_ttl=HOUR)
    assert admitted(SUCCESS_TTL, "2h", short) == Admitted("1h", HOUR, lowered=True)


@every_period
@settings(deadline=None)  # on a busy machine one example may take long
@given(count=st.integers(0, 10**6), unit=st.sampled_from(["us", "s", "m", "h", "d"]))
def test_the_controller_reads_the_stored_period(period: Period, count: int, unit: str) -> None:
    text = f"{count}{unit}"
    try:
        stored = admitted(period, text, CONFIG)
    except AnnotationError:
        return
    assert parse_duration(stored.text) == stored.duration
    assert period.read({period.key: stored.text}, CONFIG) == stored.duration
    assert period.read({period.key: text}, CONFIG) == stored.duration
    assert admitted(period, stored.text, CONFIG) == Admitted(
        stored.text, stored.duration, lowered=False
    )
