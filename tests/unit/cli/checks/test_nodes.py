"""Nodes: capacity, what cannot be scheduled, shapes, and what is said of them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from cli.checks.findings import CheckFinding, FindingSeverity
from cli.checks.nodes import (
    Latches,
    node_findings,
    node_of,
    shapes,
)
from controller.facts.latched_nodes import RecordedTag
from controller.facts.nodes import Tag, tolerates
from shared.config.fault_tolerance import Autopilot
from tests.support.builders.nodes import TAINTS as OF_THE_CONTROLLER
from tests.support.builders.nodes import change, unschedulable
from tests.support.builders.nodes import node as remembered
from tests.support.builders.queues import GPU, gpu_node

TAINTS = Autopilot().resource_taints
HEALTH = "autopilot.ibm.com/gpuhealth"
DEDICATED = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}


def findings(item: dict[str, Any], *tolerations: dict[str, str]) -> list[CheckFinding]:
    return list(node_findings([node_of(item, TAINTS)], tolerations))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"spec": {"unschedulable": True}}, "cordoned"),
        (
            {"spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}},
            "NotReady or unreachable",
        ),
        ({"labels": {HEALTH: "EVICT"}}, f"{HEALTH}=EVICT, NoExecute"),
        (
            {"labels": {HEALTH: "TESTING"}, "spec": {"unschedulable": True}},
            f"cordoned; {HEALTH}=TESTING, NoSchedule",
        ),
    ],
)
def test_a_node_that_takes_no_gpu_pods(changes: dict[str, Any], why: str) -> None:
    item = gpu_node("n", **changes)
    assert node_of(item, TAINTS).unschedulable[GPU] == 8
    assert findings(item) == [
        CheckFinding(about="node n", message=f"8 {GPU} cannot be scheduled ({why})")
    ]


GONE = datetime(2026, 1, 2, tzinfo=UTC)
PERIOD = timedelta(hours=12)


def latches(now: datetime, uid: str = "n") -> Latches:
    """The label of node n went at GONE."""
    tag = Tag(f"{HEALTH}=EVICT", GONE - timedelta(hours=1), gone=GONE)
    return Latches({GPU: {"n": RecordedTag(uid, tag)}}, PERIOD, now)


@pytest.mark.parametrize(
    ("known", "is_latched"),
    [
        (latches(GONE), True),
        (latches(GONE + PERIOD), False),  # whatever is still written down
        (latches(GONE, uid="another"), False),
        (None, False),
    ],
)
def test_a_latched_node_takes_no_gpu_pods(known: Latches | None, is_latched: bool) -> None:
    seen = node_of(gpu_node("n"), TAINTS, known)
    assert seen.unschedulable.get(GPU, 0) == (8 if is_latched else 0)
    why = f"{HEALTH}=EVICT is gone, latched"
    finding = CheckFinding(about="node n", message=f"8 {GPU} cannot be scheduled ({why})")
    assert list(node_findings([seen], ())) == ([finding] if is_latched else [])


def test_an_existing_label_is_listed_once() -> None:
    seen = node_of(gpu_node("n", labels={HEALTH: "EVICT"}), TAINTS, latches(GONE))
    assert seen.flags == (f"{HEALTH}=EVICT, NoExecute",)


def test_a_label_that_only_warns_withholds_nothing() -> None:
    item = gpu_node("n", labels={HEALTH: "WARN"})
    assert (node_of(item, TAINTS).unschedulable, findings(item)) == ({}, [])


def test_a_label_withholds_its_own_resource_and_a_cordon_all() -> None:
    labelled = node_of(gpu_node("n", labels={HEALTH: "ERR"}), TAINTS)
    assert dict(labelled.unschedulable) == {GPU: 8}
    cordoned = node_of(gpu_node("n", spec={"unschedulable": True}), TAINTS)
    assert dict(cordoned.unschedulable) == dict(cordoned.allocatable)


def test_it_is_the_number_of_the_controllers_metric() -> None:
    from controller.fleet.node_index import NodeIndex

    index = NodeIndex(OF_THE_CONTROLLER)
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    for name, label in (("a", "ERR"), ("b", ""), ("c", "EVICT")):
        index.update(change(None, remembered(name, label)), moment)
    items = [
        gpu_node(name, labels={HEALTH: label} if label else {})
        for name, label in (("a", "ERR"), ("b", ""), ("c", "EVICT"))
    ]
    ours = sum(node_of(each, TAINTS).unschedulable.get(GPU, 0) for each in items)
    assert ours == unschedulable(index) == 16


def test_devices_that_failed_are_no_capacity_and_are_named() -> None:
    item = gpu_node("n", allocatable={GPU: "7"})
    assert node_of(item, TAINTS).allocatable[GPU] == 7
    assert findings(item) == [
        CheckFinding(
            about="node n",
            message=f"the kubelet offers 7 of its 8 {GPU}",
            advice="Check the device plugin on this node: it reports the others as unhealthy",
        )
    ]


def test_another_taint_changes_no_number_and_is_a_note_where_no_flavor_tolerates_it() -> None:
    item = gpu_node("n", spec={"taints": [DEDICATED]})
    assert node_of(item, TAINTS).unschedulable == {}
    assert findings(item) == [
        CheckFinding(
            severity=FindingSeverity.NOTE,
            about="taint dedicated=batch:NoSchedule",
            message=f"1 node(s) with 8 {GPU} have it, and no ResourceFlavor tolerates it: only"
            " pods with a toleration of their own run there",
        )
    ]
    assert findings(item, {"key": "dedicated", "operator": "Exists"}) == []


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "dedicated", "value": "batch", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "operator": "Equal", "value": "batch"}, True),
        ({"key": "dedicated", "value": "web"}, False),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_a_toleration(toleration: dict[str, Any], expected: bool) -> None:
    assert tolerates(toleration, ("dedicated", "batch", "NoSchedule")) is expected


def test_shapes_are_the_clusters_own_the_commonest_first() -> None:
    nodes = [node_of(each, TAINTS) for each in (gpu_node("a", 4), gpu_node("b"), gpu_node("c"))]
    found = shapes(nodes)
    assert [(each.nodes, int(each.amounts[GPU])) for each in found] == [(2, 8), (1, 4)]
    assert found[0].amounts["memory"] == Decimal(1100 * 2**30)
