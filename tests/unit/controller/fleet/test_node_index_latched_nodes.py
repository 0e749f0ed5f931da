"""What the index knows of nodes whose label is gone, and of tests that do not end."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from controller.facts.latched_nodes import RecordedTag, decode_latches
from controller.facts.nodes import NodeProjection, Tag
from controller.fleet.node_index import NodeIndex, NodeTest
from shared.config.fault_tolerance import NodeHealth
from tests.support.builders.autopilot import GPU, HEALTH, taint
from tests.support.builders.nodes import (
    TAINTS,
    change,
    index,
    latching_index,
    node,
    raw_node,
    unschedulable,
)
from tests.support.fakes.fake_clock import START

PERIOD = timedelta(hours=12)
SECOND = timedelta(seconds=1)
LATER = START + timedelta(minutes=1)
EVICTED = f"{HEALTH}=EVICT"
LATCHED = Tag(EVICTED, START, gone=LATER)
CHANGED = {"n1": frozenset({GPU})}


def latching(**labels: str) -> NodeIndex:
    return latching_index(START, PERIOD, **labels)


def latched() -> NodeIndex:
    """n1 was EVICT from START to LATER."""
    nodes = latching(n1="EVICT", n2="")
    assert nodes.update(change(node("n1", "EVICT"), node("n1", "PASS")), LATER) == {GPU}
    return nodes


def test_it_stays_no_execute_and_unschedulable() -> None:
    nodes = latched()
    assert nodes.tags.get("n1") == {GPU: LATCHED}
    assert nodes.tagged(GPU) == {"n1": START}
    assert nodes.latched(GPU) == ["n1"]
    assert nodes.withheld("n1") == {GPU}
    assert nodes.withheld("n2") == frozenset()
    assert unschedulable(nodes) == Decimal(8)
    assert nodes.record() != ""


def test_by_default_a_label_that_goes_leaves_nothing() -> None:
    nodes = index(START, n1="EVICT")
    nodes.update(change(node("n1", "EVICT"), node("n1", "PASS")), LATER)
    assert (nodes.tags.get("n1"), nodes.avoided_hosts(), nodes.record()) == (None, {}, "")
    assert unschedulable(nodes) == 0


def test_only_labels_that_drive_pods_off_are_latched() -> None:
    nodes = latching(n1="ERR", n2="TESTING", n3="WARN")
    for name in ("n1", "n2", "n3"):
        assert nodes.update(change(None, node(name)), LATER) == frozenset()
    assert nodes.tags == {}


def test_its_end_is_noticed_once() -> None:
    nodes = latched()
    assert nodes.pass_time(LATER + PERIOD - SECOND) == {}
    assert nodes.pass_time(LATER + PERIOD) == CHANGED
    assert (nodes.tags.get("n1"), nodes.tagged(GPU)) == (None, {})
    assert unschedulable(nodes) == 0
    assert nodes.pass_time(LATER + PERIOD) == {}
    assert (len(nodes), nodes.population(GPU)) == (2, 2)


def test_an_admin_s_annotation_ends_it() -> None:
    nodes = latched()
    cleared = node("n1", "PASS", cleared="2026-01-01T12:00:30Z")
    assert nodes.update(change(node("n1", "PASS"), cleared), LATER + SECOND) == {GPU}
    assert nodes.tags.get("n1") is None


def test_another_node_of_the_name_is_not_latched() -> None:
    nodes = latched()
    assert nodes.update(change(node("n1"), node("n1", uid="another")), LATER) == {GPU}
    assert nodes.tags.get("n1") is None
    gone = latched()
    gone.update(change(node("n1"), None), LATER)
    gone.update(change(None, node("n1")), LATER)
    assert gone.tags.get("n1") is None


def test_listeners_are_called_when_a_label_returns() -> None:
    nodes = latched()
    again = LATER + timedelta(hours=1)
    assert nodes.update(change(node("n1"), node("n1", "EVICT")), again) == {GPU}
    assert nodes.tags.get("n1") == {GPU: Tag(EVICTED, START)}


def test_pods_are_kept_off_its_host_while_the_label_is_there_too() -> None:
    nodes = latching(n1="EVICT", n2="", n4="ERR")
    assert nodes.avoided_hosts() == {GPU: ("n1",)}
    elsewhere = node("n3", "EVICT", hostname="rack-7-slot-3")
    nodes.update(change(None, elsewhere), START)
    nodes.update(change(None, node("n5", "EVICT", hostname="")), START)
    nodes.update(change(elsewhere, node("n3", hostname="rack-7-slot-3")), LATER)
    assert nodes.avoided_hosts() == {GPU: ("n1", "rack-7-slot-3")}


def test_a_label_in_doubt_keeps_no_pod_off_and_is_not_latched() -> None:
    nodes = latching(n1="EVICT")
    nodes.doubt(GPU, START, START + SECOND)
    assert nodes.avoided_hosts() == {GPU: ("n1",)}
    nodes.doubt(GPU, START - SECOND, START)
    assert nodes.avoided_hosts() == {}
    nodes.trust(GPU, START)
    assert nodes.avoided_hosts() == {GPU: ("n1",)}
    nodes.doubt(GPU, START - SECOND, START)
    assert nodes.update(change(node("n1", "EVICT"), node("n1")), LATER) == {GPU}
    assert nodes.tags == {}


def test_a_doubt_about_a_label_that_is_gone_comes_too_late() -> None:
    nodes = latched()
    nodes.doubt(GPU, START - SECOND, LATER)
    assert nodes.avoided_hosts() == {GPU: ("n1",)}
    nodes.pass_time(LATER)
    assert nodes.tags.get("n1") == {GPU: LATCHED}


def test_a_label_in_doubt_stays_so_when_the_breaker_opens_again() -> None:
    nodes = latching(n1="EVICT", n2="EVICT")
    nodes.doubt(GPU, START - SECOND, START)
    nodes.update(change(node("n2", "EVICT"), node("n2")), START)
    nodes.update(change(None, node("n3", "EVICT")), LATER)
    nodes.doubt(GPU, LATER - SECOND, LATER)
    assert nodes.avoided_hosts() == {}
    nodes.update(change(node("n1", "EVICT"), node("n1")), LATER)
    nodes.update(change(node("n3", "EVICT"), node("n3")), LATER)
    assert nodes.tags == {}
    nodes.update(change(None, node("n4", "EVICT")), LATER + SECOND)
    nodes.doubt(GPU, LATER + SECOND, LATER + 2 * SECOND)
    assert nodes.avoided_hosts() == {GPU: ("n4",)}


def test_a_label_that_came_between_two_openings_of_the_breaker_is_certain() -> None:
    nodes = latching(n1="EVICT")
    nodes.doubt(GPU, START - SECOND, START)
    nodes.update(change(None, node("n2", "EVICT")), LATER)
    nodes.update(change(None, node("n3", "EVICT")), LATER + 2 * SECOND)
    nodes.doubt(GPU, LATER + SECOND, LATER + 2 * SECOND)
    assert nodes.avoided_hosts() == {GPU: ("n2",)}


def test_a_label_in_doubt_stays_so_when_the_clock_is_set_back() -> None:
    nodes = latching(n1="EVICT", n2="EVICT")
    nodes.update(change(node("n2", "EVICT"), node("n2")), START)
    nodes.doubt(GPU, START - SECOND, START)
    earlier = START - timedelta(hours=1)
    before = nodes.revision
    nodes.limit_times(earlier)
    assert nodes.revision > before
    assert nodes.tags.get("n1") == {GPU: Tag(EVICTED, earlier)}
    assert nodes.tagged(GPU) == {"n1": earlier, "n2": earlier}
    assert nodes.avoided_hosts() == {GPU: ("n2",)}
    # A label that comes later is certain.
    nodes.update(change(None, node("n3", "EVICT")), earlier + SECOND)
    assert nodes.avoided_hosts() == {GPU: ("n2", "n3")}


def recorded(
    tag: Tag, uid: str = "uid-n1", resource: str = GPU
) -> dict[str, dict[str, RecordedTag]]:
    return {resource: {"n1": RecordedTag(uid, tag)}}


def test_a_restart_takes_over_what_it_wrote_down() -> None:
    nodes = latching(n1="", n2="")
    assert nodes.adopt(decode_latches(latched().record()), LATER + SECOND) == CHANGED
    assert nodes.tags.get("n1") == {GPU: LATCHED}
    assert nodes.adopt(recorded(LATCHED), LATER + SECOND) == {}


@pytest.mark.parametrize(
    ("label", "now", "tag", "expected"),
    [
        # The label went while no process ran: nobody knows when.
        ("", LATER, Tag(EVICTED, START), LATCHED),
        # It is still there: since then.
        ("EVICT", LATER, Tag(EVICTED, START - PERIOD), Tag(EVICTED, START - PERIOD)),
        # The latch ended meanwhile.
        ("", LATER + PERIOD, LATCHED, None),
        ("", LATER + PERIOD - SECOND, LATCHED, LATCHED),
        # It ended meanwhile, and then the label came again, nobody knows when.
        ("EVICT", LATER, Tag(EVICTED, START - 3 * PERIOD, START - PERIOD), Tag(EVICTED, START)),
    ],
)
def test_a_label_that_changed_meanwhile(
    label: str, now: datetime, tag: Tag, expected: Tag | None
) -> None:
    nodes = latching(n1=label)
    nodes.adopt(recorded(tag), now)
    assert nodes.tags.get("n1") == (None if expected is None else {GPU: expected})


def test_nothing_is_taken_over_of_another_node_or_of_what_is_not_configured() -> None:
    nodes = latching(n1="")
    assert nodes.adopt(recorded(LATCHED, uid="another"), LATER) == {}
    assert nodes.adopt(recorded(LATCHED, resource="example.com/nic"), LATER) == {}
    assert nodes.adopt({GPU: {"n9": RecordedTag("uid-n9", LATCHED)}}, LATER) == {}
    assert index(START, n1="").adopt(recorded(LATCHED), LATER) == {}


def test_an_annotation_that_came_while_no_process_ran_counts() -> None:
    nodes = NodeIndex(TAINTS, NodeHealth(latch=PERIOD))
    nodes.update(change(None, node("n1", cleared="2026-01-01T12:30:00Z")), START)
    assert nodes.adopt(recorded(LATCHED), START + timedelta(hours=1)) == {}


TIMEOUT = timedelta(hours=2)


def test_a_test_that_does_not_end_is_reported_once() -> None:
    nodes = index(START, n1="TESTING", n2="PASS")
    assert nodes.overdue_tests(START + TIMEOUT - SECOND) == []
    assert nodes.overdue(GPU) == []
    overdue = NodeTest(f"{HEALTH}=TESTING", START, overdue=True)
    assert nodes.overdue_tests(START + TIMEOUT) == [(node("n1", "TESTING"), GPU, overdue)]
    assert nodes.overdue_tests(START + TIMEOUT) == []
    assert nodes.overdue(GPU) == ["n1"]
    nodes.update(change(node("n1", "TESTING"), node("n1", "PASS")), START + TIMEOUT)
    assert nodes.overdue(GPU) == []
    assert unschedulable(nodes) == 0


def test_another_test_restarts_the_wait_and_a_cordon_does_not() -> None:
    nodes = index(START, n1="TESTING")
    cordoned = node("n1", "TESTING", spec={"unschedulable": True})
    nodes.update(change(node("n1", "TESTING"), cordoned), LATER)
    assert len(nodes.overdue_tests(START + TIMEOUT)) == 1
    nodes.update(change(cordoned, node("n1")), START + TIMEOUT)
    nodes.update(change(node("n1"), node("n1", "TESTING")), START + TIMEOUT)
    assert nodes.overdue_tests(START + 2 * TIMEOUT - SECOND) == []


def test_a_latch_that_ends_leaves_the_test_of_its_node() -> None:
    nodes = latched()
    nodes.update(change(node("n1"), node("n1", "TESTING")), LATER)
    assert nodes.pass_time(LATER + PERIOD) == CHANGED
    assert len(nodes.overdue_tests(LATER + PERIOD)) == 1


@pytest.mark.parametrize(
    ("value", "effect", "lost_at_once", "lost_later"),
    [
        ("TESTING", "NoSchedule", 8, 8),
        ("testing", "PreferNoSchedule", 0, 8),
        ("TESTING", "NoExecute", 8, 8),
        ("busy", "PreferNoSchedule", 0, 0),
    ],
)
def test_which_labels_are_tests_and_what_they_withhold(
    value: str, effect: str, lost_at_once: int, lost_later: int
) -> None:
    key = "example.com/gpu-state"
    nodes = NodeIndex({GPU: (taint(value, effect, key),)})
    raw = raw_node("n1")
    raw["metadata"]["labels"][key] = value
    nodes.update(change(None, NodeProjection([key], [GPU]).project(raw)), START)
    assert unschedulable(nodes) == lost_at_once
    nodes.overdue_tests(START + TIMEOUT)
    assert unschedulable(nodes) == lost_later
    assert bool(nodes.overdue(GPU)) is (value.casefold() == "testing" and effect != "NoExecute")
