from decimal import Decimal
from typing import Any

import pytest

from controller.facts.nodes import Node, NodeProjection
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.nodes import PROJECTION, node, raw_node


def test_a_node_is_what_decisions_depend_on() -> None:
    assert node("n1", "EVICT", spec={"unschedulable": True}) == Node(
        name="n1",
        uid="uid-n1",
        labels=((HEALTH, "EVICT"), ("kubernetes.io/hostname", "n1")),
        cordoned=True,
        out_of_reach=False,
        allocatable=((GPU, Decimal(8)),),
        resources=frozenset({GPU}),
        capacity=(("cpu", Decimal(80)), (GPU, Decimal(8))),
        offers=(("cpu", Decimal(80)), (GPU, Decimal(8))),
    )


def test_a_heartbeat_and_other_people_s_labels_change_nothing() -> None:
    before = raw_node("n1")
    after = raw_node("n1")
    after["metadata"]["resourceVersion"] = "8"
    after["metadata"]["labels"]["team"] = "a"
    after["metadata"]["annotations"] = {"volumes.kubernetes.io/x": "y"}
    after["status"]["conditions"] = [{"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]
    after["status"]["images"] = [{"names": ["trainer:1"]}]
    assert PROJECTION.project(before) == PROJECTION.project(after)


@pytest.mark.parametrize(
    ("taint", "out_of_reach"),
    [
        ("node.kubernetes.io/not-ready", True),
        ("node.kubernetes.io/unreachable", True),
        ("node.kubernetes.io/unschedulable", False),
        ("dedicated", False),
    ],
)
def test_taints_of_an_unreachable_node(taint: str, out_of_reach: bool) -> None:
    assert node("n1", spec={"taints": [{"key": taint}]}).out_of_reach is out_of_reach


@pytest.mark.parametrize(
    ("changes", "has", "allocatable"),
    [
        ({"capacity": {}, "allocatable": {}}, False, None),
        ({"capacity": {GPU: "0"}, "allocatable": {GPU: "0"}}, False, None),
        ({"capacity": {GPU: "8"}, "allocatable": {GPU: "0"}}, True, None),  # all devices failed
        ({"capacity": {GPU: "8"}, "allocatable": {GPU: "7"}}, True, Decimal(7)),
        ({"capacity": None, "allocatable": None}, False, None),
    ],
)
def test_which_resources_a_node_has(
    changes: dict[str, Any], has: bool, allocatable: Decimal | None
) -> None:
    made = node("n1", **changes)
    assert (GPU in made.resources, dict(made.allocatable).get(GPU)) == (has, allocatable)


def test_a_node_of_which_little_is_known_yet() -> None:
    made = PROJECTION.project({"metadata": {"name": "new", "uid": "u"}})
    assert (made.labels, made.allocatable, made.cordoned) == ((), (), False)


def test_a_projection_without_bounds_knows_all_labels_and_amounts_and_still_no_heartbeat() -> None:
    before, after = raw_node("n1", "EVICT"), raw_node("n1", "EVICT")
    after["metadata"]["resourceVersion"] = "8"
    after["status"]["conditions"] = [{"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]
    known = NodeProjection().project(before)
    assert known == NodeProjection().project(after)
    assert known.labels == ((HEALTH, "EVICT"), ("kubernetes.io/hostname", "n1"))
    assert known.allocatable == (("cpu", Decimal(80)), (GPU, Decimal(8)))


def test_nodes_that_are_alike_share_what_is_known_of_them() -> None:
    """Of 2,000 nodes with 100 labels each, this is most of the memory."""
    one, another = (NodeProjection().project(raw_node(name, "EVICT")) for name in ("n1", "n2"))
    assert one.labels[0] is another.labels[0]
    for (_, amount), (_, same) in zip(one.allocatable, another.allocatable, strict=True):
        assert amount is same
