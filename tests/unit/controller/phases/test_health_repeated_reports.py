"""A report about a failure is repeated only if it names another root cause."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.phases.findings import Finding
from controller.phases.health import would_repeat_report
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import ConditionText, Snapshot, Timers
from controller.reports.reason import Reason
from controller.reports.unhealthy import Problem
from tests.support.moments import NOW

CAUSE = RootCause(pod="train-2", node="gpu-4", time=NOW - timedelta(seconds=20))
FINDING = Finding(reason=Reason.FAILED_PODS, message="2 failed pods", root_cause=CAUSE)
LAST = Problem(reason=Reason.FAILED_PODS, problem="1 failed pod", cause=("train-2", "gpu-4"))
REPORTED = Snapshot(
    phase=Phase.RUNNING,
    conditions=frozenset({"Unhealthy"}),
    condition_texts={"Unhealthy": ConditionText(Reason.FAILED_PODS, "1 failed pod")},
    timers=Timers(failure=NOW - timedelta(seconds=10)),
)


@pytest.mark.parametrize(
    ("last", "repeats"),
    [
        pytest.param(LAST, True, id="the same root cause, whatever the text"),
        pytest.param(replace(LAST, cause=("train-2", "gpu-5")), False, id="another node"),
        pytest.param(replace(LAST, cause=("train-0", "gpu-4")), False, id="another pod"),
        pytest.param(replace(LAST, cause=None), False, id="no root cause was known"),
    ],
)
def test_the_last_report_decides(last: Problem, repeats: bool) -> None:
    assert would_repeat_report(replace(REPORTED, reported={"Unhealthy": last}), FINDING) is repeats


@pytest.mark.parametrize(("text", "repeats"), [("2 failed pods", True), ("1 failed pod", False)])
def test_after_a_restart_the_text_decides(text: str, repeats: bool) -> None:
    texts = {"Unhealthy": ConditionText(Reason.FAILED_PODS, text)}
    assert would_repeat_report(replace(REPORTED, condition_texts=texts), FINDING) is repeats
