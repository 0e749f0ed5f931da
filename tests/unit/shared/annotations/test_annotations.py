import pytest

from shared.annotations import KEYS, AnnotationError, check_value
from shared.config.fault_tolerance import ErrorAggregation, FaultTolerance

PREFIX = "workload.codeflare.dev.appwrapper/"
STORES = {"shared": "s3://bucket/errors", "archive": "s3://other"}
CONFIG = FaultTolerance(error_aggregation=ErrorAggregation(stores=STORES))


def test_these_are_all() -> None:
    assert {key.removeprefix(PREFIX) for key in KEYS} == {
        "admissionGracePeriodDuration",
        "warmupGracePeriodDuration",
        "failureGracePeriodDuration",
        "retryPausePeriodDuration",
        "retryLimit",
        "deletionOnFailureGracePeriodDuration",
        "forcefulDeletionGracePeriodDuration",
        "successTTLDuration",
        "terminalExitCodes",
        "retryableExitCodes",
        "errorAggregation",
        "errorStore",
    }
    assert all(key.startswith(PREFIX) for key in KEYS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("warmupGracePeriodDuration", "7d"),  # the limit is another matter
        ("retryLimit", "5"),
        ("terminalExitCodes", "3"),
        ("retryableExitCodes", "3, 4"),
        ("errorAggregation", "earliest"),
        ("errorAggregation", "default"),
        ("errorStore", "shared"),
    ],
)
def test_right_values(name: str, text: str) -> None:
    check_value(PREFIX + name, text, CONFIG)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("warmupGracePeriodDuration", "5", "must be a duration such as 90s, 1h30m or 7d"),
        ("retryLimit", "x", "must be a whole number from 0 to 2147483647, such as 5"),
        ("errorAggregation", "Earliest", "must be earliest or default"),
        ("errorAggregation", "", "must be earliest or default"),
        ("errorStore", "mine", "must name a configured error store: archive, shared"),
        ("errorStore", "s3://bucket/errors", "must name a configured error store: archive, shared"),
    ],
)
def test_wrong_values(name: str, text: str, problem: str) -> None:
    with pytest.raises(AnnotationError) as refused:
        check_value(PREFIX + name, text, CONFIG)
    assert str(refused.value) == problem


@pytest.mark.parametrize("name", ["terminalExitCodes", "retryableExitCodes"])
def test_both_lists_of_exit_codes_are_checked(name: str) -> None:
    with pytest.raises(AnnotationError):
        check_value(PREFIX + name, "0", CONFIG)


def test_without_stores_none_can_be_named() -> None:
    with pytest.raises(AnnotationError) as refused:
        check_value(PREFIX + "errorStore", "shared", FaultTolerance())
    expected = "the operator's configuration has no error store; leave it out"
    assert str(refused.value) == expected
