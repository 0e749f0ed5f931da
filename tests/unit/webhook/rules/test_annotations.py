from typing import Any

import pytest

from shared.config.fault_tolerance import ErrorAggregation, FaultToleranceConfig
from tests.support.builders.admission import annotated, appwrapper, errors_of, warnings_of
from tests.support.builders.annotations import PREFIX

REJECT: dict[str, Any] = {"grace_period_maximum_policy": "Reject"}
WRONG = [
    (
        "retryLimit",
        "many",
        'Invalid value: "many": must be a whole number from 0 to 2147483647, such as 5',
    ),
    (
        "retryLimit",
        "-1",
        'Invalid value: "-1": must be a whole number from 0 to 2147483647, such as 5',
    ),
    (
        "warmupGracePeriodDuration",
        "soon",
        'Invalid value: "soon": must be a duration such as 90s, 1h30m or 7d',
    ),
    ("failureGracePeriodDuration", "-5m", 'Invalid value: "-5m": must not be negative'),
    ("successTTLDuration", "0s", 'Invalid value: "0s": must be longer than 0s'),
    (
        "terminalExitCodes",
        "3,abc",
        'Invalid value: "3,abc": must be exit codes from 1 to 255 with commas between them, '
        "such as 3,10,42",
    ),
    (
        "retryableExitCodes",
        "",
        'Invalid value: "": must be exit codes from 1 to 255 with commas between them, '
        "such as 3,10,42",
    ),
    ("hold", "yes", 'Invalid value: "yes": must be "true" or "false"'),
    ("errorAggregation", "latest", 'Invalid value: "latest": must be earliest, default or off'),
    (
        "errorStore",
        "mine",
        'Invalid value: "mine": the operator\'s configuration has no error store; leave it out',
    ),
    ("recorder", "yes", 'Invalid value: "yes": must be "true" or "false"'),
    (
        "recorder",
        "true",
        'Invalid value: "true": the operator\'s configuration names no image of the recorder; '
        "leave it out, or ask an admin to set faultTolerance.errorAggregation.recorderImage",
    ),
]


@pytest.mark.parametrize(("name", "value", "error"), WRONG)
def test_an_annotation_without_meaning_is_refused(name: str, value: str, error: str) -> None:
    expected = [f"metadata.annotations[{PREFIX}{name}]: {error}"]
    sent = annotated(**{name: value})
    assert errors_of(sent) == expected
    for stored in (appwrapper(), annotated(**{name: "5"})):
        assert errors_of(sent, old=stored) == expected


@pytest.mark.parametrize(("name", "value", "_"), WRONG)
def test_a_stored_annotation_is_not_checked_again(name: str, value: str, _: str) -> None:
    stored = annotated(**{name: value})
    assert errors_of({**stored}, old=stored) == []
    assert errors_of(annotated(), old=stored) == []  # taking it away


def test_all_errors_are_reported_at_once() -> None:
    errors = errors_of(annotated(retryLimit="x", admissionGracePeriodDuration="y"))
    assert [error.partition(": ")[0] for error in errors] == [
        f"metadata.annotations[{PREFIX}admissionGracePeriodDuration]",
        f"metadata.annotations[{PREFIX}retryLimit]",
    ]


def test_right_values_are_accepted() -> None:
    errors = ErrorAggregation(stores={"shared": "s3://b"}, recorder_image="HOST/controller:1")
    stores = FaultToleranceConfig(error_aggregation=errors)
    made = annotated(
        warmupGracePeriodDuration="10m",
        retryLimit="0",
        successTTLDuration="1h",
        terminalExitCodes="3, 10",
        retryableExitCodes="42",
        errorAggregation="default",
        errorStore="shared",
        recorder="true",
    )
    assert errors_of(made, fault_tolerance=stores) == []


# A recorder that another setting switches off

IDLE = f"metadata.annotations[{PREFIX}recorder]: it does nothing"
WHILE_OFF = f"{IDLE} while errorAggregation is off; write {PREFIX}errorAggregation: earliest"
NO_ENVIRONMENT = (
    f"{IDLE}: the operator's configuration sets faultTolerance.errorAggregation.injectEnv to false"
)
ON = {"recorder": "true"}
OFF = {"errorAggregation": "off"}


@pytest.mark.parametrize(
    ("sent", "operator", "warned"),
    [
        (ON, {}, []),
        (ON, {"inject_env": False}, [NO_ENVIRONMENT]),
        (ON, {"strategy": "off"}, [WHILE_OFF]),
        (ON | {"errorAggregation": "earliest"}, {"strategy": "off"}, []),
        (ON | OFF, {}, [WHILE_OFF]),
        (ON | OFF, {"inject_env": False}, [NO_ENVIRONMENT]),
        ({"recorder": "false"} | OFF, {"inject_env": False}, []),
        (OFF, {"inject_env": False}, []),
    ],
)
def test_a_recorder_that_another_setting_switches_off_is_warned_of(
    sent: dict[str, str], operator: dict[str, Any], warned: list[str]
) -> None:
    errors = ErrorAggregation(recorder_image="HOST/controller:1", **operator)
    config = FaultToleranceConfig(error_aggregation=errors)
    made = annotated(**sent)
    for old in (None, appwrapper()):
        assert errors_of(made, old=old, fault_tolerance=config) == []
        assert warnings_of(made, old=old, fault_tolerance=config) == warned
    same = annotated(**sent, retryLimit="5")
    assert warnings_of(same, old=made, fault_tolerance=config) == []


def test_other_annotations_are_free() -> None:
    made = appwrapper()
    made["metadata"]["annotations"] = {"retryLimit": "x", "example.com/retryLimit": "x"}
    assert errors_of(made) == []


def test_a_hostile_value_is_shown_on_one_line_and_cut() -> None:
    (error,) = errors_of(annotated(retryLimit='"\n' + "9" * 5000))
    shown = '"\\"\\n' + "9" * 78 + '…"'
    assert error == (
        f"metadata.annotations[{PREFIX}retryLimit]: Invalid value: {shown}: "
        "must be a whole number from 0 to 2147483647, such as 5"
    )


# Above the limit


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("admissionGracePeriodDuration", "24h1us", "24h"),
        ("forcefulDeletionGracePeriodDuration", "2d", "24h"),
        ("successTTLDuration", "168h1us", "168h"),
    ],
)
def test_above_the_limit_the_policy_decides(name: str, value: str, limit: str) -> None:
    sent, refused = (
        annotated(**{name: value}),
        [
            f'metadata.annotations[{PREFIX}{name}]: Invalid value: "{value}": '
            f"must be at most {limit}, the operator's limit"
        ],
    )
    for old in (None, appwrapper(), annotated(**{name: limit})):
        assert errors_of(sent, old=old) == []
        assert errors_of(sent, old=old, **REJECT) == refused


@pytest.mark.parametrize("policy", ["Clamp", "Reject"])
def test_at_the_limit_both_policies_accept(policy: Any) -> None:
    sent = annotated(admissionGracePeriodDuration="24h", successTTLDuration="168h")
    assert errors_of(sent, grace_period_maximum_policy=policy) == []
