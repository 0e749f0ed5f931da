from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.effective_fault_tolerance import effective_fault_tolerance, spread_out
from controller.phases.snapshot import FaultTolerance
from shared.annotations import TABLE
from shared.api.appwrapper import AppWrapper
from shared.config.configuration import AppWrapperConfig

UID, ATTEMPT = "u1", 2
CONFIG = AppWrapperConfig()


def effective(config: AppWrapperConfig = CONFIG, /, **annotations: str) -> FaultTolerance:
    prefix = "workload.codeflare.dev.appwrapper/"
    metadata = {"uid": UID, "annotations": {prefix + k: v for k, v in annotations.items()}}
    raw = {"metadata": metadata, "spec": {}, "status": {"attempt": ATTEMPT}}
    return effective_fault_tolerance(AppWrapper(raw), config)


def expected(**changes: Any) -> FaultTolerance:
    """The defaults, save `changes`. Only the pause is not just as it is written."""
    written = replace(FaultTolerance(), **changes)
    asked = written.retry_pause
    pause = spread_out(asked, UID, ATTEMPT)
    grace = min(written.forceful_deletion_grace, FaultTolerance().forceful_deletion_grace)
    return replace(written, retry_pause=pause, asked_retry_pause=asked, longest_pod_grace=grace)


def test_each_field_is_an_annotations_or_the_operators_alone() -> None:
    alone = [
        "stability_period",
        "settle_period",
        "flap_period",
        "asked_retry_pause",
        "longest_pod_grace",
    ]
    alone += ["remember_suspects", "record_settle", "store_timeout"]
    by_annotation = [each.sets for each in TABLE]
    assert sorted(by_annotation + alone) == sorted(each.name for each in fields(FaultTolerance))


def test_defaults_are_those_of_the_specification() -> None:
    assert effective() == expected()


@pytest.mark.parametrize("period", ["stability", "settle", "flap"])
def test_some_periods_are_the_operators_alone(period: str) -> None:
    seven: dict[str, Any] = {f"{period}_period": timedelta(seconds=7)}
    annotation = {f"{period}PeriodDuration": "1s"}
    assert effective(AppWrapperConfig(**seven), **annotation) == expected(**seven)


@pytest.mark.parametrize(("asked", "seconds"), [("24h", 600), ("10m", 600), ("5s", 5)])
def test_with_a_maximum_execution_time_the_operators_own_deletion_period_applies(
    asked: str, seconds: int
) -> None:
    """Whatever the webhook let pass: the label may have come after the annotation."""
    key = "workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration"
    label = "kueue.x-k8s.io/max-exec-time-seconds"
    raw = {"metadata": {"uid": UID, "annotations": {key: asked}, "labels": {label: "5"}}}
    effective = effective_fault_tolerance(AppWrapper(raw | {"spec": {}}), CONFIG)
    assert effective.forceful_deletion_grace == timedelta(seconds=seconds)


@pytest.mark.parametrize(("asked", "seconds"), [("24h", 600), ("10m", 600), ("5s", 5), (None, 600)])
def test_after_a_deletion_pods_are_forced_within_the_operators_own_period(
    asked: str | None, seconds: int
) -> None:
    """Kueue frees the quota at the deletion. Before it the annotation alone counts."""
    key = "workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration"
    metadata = {"uid": UID, "annotations": {} if asked is None else {key: asked}}
    before = effective_fault_tolerance(AppWrapper({"metadata": metadata, "spec": {}}), CONFIG)
    hours = timedelta(hours=24) if asked == "24h" else timedelta(seconds=seconds)
    assert before.forceful_deletion_grace == hours
    deleted = metadata | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    after = effective_fault_tolerance(AppWrapper({"metadata": deleted, "spec": {}}), CONFIG)
    assert after.forceful_deletion_grace == timedelta(seconds=seconds)
    assert after.longest_pod_grace == before.longest_pod_grace == timedelta(seconds=seconds)


def test_other_annotations_mean_nothing() -> None:
    raw = {"metadata": {"uid": UID, "annotations": {"retryLimit": "9"}}, "spec": {}}
    assert effective_fault_tolerance(AppWrapper(raw), CONFIG).retry_limit == 3


@pytest.mark.parametrize(
    ("annotation", "field"),
    [
        ("admissionGracePeriodDuration", "admission_grace"),
        ("warmupGracePeriodDuration", "warmup_grace"),
        ("failureGracePeriodDuration", "failure_grace"),
        ("unreachableGracePeriodDuration", "unreachable_grace"),
        ("retryPausePeriodDuration", "retry_pause"),
        ("deletionOnFailureGracePeriodDuration", "deletion_on_failure_grace"),
        ("forcefulDeletionGracePeriodDuration", "forceful_deletion_grace"),
    ],
)
@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("90s", timedelta(seconds=90)),
        ("0s", timedelta(0)),
        ("-5m", timedelta(0)),
        ("24h", timedelta(hours=24)),
        ("7d", timedelta(hours=24)),
        ("soon", None),
        ("", None),
    ],
)
def test_periods(annotation: str, field: str, text: str, asked: timedelta | None) -> None:
    default = getattr(FaultTolerance(), field)
    wanted = default if asked is None else asked
    assert effective(**{annotation: text}) == expected(**{field: wanted})


@pytest.mark.parametrize(
    ("annotations", "changes"),
    [
        ({"retryLimit": "5"}, {"retry_limit": 5}),
        ({"retryLimit": "0"}, {"retry_limit": 0}),
        ({"retryLimit": "-1"}, {"retry_limit": 0}),
        ({"retryLimit": "many"}, {}),
        ({"successTTLDuration": "1h"}, {"success_ttl": timedelta(hours=1)}),
        ({"successTTLDuration": "0s"}, {}),
        ({"successTTLDuration": "30d"}, {}),
        ({"terminalExitCodes": "3,10,abc,42"}, {"terminal_exit_codes": frozenset({3, 10, 42})}),
        ({"retryableExitCodes": "x,10,20"}, {"retryable_exit_codes": frozenset({10, 20})}),
        ({"retryableExitCodes": ""}, {}),
        ({"terminalExitCodes": "-1,+2"}, {"terminal_exit_codes": frozenset({-1, 2})}),
    ],
)
def test_others(annotations: dict[str, str], changes: dict[str, Any]) -> None:
    assert effective(**annotations) == expected(**changes)


HOSTILE = (
    "",
    "-",
    "--5",
    "1e999",
    "nan",
    "٣",
    "\x00",
    "9" * 5000,
    "-" + "9" * 5000,
    "," * 9,
    "💥h",
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize(
    "annotation",
    ["retryLimit", "successTTLDuration", "warmupGracePeriodDuration", "terminalExitCodes",
     "retryableExitCodes"],
)  # fmt: skip
def test_no_annotation_keeps_the_controller_from_looking(annotation: str, text: str) -> None:
    assert effective(**{annotation: text}) == expected()
