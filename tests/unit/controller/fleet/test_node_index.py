"""Case 72: what is known of all nodes, as their labels come and go."""

from datetime import timedelta
from decimal import Decimal

from controller.facts.nodes import UNREACHABLE, Tag, WithheldBy
from controller.facts.unschedulable import MEMORY
from controller.fleet.node_index import NodeIndex
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.nodes import (
    PROJECTION,
    TAINTS,
    change,
    index,
    node,
    raw_node,
    unschedulable,
)
from tests.support.fakes.fake_clock import START

LATER = START + timedelta(minutes=1)
EVICTED = f"{HEALTH}=EVICT"


def test_a_label_comes_and_goes() -> None:
    nodes = index(START, n1="", n2="")
    well, bad = node("n1"), node("n1", "EVICT")
    assert nodes.update(change(well, bad), LATER) == {GPU}
    assert nodes.tags.get("n1") == {GPU: Tag(EVICTED, LATER)}
    assert nodes.tagged(GPU) == {"n1": LATER}
    assert nodes.update(change(bad, node("n1", "WARN")), LATER) == {GPU}
    assert (nodes.tags.get("n1"), nodes.tagged(GPU), nodes.population(GPU)) == (None, {}, 2)


def test_other_changes_keep_the_time_of_the_tag() -> None:
    nodes = index(START, n1="EVICT")
    cordoned = node("n1", "EVICT", spec={"unschedulable": True})
    assert nodes.update(change(node("n1", "EVICT"), cordoned), LATER) == frozenset()
    assert nodes.tags.get("n1") == {GPU: Tag(EVICTED, START)}


def test_a_label_that_only_repels_new_pods_calls_no_listener() -> None:
    nodes = index(START, n1="")
    for label in ("ERR", "TESTING", "WARN", "PASS"):
        assert nodes.update(change(node("n1"), node("n1", label)), START) == frozenset()
        assert nodes.tags.get("n1") is None


def test_a_label_that_calls_a_resource_bad_is_known_as_long_as_it_is_there() -> None:
    """A root cause on such a node is the node's. A test says nothing of it, nor does WARN."""
    nodes = index(START, n1="")
    flagged = {}
    before = node("n1")
    for label in ("ERR", "TESTING", "EVICT", "WARN"):
        after = node("n1", label)
        nodes.update(change(before, after), START)
        flagged[label], before = dict(nodes.flagged), after
    bad = {"n1": frozenset({GPU})}
    assert flagged == {"ERR": bad, "TESTING": {}, "EVICT": bad, "WARN": {}}
    nodes.update(change(before, node("n1", "ERR")), START)
    nodes.update(change(node("n1", "ERR"), None), START)
    assert dict(nodes.flagged) == {}


def test_a_node_that_goes_is_forgotten() -> None:
    nodes = index(START, n1="EVICT", n2="")
    assert nodes.update(change(node("n1", "EVICT"), None), LATER) == {GPU, UNREACHABLE}
    assert (nodes.tags.get("n1"), nodes.tagged(GPU), nodes.population(GPU)) == (None, {}, 1)


def test_a_new_node_of_the_same_name_has_no_history() -> None:
    nodes = index(START, n1="EVICT")
    raw = raw_node("n1", "EVICT")
    raw["metadata"]["uid"] = "another"
    nodes.update(change(node("n1", "EVICT"), None), LATER)
    nodes.update(change(None, PROJECTION.project(raw)), LATER)
    assert nodes.tags.get("n1") == {GPU: Tag(EVICTED, LATER)}
    assert nodes.tagged(GPU) == {"n1": LATER}


def test_a_node_without_the_resource_does_not_count() -> None:
    nodes = index(START, n1="")
    login = node("login", "EVICT", capacity={}, allocatable={})
    nodes.update(change(None, login), START)
    assert (nodes.population(GPU), nodes.tagged(GPU), len(nodes)) == (1, {}, 2)


def test_the_largest_node_is_known_by_what_it_is_made_of() -> None:
    nodes = index(START)
    assert dict(nodes.largest()) == {}, "no node is known"
    nodes.update(change(None, node("login", "", capacity={}, allocatable={})), START)
    assert nodes.largest() == {GPU: 0}
    nodes.update(change(None, node("n1", "", capacity={GPU: "8"}, allocatable={GPU: "2"})), START)
    assert nodes.largest() == {GPU: 8}
    nodes.update(change(node("n1"), None), LATER)
    assert nodes.largest() == {GPU: 0}


def test_how_many_nodes_each_taint_matches() -> None:
    nodes = index(START, n1="EVICT", n2="EVICT", n3="WARN", n4="PASS")
    assert [(name, taint.value, found) for name, taint, found in nodes.matches()] == [
        (GPU, "ERR", 0),
        (GPU, "TESTING", 0),
        (GPU, "EVICT", 2),
        (GPU, "WARN", 1),
    ]


def test_capacity_that_no_new_pod_can_have() -> None:
    nodes = index(START, n1="EVICT", n2="ERR", n3="WARN", n4="")
    nodes.update(change(None, node("n5", spec={"unschedulable": True})), START)
    assert unschedulable(nodes) == Decimal(24)
    assert nodes.unschedulable_by_reason() == {
        (GPU, WithheldBy.LABEL): Decimal(16),
        (GPU, WithheldBy.CORDONED): Decimal(8),
    }


def test_nothing_is_known_of_a_node_that_was_not_seen() -> None:
    nodes = NodeIndex(TAINTS)
    assert (nodes.tags.get("n1"), nodes.population(GPU)) == (None, 0)
    assert unschedulable(nodes) == 0
    assert nodes.unschedulable_by_reason() == {}


def test_the_offer_of_a_node_is_remembered_when_it_gets_worse_or_goes() -> None:
    nodes = index(START, n1="", n2="")
    (offer,) = {each.offers for each in nodes.all()}
    assert dict(nodes.recent().lost) == {}
    broken = node("n1", allocatable={"cpu": "80", GPU: "0"})
    nodes.update(change(node("n1"), broken), LATER)
    assert dict(nodes.recent().lost) == {offer: LATER}
    nodes.update(change(broken, node("n1")), LATER + MEMORY / 2)
    assert dict(nodes.recent().lost) == {offer: LATER}, "it got better"
    again = LATER + MEMORY
    nodes.update(change(node("n2"), None), again)
    assert dict(nodes.recent().lost) == {offer: again}


def test_a_label_that_a_node_lost_or_changed_is_remembered() -> None:
    nodes = index(START, n1="PASS", n2="PASS")
    assert dict(nodes.recent().relabelled) == {}
    nodes.update(change(node("n1", "PASS"), node("n1", "WARN")), LATER)
    assert dict(nodes.recent().relabelled) == {HEALTH: LATER}
    nodes.update(change(node("n1", "WARN"), node("n1", "WARN")), LATER + MEMORY)
    assert dict(nodes.recent().relabelled) == {HEALTH: LATER}
    nodes.update(change(node("n2", "PASS"), None), LATER + MEMORY)
    assert dict(nodes.recent().relabelled) == {HEALTH: LATER}, "its offer is remembered instead"
    assert dict(nodes.recent().lost) != {}


def test_only_the_largest_offers_are_kept_and_only_for_a_day() -> None:
    nodes = index(START)
    for gpus, minute in (("4", 0), ("8", 1), ("2", 2)):
        one = node("n1", allocatable={GPU: gpus})
        nodes.update(change(None, one), START)
        nodes.update(change(one, None), START + timedelta(minutes=minute))
    lost = nodes.recent().lost
    assert [dict(each)[GPU] for each in lost] == [8, 2]
    one = node("n1", allocatable={GPU: "1"})
    nodes.update(change(None, one), START)
    nodes.update(change(one, None), START + timedelta(minutes=1) + MEMORY)
    assert [dict(each)[GPU] for each in nodes.recent().lost] == [2, 1]


def test_health_labels_are_known_as_such() -> None:
    assert set(index(START).recent().health) == {HEALTH}
