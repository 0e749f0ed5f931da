"""What is counted for each namespace, and what becomes of the counts when it is gone."""

import ast
from pathlib import Path
from typing import TypeGuard

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from controller import phases
from controller.metrics import FINDINGS, NamespaceMetrics
from controller.phases.phase import Phase
from controller.reports.reason import Reason

GPU = "nvidia.com/gpu"


class Counted:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = NamespaceMetrics(self.registry, [GPU])

    def lines(self, name: str = "", value: str = "") -> list[str]:
        shown = generate_latest(self.registry).decode().splitlines()
        return [
            line for line in shown if line.startswith(name or "appwrapper") and line.endswith(value)
        ]


def test_a_namespace_begins_with_all_its_counts_at_zero() -> None:
    counted = Counted()
    assert counted.lines() == []
    counted.metrics.entered("team1", Phase.SUSPENDED, 0)
    assert counted.lines(value=" 1.0") == [
        'appwrapper_phase_total{namespace="team1",phase="Suspended"} 1.0'
    ]
    families = {name: len(counted.lines(name + "{")) for name in (
        "appwrapper_phase_total", "appwrapper_resets_total",
        "appwrapper_failures_total", "appwrapper_gpu_seconds_lost_total",
    )}  # fmt: skip
    assert list(families.values()) == [8, 7, 9, 7]
    assert 'phase=""' not in "".join(counted.lines())


def test_the_cost_of_a_reset_is_counted_by_resource_and_reason() -> None:
    counted = Counted()
    counted.metrics.reset("team1", Reason.FAILED_PODS, {GPU: 240.5}, 0)
    counted.metrics.reset("team1", Reason.FAILED_PODS, {GPU: 0.5}, 0)
    counted.metrics.reset("team1", Reason.CREATE_FAILED, {}, 0)
    labels = f'namespace="team1",reason="FoundFailedPods",resource="{GPU}"'
    assert counted.lines("appwrapper_gpu", " 241.0") == [
        f"appwrapper_gpu_seconds_lost_total{{{labels}}} 241.0"
    ]
    assert len(counted.lines("appwrapper_resets_total", " 2.0")) == 1
    assert len(counted.lines("appwrapper_resets_total", " 1.0")) == 1


@pytest.mark.parametrize(
    ("inhabited", "after", "kept"),
    [
        pytest.param(set(), 3599, True, id="an hour is not over"),
        pytest.param(set(), 3600, False, id="an hour is over"),
        pytest.param({"team1"}, 7200, True, id="an AppWrapper is there"),
    ],
)
def test_a_namespace_without_appwrappers_is_forgotten(
    inhabited: set[str], after: float, kept: bool
) -> None:
    counted = Counted()
    counted.metrics.entered("team1", Phase.SUSPENDED, -50)
    counted.metrics.failed("team1", Reason.TERMINATING, 0)  # a reason that nobody foresaw
    counted.metrics.forget(inhabited, after)
    assert bool(counted.lines()) is kept
    counted.metrics.entered("team1", Phase.FAILED, after)
    expected = ['appwrapper_phase_total{namespace="team1",phase="Failed"} 1.0']
    assert counted.lines("appwrapper_phase_total", " 1.0")[-1:] == expected


def test_every_reason_that_the_code_finds_is_known() -> None:
    """Those that `Finding` and `failure` are called with, wherever decisions are."""
    found = set()
    for file in Path(phases.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS:
                given = [*node.args, *(each.value for each in node.keywords)]
                within = [each for value in given for each in ast.walk(value)]
                found |= {Reason[each.attr] for each in within if is_reason(each)}
    assert found == set(FINDINGS)


MAKERS = ("Finding", "failure")


def is_reason(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Reason"
