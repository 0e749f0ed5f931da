"""Case 72: what labels, taints and a cordon say about a node's resources."""

from decimal import Decimal
from typing import Any

import pytest

from controller.facts.nodes import (
    NodeProjection,
    WithheldBy,
    no_execute,
    unschedulable,
    unschedulable_by_reason,
)
from tests.support.builders.autopilot import GPU, HEALTH, taint
from tests.support.builders.nodes import TAINTS, node, raw_node

ALL_GPUS = {GPU: Decimal(8)}
NOT_READY = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
CORDON = {"unschedulable": True}
UNREACHABLE = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("EVICT", {GPU: f"{HEALTH}=EVICT"}),
        ("WARN", {}),
        ("ERR", {}),
        ("TESTING", {}),
        ("PASS", {}),
        ("evict", {}),
        ("", {}),
    ],
)
def test_only_evict_drives_pods_off(label: str, expected: dict[str, str]) -> None:
    assert no_execute(node("n1", label), TAINTS) == expected


def test_each_resource_has_its_own_labels_and_the_first_that_matches_is_named() -> None:
    taints = {
        GPU: (taint("EVICT", "NoExecute"), taint("gone", "NoExecute", "gpu-state")),
        "example.com/nic": (taint("down", "NoExecute", "nic-state"),),
        "example.com/fpga": (),
    }
    raw = raw_node("n1", "EVICT")
    raw["metadata"]["labels"] |= {"gpu-state": "gone", "nic-state": "down"}
    known = NodeProjection([HEALTH, "gpu-state", "nic-state"], taints).project(raw)
    assert no_execute(known, taints) == {
        GPU: f"{HEALTH}=EVICT",
        "example.com/nic": "nic-state=down",
    }


@pytest.mark.parametrize(
    ("label", "spec", "expected"),
    [
        ("EVICT", {}, ALL_GPUS),
        ("ERR", {}, ALL_GPUS),
        ("TESTING", {}, ALL_GPUS),
        ("WARN", {}, {}),
        ("", {}, {}),
        ("", {"unschedulable": True}, ALL_GPUS),
        ("", NOT_READY, ALL_GPUS),
        ("", UNREACHABLE, ALL_GPUS),
        ("EVICT", {"unschedulable": True}, ALL_GPUS),
    ],
)
def test_withheld_resources_of_a_node(
    label: str, spec: dict[str, Any], expected: dict[str, Decimal]
) -> None:
    assert unschedulable(node("n1", label, spec=spec), TAINTS) == expected


@pytest.mark.parametrize(
    ("label", "spec", "reason"),
    [
        ("EVICT", {}, WithheldBy.LABEL),
        ("TESTING", {}, WithheldBy.LABEL),
        ("", NOT_READY, WithheldBy.OUT_OF_REACH),
        ("ERR", UNREACHABLE, WithheldBy.OUT_OF_REACH),
        ("", CORDON, WithheldBy.CORDONED),
        ("EVICT", {**CORDON, **NOT_READY}, WithheldBy.CORDONED),
    ],
)
def test_each_amount_counts_under_one_reason(
    label: str, spec: dict[str, Any], reason: WithheldBy
) -> None:
    known = node("n1", label, spec=spec)
    assert list(unschedulable_by_reason(known, TAINTS)) == [(GPU, reason, Decimal(8))]


@pytest.mark.parametrize("label", ["", "WARN", "PASS"])
def test_available_resources_count_under_no_reason(label: str) -> None:
    assert list(unschedulable_by_reason(node("n1", label), TAINTS)) == []


def test_a_label_withholds_its_own_resource_only() -> None:
    raw = raw_node("n1", "ERR", allocatable={GPU: "8", "example.com/nic": "2"})
    known = NodeProjection([HEALTH], [GPU, "example.com/nic"]).project(raw)
    taints = {**TAINTS, "example.com/nic": (taint("down", "NoExecute", "nic-state"),)}
    assert unschedulable(known, taints) == ALL_GPUS
    raw["spec"] = {"unschedulable": True}
    known = NodeProjection([HEALTH], [GPU, "example.com/nic"]).project(raw)
    assert unschedulable(known, taints) == {**ALL_GPUS, "example.com/nic": Decimal(2)}
