"""Pods on nodes that do not answer: which count, since when, and what is reported."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.deployed import deployed_pod
from controller.facts.nodes import UNREACHABLE
from controller.facts.pod_counts import Membership, count_pods
from controller.facts.pods import Pod
from controller.facts.unreachable import (
    find_cut_off,
    find_lost,
    find_lost_in,
    find_unreachable,
    removed_nodes_in,
    silent_nodes_in,
)
from controller.phases.silent_nodes import CutOff, Suspect, UnreachablePods
from controller.phases.snapshot import Component, FaultTolerance, Presence
from shared.api.conditions import Terminal
from shared.api.times import format_time
from tests.support.builders import remembered_pods as pod_builders
from tests.support.builders.autopilot import GPU
from tests.support.moments import NOW

SINCE = NOW - timedelta(minutes=1)
SILENT = {"n1": SINCE, "n2": SINCE + timedelta(seconds=20)}
LONG_AGO = format_time(NOW - timedelta(hours=1))
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2)


def pod(name: str, phase: str = "Running", **changes: Any) -> Pod:
    fields = {"node": "n1", "resources": ("cpu", GPU), "created": LONG_AGO}
    return pod_builders.pod(name, phase, **{**fields, **changes})


def membership(**changes: Any) -> Membership:
    [own] = pod_builders.with_uids((replace(JOB, **changes),), "job")
    return Membership(appwrapper_uid="u1", attempt=1, components=(own,))


def found(
    *pods: Pod, silent: dict[str, datetime] = SILENT, known: str = ""
) -> UnreachablePods | None:
    return find_unreachable(pods, membership(), silent, [known])


def test_pods_nodes_and_silences_are_named() -> None:
    since = format_time(SINCE)
    assert found(pod("b"), pod("a"), pod("c", node="n2"), pod("d", node="n3")) == UnreachablePods(
        message=f"Pods a, b on node n1, which does not answer since {since}; Pod c on node n2, "
        f"which does not answer since {format_time(SILENT['n2'])}",
        since=SINCE,
        pods=3,
        suspects=(Suspect("n1", "a", unreachable=True), Suspect("n2", "c", unreachable=True)),
        resources=frozenset({UNREACHABLE, "cpu", GPU}),
    )
    assert found(pod("a"), silent={}) is None


@pytest.mark.parametrize(
    ("other", "counts"),
    [
        (pod("a", "Pending"), True),
        (pod("a", deleting=True), True),
        (pod("a", "Succeeded"), False),
        (pod("a", "Failed"), False),
        (pod("a", node=""), False),
        (pod("a", node="n3"), False),
    ],
)
def test_pods_that_have_not_ended_count(other: Pod, counts: bool) -> None:
    assert (found(other) is not None) is counts


@pytest.mark.parametrize("changes", [{"helper": True}, {"terminal": Terminal.SUCCEEDED}])
def test_pods_that_nothing_waits_for_do_not_count(changes: dict[str, Any]) -> None:
    assert find_unreachable([pod("a")], membership(**changes), SILENT, []) is None


def test_a_pod_that_came_to_a_silent_node_has_the_whole_period() -> None:
    late = format_time(NOW - timedelta(seconds=5))
    one, both = found(pod("a", created=late)), found(pod("a", created=late), pod("b"))
    assert [each and each.since for each in (one, both)] == [NOW - timedelta(seconds=5), SINCE]


@pytest.mark.parametrize(("known", "spends_retry"), [("n1", True), ("n2", False), ("", False)])
def test_the_second_silence_of_a_node_spends_a_retry(known: str, spends_retry: bool) -> None:
    unreachable = found(pod("a"), known=known)
    assert unreachable is not None
    assert unreachable.spends_retry is spends_retry


def test_a_pod_on_a_silent_node_is_not_running() -> None:
    pods = [pod("a"), pod("b", node="n3")]
    counts = count_pods(pods, membership(), FaultTolerance(), NOW, SILENT)
    assert (counts.running, counts.pending, counts.existing, counts.ready) == (1, 1, 2, 1)
    assert counts.pending_named == "a on n1"
    assert counts.unreachable == 1
    leaving = [pod("a", deleting=True), pod("b", node="n3")]
    counts = count_pods(leaving, membership(), FaultTolerance(), NOW, SILENT)
    assert (counts.deleting, counts.unreachable) == (1, 0)
    assert count_pods(pods, membership(), FaultTolerance(), NOW).running == 2


def test_pods_that_are_being_deleted_on_silent_nodes_are_cut_off() -> None:
    pods = [
        pod("b", deleting=True),
        pod("a", deleting=True),
        pod("c"),
        pod("d", node="n3", deleting=True),
    ]
    text = f"Pods a, b on node n1, which does not answer since {format_time(SINCE)}"
    assert find_cut_off(map(deployed_pod, pods), SILENT) == (CutOff("n1", SINCE, text),)
    assert find_cut_off(map(deployed_pod, pods), {}) == ()


def test_the_messages_show_the_silent_nodes_again() -> None:
    unreachable = found(pod("a"), pod("b"), pod("c", node="n2"))
    assert unreachable is not None
    assert silent_nodes_in(f"1 of 3 pods run; {unreachable.message}; more") == SILENT
    assert silent_nodes_in("Pod a on node n1, which does not answer since noon") == {}


# Nodes that were removed.


def test_a_removed_node_is_named_as_such_with_its_first_time() -> None:
    unreachable = find_unreachable(
        [pod("a"), pod("c", node="n2")], membership(), SILENT, [], ["n2"]
    )
    assert unreachable is not None
    [first, second] = unreachable.message.split("; ")
    assert first == f"Pod a on node n1, which does not answer since {format_time(SINCE)}"
    later = format_time(SILENT["n2"])
    assert second == f"Pod c on node n2, which was removed and does not answer since {later}"
    assert silent_nodes_in(unreachable.message) == SILENT
    assert removed_nodes_in(unreachable.message) == {"n2"}


def gone(name: str, **changes: Any) -> Pod:
    at = format_time(NOW)
    return pod(name, "Failed", cause="DeletionByPodGC", failed_at=at, **changes)


def test_pods_that_podgc_deletes_are_lost_with_their_node() -> None:
    failed = [gone("c", node="n2"), gone("b"), gone("a"), pod("d", "Failed", cause="Evicted")]
    reported = f"1 of 4 pods run; Pods a, b on node n1, which does not answer since {LONG_AGO}"
    lost = find_lost(failed, reported, ["n2"], NOW)
    assert lost == UnreachablePods(
        message=f"Pods a, b on node n1, which was removed and does not answer since {LONG_AGO}; "
        f"Pod c on node n2, which was removed and does not answer since {format_time(NOW)}",
        since=NOW - timedelta(hours=1),
        pods=3,
        suspects=(Suspect("n1", "a", unreachable=True), Suspect("n2", "c", unreachable=True)),
        spends_retry=True,
        resources=frozenset({UNREACHABLE, "cpu", GPU}),
    )
    assert find_lost([pod("d", "Failed", cause="Evicted")], reported, [], NOW) is None


def test_after_a_restart_the_message_shows_the_lost_pods() -> None:
    there = f"Pod x on node n0, which does not answer since {LONG_AGO}"
    lost = f"Pods {', '.join('abcd'[:3])} and 1 more on node n1, which was removed and does not"
    lost += f" answer since {LONG_AGO}"
    other = f"Pod e on node n2, which was removed and does not answer since {format_time(SINCE)}"
    found = find_lost_in(
        f"1 of 7 pods run; 2 exist; {there}; {lost}; {other}; more", ["n2"], ["n9"]
    )
    assert found == UnreachablePods(
        message=f"{lost}; {other}",
        since=NOW - timedelta(hours=1),
        pods=2,
        suspects=(Suspect("n1", "a", unreachable=True), Suspect("n2", "e", unreachable=True)),
        spends_retry=True,
    )
    assert find_lost_in(f"1 of 7 pods run; {there}", [], []) is None
    assert find_lost_in("", [], []) is None
    # A pod that is still there is found by itself: counted here too, its text would grow for ever.
    assert find_lost_in(f"{lost}; {lost}; {other}", [], ["n1"]) == replace(
        found, message=other, since=SINCE, pods=1, suspects=found.suspects[1:], spends_retry=False
    )
