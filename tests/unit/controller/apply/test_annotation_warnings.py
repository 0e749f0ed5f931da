"""Annotations that cannot mean what they say are named, with what counts instead."""

from typing import Any

import pytest

from controller.apply.annotation_warnings import annotation_warnings
from shared.annotations import KEYS
from shared.api.appwrapper import AppWrapper
from shared.config.fault_tolerance import ErrorAggregation, FaultToleranceConfig

PREFIX = "workload.codeflare.dev.appwrapper/"
CONFIG = FaultToleranceConfig(error_aggregation=ErrorAggregation(stores={"s3": "https://a"}))
MALFORMED = "must be a duration such as 90s, 1h30m or 7d"
NUMBER = "must be a whole number from 0 to 2147483647, such as 5"
CODES = "must be exit codes from 1 to 255 with commas between them, such as 3,10,42"
POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def warnings_of(annotations: dict[str, str], *components: Any) -> list[str]:
    named = {PREFIX + key: value for key, value in annotations.items()}
    raw = {"metadata": {"annotations": named}, "spec": {"components": list(components)}}
    return list(annotation_warnings(AppWrapper(raw), CONFIG))


def test_the_limit_of_what_kueue_stops_by_the_clock_is_named_with_its_label() -> None:
    named = {PREFIX + "forcefulDeletionGracePeriodDuration": "24h"}
    labels = {"kueue.x-k8s.io/max-exec-time-seconds": "5"}
    raw = {"metadata": {"annotations": named, "labels": labels}, "spec": {"components": []}}
    assert list(annotation_warnings(AppWrapper(raw), CONFIG)) == [
        f'metadata.annotations[{PREFIX}forcefulDeletionGracePeriodDuration]: Invalid value: "24h": '
        "must be at most 10m, the operator's limit with the label "
        "kueue.x-k8s.io/max-exec-time-seconds; the controller uses 10m"
    ]


@pytest.mark.parametrize(
    ("key", "value", "detail"),
    [
        ("admissionGracePeriodDuration", "soon", f"{MALFORMED}; the controller uses 1m"),
        ("warmupGracePeriodDuration", "", f"{MALFORMED}; the controller uses 5m"),
        ("failureGracePeriodDuration", "-1s", "must not be negative; the controller uses 0s"),
        (
            "retryPausePeriodDuration",
            "25h",
            "must be at most 24h, the operator's limit; the controller uses 24h",
        ),
        ("deletionOnFailureGracePeriodDuration", "1 h", f"{MALFORMED}; the controller uses 0s"),
        ("forcefulDeletionGracePeriodDuration", "1e3s", f"{MALFORMED}; the controller uses 10m"),
        ("successTTLDuration", "0s", "must be longer than 0s; the controller uses 168h"),
        ("retryLimit", "many", f"{NUMBER}; the controller uses 3"),
        ("retryLimit", "-4", f"{NUMBER}; the controller uses 0"),
        ("terminalExitCodes", "3,abc,42", f"{CODES}; the controller uses 3,42"),
        ("retryableExitCodes", "x", f"{CODES}; the controller uses none"),
        (
            "errorAggregation",
            "latest",
            "must be earliest, default or off; the controller uses earliest",
        ),
        (
            "errorStore",
            "gcs",
            "must name a configured error store: s3; the controller uses none",
        ),
    ],
)
def test_each_unusable_annotation_has_its_warning(key: str, value: str, detail: str) -> None:
    path = f"metadata.annotations[{PREFIX}{key}]"
    assert warnings_of({key: value}) == [f'{path}: Invalid value: "{value}": {detail}']


def test_a_usable_annotation_has_no_warning() -> None:
    fine = {key.removeprefix(PREFIX): "1s" for key in KEYS if key.endswith("Duration")}
    fine |= {"retryLimit": "0", "terminalExitCodes": "3, 10", "retryableExitCodes": "1"}
    fine |= {"errorAggregation": "default", "errorStore": "s3", "note": "x"}
    assert warnings_of(fine) == []


def test_long_values_are_cut() -> None:
    (only,) = warnings_of({"terminalExitCodes": "--5," + "9" * 5000})
    assert len(only) < 400
    (listed,) = warnings_of({"terminalExitCodes": ",".join(str(code) for code in range(1, 300))})
    assert listed.endswith("the controller uses 1,2,3,4,5,6,7,8,9,10")


@pytest.mark.parametrize("key", ["helper", "keep"])
def test_a_switch_is_true_or_false(key: str) -> None:
    component = {"template": CONFIG_MAP, "annotations": {PREFIX + key: "yes"}}
    assert warnings_of({}, {"template": POD}, component) == [
        f'spec.components[1].annotations[{PREFIX}{key}]: Invalid value: "yes": '
        'must be "true" or "false"; the controller uses false'
    ]


def test_pods_cannot_be_kept() -> None:
    component = {"template": POD, "annotations": {PREFIX + "keep": "true"}}
    assert warnings_of({}, component) == [
        f"spec.components[0].annotations[{PREFIX}keep]: Forbidden: only a component without pods "
        "can be kept; every reset deletes this one"
    ]
    assert warnings_of({}, {**component, "template": CONFIG_MAP}) == []
