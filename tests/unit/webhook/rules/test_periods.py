from typing import Any

import jsonpatch
import pytest

from shared.annotations import PERIODS
from shared.config.fault_tolerance import FaultToleranceConfig
from tests.support.builders.admission import annotated, appwrapper, errors_of, patch_of, warnings_of
from tests.support.builders.annotations import PREFIX

WARMUP = f"{PREFIX}warmupGracePeriodDuration"
TTL = f"{PREFIX}successTTLDuration"
REJECT: dict[str, Any] = {"grace_period_maximum_policy": "Reject"}


def created(sent: dict[str, Any], **config: Any) -> dict[str, Any]:
    """The annotations that are stored."""
    made = jsonpatch.apply_patch(sent, patch_of(sent, **config))
    found: dict[str, Any] = made["metadata"]["annotations"]
    return {key: value for key, value in found.items() if key.startswith(PREFIX)}


def updated(stored: dict[str, Any], sent: dict[str, Any], **config: Any) -> dict[str, Any]:
    made = jsonpatch.apply_patch(sent, patch_of(sent, old=stored, **config))
    found: dict[str, Any] = made["metadata"].get("annotations", {})
    return found


# On CREATE


@pytest.mark.parametrize("period", PERIODS, ids=lambda each: each.key)
def test_each_is_lowered_to_its_own_limit_with_a_warning(period: Any) -> None:
    limit = "168h" if period.key == TTL else "24h"
    sent = annotated(**{period.key.removeprefix(PREFIX): "200h"})
    assert created(sent) == {period.key: limit}
    assert warnings_of(sent) == [
        f"{period.key}: lowered from 200h to {limit}, the most that the operator allows"
    ]


@pytest.mark.parametrize(
    ("sent", "stored"), [("24h", "24h"), ("1440m", "1440m"), ("1d", "24h"), ("0.5d", "12h")]
)
def test_up_to_the_limit_only_days_are_rewritten_without_warning(sent: str, stored: str) -> None:
    made = annotated(warmupGracePeriodDuration=sent)
    for config in ({}, REJECT):
        assert created(made, **config) == {WARMUP: stored}
        assert warnings_of(made, **config) == []


def test_seven_days_are_the_default_limit_of_the_success_ttl() -> None:
    assert created(annotated(successTTLDuration="7d")) == {TTL: "168h"}


def test_the_limits_are_the_configured_ones() -> None:
    limits = FaultToleranceConfig.model_validate(
        {"grace_period_maximum": "48h", "success_ttl": "1h"}
    )
    sent = annotated(warmupGracePeriodDuration="48h", successTTLDuration="2h")
    assert created(sent, fault_tolerance=limits) == {WARMUP: "48h", TTL: "1h"}


def test_under_reject_nothing_is_lowered() -> None:
    sent = annotated(warmupGracePeriodDuration="48h")
    assert created(sent, **REJECT) == {WARMUP: "48h"}
    assert warnings_of(sent, **REJECT) == []


@pytest.mark.parametrize("sent", ["soon", "", "-1h", 5, None])
def test_a_malformed_period_is_left_to_validation(sent: Any) -> None:
    made = annotated(warmupGracePeriodDuration=sent)
    assert created(made) == {WARMUP: sent}


def test_lowering_what_was_lowered_changes_nothing() -> None:
    sent = annotated(warmupGracePeriodDuration="9d", successTTLDuration="9d", retryLimit="5")
    once = jsonpatch.apply_patch(sent, patch_of(sent))
    assert patch_of(once) == []


# On UPDATE


@pytest.mark.parametrize(
    ("sent", "stored", "says"),
    [
        ("1d", "24h", []),
        ("0.5d", "12h", []),
        ("48h", "24h", [f"{WARMUP}: 48h is more than the operator allows, so it stays 24h"]),
        ("2d", "1440m", [f"{WARMUP}: 2d is more than the operator allows, so it stays 1440m"]),
    ],
)
def test_the_same_file_again_changes_nothing(sent: str, stored: str, says: list[str]) -> None:
    old, new = (
        annotated(warmupGracePeriodDuration=stored),
        annotated(warmupGracePeriodDuration=sent),
    )
    assert updated(old, new) == {WARMUP: stored}
    assert warnings_of(new, old=old) == says
    assert errors_of(new, old=old) == []


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("1h", "60m"),  # the user's own text, however much it means the same
        ("2d", "1h"),
        ("48h", "12h"),
        ("12h", "24h"),
        ("1d", "soon"),
        ("soon", "24h"),
    ],
)
def test_another_value_goes_in_as_it_is(sent: str, stored: str) -> None:
    old, new = (
        annotated(warmupGracePeriodDuration=stored),
        annotated(warmupGracePeriodDuration=sent),
    )
    assert updated(old, new) == {WARMUP: sent}


@pytest.mark.parametrize("old", [appwrapper(), annotated(warmupGracePeriodDuration="12h")])
def test_a_value_above_the_limit_gets_a_warning(old: dict[str, Any]) -> None:
    new = annotated(warmupGracePeriodDuration="48h")
    says = f"{WARMUP}: 48h is more than the operator allows, so 24h applies"
    assert warnings_of(new, old=old) == [says]
    assert errors_of(new, old=old) == []


def test_a_stored_value_above_the_limit_is_no_news() -> None:
    old = annotated(warmupGracePeriodDuration="48h")
    for config in ({}, REJECT):
        assert patch_of(old, old=old, **config) == []
        assert warnings_of(old, old=old, **config) == []
        assert errors_of(old, old=old, **config) == []


def test_the_same_file_is_no_news_either_once_the_limit_is_lower() -> None:
    old, new = (annotated(warmupGracePeriodDuration=text) for text in ("48h", "2d"))
    for config in ({}, REJECT):
        assert updated(old, new, **config) == {WARMUP: "48h"}
        assert warnings_of(new, old=old, **config) == []


def test_a_dropped_annotation_stays_dropped() -> None:
    assert updated(annotated(warmupGracePeriodDuration="24h"), appwrapper()) == {}


def test_under_reject_only_the_same_length_is_the_same_file() -> None:
    old = annotated(warmupGracePeriodDuration="24h")
    assert updated(old, annotated(warmupGracePeriodDuration="1d"), **REJECT) == {WARMUP: "24h"}
    assert updated(old, annotated(warmupGracePeriodDuration="2d"), **REJECT) == {WARMUP: "2d"}
