"""Annotations that cannot mean what they say are named, with what counts instead."""

from typing import Any

import pytest

from controller.apply.events import annotation_warnings
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


def said(annotations: dict[str, str], *components: Any) -> list[str]:
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
        "kueue.x-k8s.io/max-exec-time-seconds; instead, 10m counts"
    ]


@pytest.mark.parametrize(
    ("key", "value", "detail"),
    [
        ("admissionGracePeriodDuration", "soon", f"{MALFORMED}; instead, 1m counts"),
        ("warmupGracePeriodDuration", "", f"{MALFORMED}; instead, 5m counts"),
        ("failureGracePeriodDuration", "-1s", "must not be negative; instead, 0s counts"),
        (
            "retryPausePeriodDuration",
            "25h",
            "must be at most 24h, the operator's limit; instead, 24h counts",
        ),
        ("deletionOnFailureGracePeriodDuration", "1 h", f"{MALFORMED}; instead, 0s counts"),
        ("forcefulDeletionGracePeriodDuration", "1e3s", f"{MALFORMED}; instead, 10m counts"),
        ("successTTLDuration", "0s", "must be longer than 0s; instead, 168h counts"),
        ("retryLimit", "many", f"{NUMBER}; instead, 3 counts"),
        ("retryLimit", "-4", f"{NUMBER}; instead, 0 counts"),
        ("terminalExitCodes", "3,abc,42", f"{CODES}; instead, 3,42 count"),
        ("retryableExitCodes", "x", f"{CODES}; instead, none counts"),
        (
            "errorAggregation",
            "latest",
            "must be earliest, default or off; instead, earliest counts",
        ),
        (
            "errorStore",
            "gcs",
            "must name a configured error store: s3; instead, none is used",
        ),
    ],
)
def test_what_is_said_of_each(key: str, value: str, detail: str) -> None:
    path = f"metadata.annotations[{PREFIX}{key}]"
    assert said({key: value}) == [f'{path}: Invalid value: "{value}": {detail}']


def test_nothing_is_said_of_values_that_mean_something() -> None:
    fine = {key.removeprefix(PREFIX): "1s" for key in KEYS if key.endswith("Duration")}
    fine |= {"retryLimit": "0", "terminalExitCodes": "3, 10", "retryableExitCodes": "1"}
    fine |= {"errorAggregation": "default", "errorStore": "s3", "note": "x"}
    assert said(fine) == []


def test_long_values_are_cut() -> None:
    (only,) = said({"terminalExitCodes": "--5," + "9" * 5000})
    assert len(only) < 400
    (listed,) = said({"terminalExitCodes": ",".join(str(code) for code in range(1, 300))})
    assert listed.endswith("instead, 1,2,3,4,5,6,7,8,9,10 count")


@pytest.mark.parametrize("key", ["helper", "keep"])
def test_a_switch_is_true_or_false(key: str) -> None:
    component = {"template": CONFIG_MAP, "annotations": {PREFIX + key: "yes"}}
    assert said({}, {"template": POD}, component) == [
        f'spec.components[1].annotations[{PREFIX}{key}]: Invalid value: "yes": '
        'must be "true" or "false"; instead, false counts'
    ]


def test_pods_cannot_be_kept() -> None:
    component = {"template": POD, "annotations": {PREFIX + "keep": "true"}}
    assert said({}, component) == [
        f"spec.components[0].annotations[{PREFIX}keep]: Forbidden: only a component without pods "
        "can be kept; instead, it goes with every reset"
    ]
    assert said({}, {**component, "template": CONFIG_MAP}) == []
