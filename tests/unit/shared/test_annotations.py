from typing import Any

import pytest

from shared.annotations import KEYS, PERIODS, TABLE, Annotation, AnnotationError
from shared.config.fault_tolerance import ErrorAggregation, FaultToleranceConfig

PREFIX = "workload.codeflare.dev.appwrapper/"
STORES = {"shared": "s3://bucket/errors", "archive": "s3://other"}
CONFIG = FaultToleranceConfig(error_aggregation=ErrorAggregation(stores=STORES))
BY_NAME = {each.name: each for each in TABLE}


@pytest.mark.parametrize("annotation", TABLE, ids=lambda each: each.name)
def test_without_it_the_default_counts(annotation: Annotation[Any]) -> None:
    other = {annotation.name: "without the prefix"}
    assert annotation.read(other, CONFIG) == annotation.default(CONFIG)


def test_the_default_is_the_operators() -> None:
    config = FaultToleranceConfig(
        retry_limit=7, error_aggregation=ErrorAggregation(strategy="default")
    )
    read = {name: each.read({}, config) for name, each in BY_NAME.items()}
    assert (read["retryLimit"], read["errorAggregation"]) == (7, "default")


def test_a_period_without_limit_is_never_above_it() -> None:
    for each in set(TABLE) - set(PERIODS):
        each.check_limit("9" * 99, CONFIG)


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("errorAggregation", "default", "default"),
        ("errorAggregation", "latest", "earliest"),
        ("errorStore", "shared", "shared"),
        ("errorStore", "mine", ""),
    ],
)
def test_a_refused_value_means_the_default(name: str, text: str, read: str) -> None:
    assert BY_NAME[name].read({PREFIX + name: text}, CONFIG) == read


def test_these_are_all() -> None:
    assert {key.removeprefix(PREFIX) for key in KEYS} == {
        "admissionGracePeriodDuration",
        "warmupGracePeriodDuration",
        "failureGracePeriodDuration",
        "unreachableGracePeriodDuration",
        "failUnschedulableDuration",
        "retryPausePeriodDuration",
        "retryLimit",
        "deletionOnFailureGracePeriodDuration",
        "forcefulDeletionGracePeriodDuration",
        "successTTLDuration",
        "terminalExitCodes",
        "retryableExitCodes",
        "errorAggregation",
        "errorStore",
        "recorder",
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
    BY_NAME[name].parse(text, CONFIG)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("warmupGracePeriodDuration", "5", "must be a duration such as 90s, 1h30m or 7d"),
        ("retryLimit", "x", "must be a whole number from 0 to 2147483647, such as 5"),
        ("errorAggregation", "Earliest", "must be earliest, default or off"),
        ("errorAggregation", "", "must be earliest, default or off"),
        ("errorStore", "mine", "must name a configured error store: archive, shared"),
        ("errorStore", "s3://bucket/errors", "must name a configured error store: archive, shared"),
    ],
)
def test_wrong_values(name: str, text: str, problem: str) -> None:
    with pytest.raises(AnnotationError) as refused:
        BY_NAME[name].parse(text, CONFIG)
    assert str(refused.value) == problem


@pytest.mark.parametrize("name", ["terminalExitCodes", "retryableExitCodes"])
def test_both_lists_of_exit_codes_are_checked(name: str) -> None:
    with pytest.raises(AnnotationError):
        BY_NAME[name].parse("0", CONFIG)


def test_without_stores_none_can_be_named() -> None:
    with pytest.raises(AnnotationError) as refused:
        BY_NAME["errorStore"].parse("shared", FaultToleranceConfig())
    expected = "the operator's configuration has no error store; leave it out"
    assert str(refused.value) == expected
