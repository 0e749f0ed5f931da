"""A pod that no node of the last 24 hours could hold: what counts for it and what against it."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from controller.facts.nodes import Node, NodeProjection
from controller.facts.pods import Pod
from controller.facts.scheduling import placement
from controller.facts.unschedulable import MEMORY, RecentNodes, has_worsened, lost_labels, no_node_for
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.nodes import raw_node
from tests.support.builders.remembered_pods import pod
from tests.support.fakes.fake_clock import START

NOW = START + MEMORY
SECOND = timedelta(seconds=1)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name: str, gpus: int = 8, labels: dict[str, str] | None = None, **spec: Any) -> Node:
    raw = raw_node(name, spec=spec, allocatable={"cpu": "80", GPU: str(gpus)})
    raw["metadata"]["labels"] |= labels or {}
    return NodeProjection().project(raw)


def waiting(name: str = "train-0", gpus: int = 8, **spec: Any) -> Pod:
    return pod(
        name,
        "Pending",
        unscheduled=f"2 Insufficient {GPU}",
        requests=(("cpu", Decimal(4)), (GPU, Decimal(gpus))),
        placement=placement(spec),
    )


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


def verdict(pods: Pod, *nodes: Node, **known: Any) -> str:
    recent = RecentNodes(nodes, {}, START, {HEALTH})
    return no_node_for([pods], replace(recent, **known), NOW).text


def test_a_request_above_the_largest_node_is_named_with_that_node() -> None:
    assert verdict(waiting(gpus=16), node("n1", 4), node("n2", 8)) == (
        f"no node can hold pod train-0, which requests 4 cpu, 16 {GPU}: "
        f"the largest node, n2, has 80 cpu, 8 {GPU}"
    )
    assert verdict(waiting(gpus=8), node("n1", 4), node("n2", 8)) == ""


def test_the_first_of_several_pods_is_named() -> None:
    pods = [waiting("b", 16), waiting("c", 16), waiting("a", 8)]
    found = no_node_for(pods, RecentNodes([node("n1")], {}, START), NOW)
    assert found.text.startswith("no node can hold pod b, ")


def test_without_a_day_s_knowledge_of_the_nodes_nothing_is_certain() -> None:
    assert verdict(waiting(gpus=16), node("n1"), since=START + SECOND) == ""
    assert verdict(waiting(gpus=16), node("n1"), since=None) == ""
    assert verdict(waiting(gpus=16)) == "", "no node is known"


def test_a_larger_node_counts_for_a_day_after_it_is_gone() -> None:
    offer = node("big", 16).offers
    lost = {offer: NOW - MEMORY + SECOND}
    assert verdict(waiting(gpus=16), node("n1"), lost=lost) == ""
    assert verdict(waiting(gpus=17), node("n1"), lost=lost) != ""
    assert verdict(waiting(gpus=16), node("n1"), lost={offer: NOW - MEMORY}) != ""


def test_a_cordoned_or_unreachable_node_can_hold_a_pod_later() -> None:
    away = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    assert verdict(waiting(), node("n1", unschedulable=True)) == ""
    assert verdict(waiting(), node("n1", taints=away)) == ""


def test_a_taint_counts_unless_the_pod_tolerates_it() -> None:
    tainted = node("n1", taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}])
    assert verdict(waiting(), tainted).endswith(
        "the largest node, n1, has the taint team=a:NoSchedule, which the pod does not tolerate"
    )
    assert verdict(waiting(tolerations=[{"key": "team", "operator": "Exists"}]), tainted) == ""
    other = [{"key": "team", "value": "b"}]
    assert verdict(waiting(tolerations=other), tainted) != ""


def test_a_node_selector_counts_by_the_labels_that_nodes_have() -> None:
    old, new = node("n1", labels={"gpu": "a100"}), node("n2", 4, labels={"gpu": "h100"})
    chosen = waiting(nodeSelector={"gpu": "h100"})
    assert verdict(chosen, old, new).endswith(
        "the largest node, n1, lacks the label gpu=h100, which the pod's nodeSelector requires"
    )
    assert verdict(chosen, old, node("n3", labels={"gpu": "h100"})) == ""


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "gpu", "operator": "In", "values": ["h100", "a100"]}, True),
        ({"key": "gpu", "operator": "In", "values": ["h100"]}, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "rack", "operator": "Exists"}, False),
        ({"key": "memory", "operator": "Gt", "values": ["79"]}, True),
        ({"key": "memory", "operator": "Gt", "values": ["80"]}, False),
        ({"key": "memory", "operator": "Lt", "values": ["81"]}, True),
        ({"key": "rack", "operator": "Lt", "values": ["81"]}, False),
        ({"key": "gpu", "operator": "Gt", "values": ["1"]}, False),
        # What only excludes nodes may end: the controller itself excludes bad nodes so.
        ({"key": "gpu", "operator": "NotIn", "values": ["a100"]}, True),
        ({"key": "gpu", "operator": "DoesNotExist"}, True),
        ({"key": HEALTH, "operator": "In", "values": ["PASS"]}, True),
    ],
)
def test_a_required_node_affinity_counts(expression: dict[str, Any], fits: bool) -> None:
    there = node("n1", labels={"gpu": "a100", "memory": "80"})
    found = verdict(waiting(**affinity(expression)), there)
    words = "the largest node, n1, does not match the node affinity that the pod requires"
    assert (found == "", found.endswith(words)) == (fits, not fits)


def test_one_of_several_terms_is_enough() -> None:
    spec = affinity({"key": "rack", "operator": "Exists"})
    spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"].append(
        {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}
    )
    assert verdict(waiting(**spec), node("n1", labels={"gpu": "a100"})) == ""


def test_a_resource_that_no_node_shows_counts_only_if_the_scheduler_reports_it() -> None:
    """A DeviceClass may give it."""
    odd = replace(waiting(), requests=(("example.com/npu", Decimal(1)),))
    assert verdict(odd, node("n1")) == ""
    reported = replace(odd, unscheduled="1 Insufficient example.com/npu")
    assert verdict(reported, node("n1")).endswith("node, n1, has 0 example.com/npu")


@pytest.mark.parametrize(
    ("new", "worse"),
    [
        (None, True),
        (node("n1", 8, {"gpu": "h100"}), False),
        (node("n1", 9, {"gpu": "a100"}), False),
        (node("n1", 7, {"gpu": "a100"}), True),
        (node("n1", 8), False),
        (node("n1", 8, {"gpu": "a100"}, taints=[{"key": "k", "effect": "NoSchedule"}]), True),
        (node("n1", 8, {"gpu": "a100"}, unschedulable=True), False),
    ],
)
def test_when_a_node_got_worse_by_more_than_its_labels(new: Node | None, worse: bool) -> None:
    assert has_worsened(node("n1", 8, {"gpu": "a100"}), new) is worse


def test_which_labels_a_node_lost() -> None:
    old = node("n1", labels={"gpu": "a100", "rack": "r1", "pool": "a"})
    assert lost_labels(old, old) == set()
    new = node("n1", labels={"gpu": "h100", "pool": "a", "zone": "z1"})
    assert lost_labels(old, new) == {"gpu", "rack"}


A100 = waiting("a100", nodeSelector={"gpu": "a100"})
IN_POOL = waiting("pool", **affinity({"key": "pool", "operator": "In", "values": ["a"]}))
BOTH = waiting("both", nodeSelector={"gpu": "a100", "pool": "a"})


@pytest.mark.parametrize("wanted", [A100, IN_POOL, BOTH])
def test_a_required_label_that_changed_within_a_day_counts_as_met(wanted: Pod) -> None:
    now_h100 = node("n1", labels={"gpu": "h100", "pool": "b"})
    assert verdict(wanted, now_h100) != ""
    last = NOW - MEMORY + SECOND
    assert verdict(wanted, now_h100, relabelled={"gpu": last, "pool": last}) == ""
    over = dict.fromkeys(("gpu", "pool"), NOW - MEMORY)
    assert verdict(wanted, now_h100, relabelled=over) != ""


def test_another_label_or_too_few_resources_make_a_changed_label_count_for_nothing() -> None:
    now_h100 = node("n1", 4, labels={"gpu": "h100"})
    assert verdict(A100, now_h100, relabelled={"gpu": NOW}).endswith("has 80 cpu, 4 " + GPU)
    assert verdict(A100, node("n2"), relabelled={"pool": NOW}) != ""
    assert verdict(BOTH, node("n2"), relabelled={"pool": NOW}) != ""


def test_a_changed_label_is_checked_again_when_its_day_is_over() -> None:
    known = RecentNodes([node("n1")], {}, START)

    def look_again(*pods: Pod, **relabelled: datetime) -> timedelta | None:
        return no_node_for(pods, replace(known, relabelled=relabelled), NOW).look_again

    earlier, later = NOW - 2 * SECOND, NOW - SECOND
    assert look_again(A100, gpu=later) == MEMORY - SECOND
    assert look_again(BOTH, gpu=later, pool=earlier) == MEMORY - 2 * SECOND
    assert look_again(A100, IN_POOL, gpu=later, pool=earlier) == MEMORY - 2 * SECOND
    assert look_again(waiting(), gpu=later) is None, "it fits in any case"


def test_it_is_checked_again_when_time_alone_may_change_it() -> None:
    lost = {node("big", 16).offers: NOW - SECOND, node("huge", 32).offers: NOW - 2 * SECOND}
    known = RecentNodes([node("n1")], lost, START)
    fits, large, huge = waiting("a"), waiting("b", 16), waiting("c", 32)

    def look_again(*pods: Pod, since: datetime = START) -> timedelta | None:
        return no_node_for(pods, replace(known, since=since), NOW).look_again

    assert look_again(fits) is None
    assert look_again(fits, large) == MEMORY - SECOND
    assert look_again(fits, huge, large) == MEMORY - 2 * SECOND
    assert look_again(large, since=START + SECOND) == SECOND
    assert look_again(waiting("d", 64)) is None, "it is certain already"
