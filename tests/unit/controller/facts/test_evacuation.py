"""Which pods a label of their node drives off, what is said of it, and who is told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.evacuation import UNWATCHED_NODES, find_evacuation, users
from controller.facts.observe import Observation, Reads, observe
from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod
from controller.fleet.node_index import NodeIndex
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    Evacuation,
    FaultTolerance,
    Presence,
    Snapshot,
)
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import Terminal
from shared.api.times import format_time
from tests.support.builders import gathering
from tests.support.builders import nodes as node_builders
from tests.support.builders import remembered_pods as pod_builders
from tests.support.builders.autopilot import GPU
from tests.support.fakes.fake_clock import START

PLACE = "node n1 (autopilot.ibm.com/gpuhealth=EVICT): "


def gpu_pod(name: str, phase: str = "Running", **changes: Any) -> Pod:
    """On n1, bound an hour before anybody knew of a tag."""
    bound = format_time(START - timedelta(hours=1))
    fields = {"node": "n1", "resources": ("cpu", GPU), "bound": bound}
    return pod_builders.pod(name, phase, **{**fields, **changes})


def membership(*components: Component) -> Membership:
    job = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2)
    made = components or (job,)
    own = pod_builders.with_uids(made, "job", *(f"job{index}" for index in range(1, len(made))))
    return Membership(appwrapper_uid="u1", attempt=1, components=own)


def found(*pods: Pod, nodes: NodeIndex | None = None) -> Evacuation | None:
    tagged = nodes or node_builders.index(START, n1="EVICT", n2="EVICT", ok="")
    return find_evacuation(pods, membership(), tagged.tags)


def evacuation(message: str, **changes: Any) -> Evacuation:
    fields = {"resources": frozenset({GPU}), "since": START, **changes}
    return Evacuation(message, **fields)


def test_a_running_pod_that_uses_the_resource_must_go() -> None:
    assert found(gpu_pod("a")) == evacuation(f"{PLACE}pod a uses {GPU}")


@pytest.mark.parametrize(
    "pod",
    [
        gpu_pod("a", resources=("cpu",)),
        gpu_pod("a", resources=()),
        gpu_pod("a", node="ok"),
        gpu_pod("a", node="unknown"),
        gpu_pod("a", "Pending", node=""),
        gpu_pod("a", "Pending"),
        gpu_pod("a", "Succeeded"),
        gpu_pod("a", "Failed"),
        gpu_pod("a", deleting=True),
    ],
)
def test_any_other_pod_stays(pod: Pod) -> None:
    assert found(pod) is None


@pytest.mark.parametrize("label", ["ERR", "TESTING", "WARN", "PASS", ""])
def test_other_labels_do_nothing_to_running_pods(label: str) -> None:
    assert found(gpu_pod("a"), nodes=node_builders.index(START, n1=label)) is None


def test_nothing_is_driven_off_where_nodes_are_not_watched() -> None:
    assert find_evacuation([gpu_pod("a")], membership(), UNWATCHED_NODES) is None


def test_the_message_names_few_in_a_stable_order() -> None:
    pods = [gpu_pod(name) for name in ("d", "b", "c", "a")]
    two_nodes = found(*pods[:3], gpu_pod("z", node="n2"))
    assert two_nodes == evacuation(
        f"{PLACE}pods b, c, d use {GPU}; "
        f"node n2 (autopilot.ibm.com/gpuhealth=EVICT): pod z uses {GPU}"
    )
    assert found(*pods) == evacuation(f"{PLACE}pods a, b, c and 1 more use {GPU}")
    five = [gpu_pod(f"p{n}", node=f"n{n}") for n in range(1, 6)]
    tagged = node_builders.index(START, **{f"n{n}": "EVICT" for n in range(1, 6)})
    message = "; ".join(
        f"node n{n} (autopilot.ibm.com/gpuhealth=EVICT): pod p{n} uses {GPU}" for n in range(1, 4)
    )
    assert found(*five, nodes=tagged) == evacuation(f"{message}; and 2 more")


@pytest.mark.parametrize(
    ("seconds", "spends_retry"), [(-1, False), (0, False), (4, False), (5, True), (90, True)]
)
def test_a_retry_is_spent_where_the_node_was_tagged_before(
    seconds: int, spends_retry: bool
) -> None:
    bound = format_time(START + timedelta(seconds=seconds))
    free = gpu_pod("free")
    assert found(free, gpu_pod("late", bound=bound)) == evacuation(
        f"{PLACE}pods free, late use {GPU}", spends_retry=spends_retry
    )


PERIOD = timedelta(hours=12)


def latched_nodes() -> NodeIndex:
    """n1 was EVICT for an hour, from START on."""
    nodes = node_builders.latching_index(START, PERIOD, n1="EVICT")
    well = node_builders.change(node_builders.node("n1", "EVICT"), node_builders.node("n1"))
    nodes.update(well, START + timedelta(hours=1))
    return nodes


def test_a_latched_node_is_left_as_if_the_label_were_there() -> None:
    place = "node n1 (autopilot.ibm.com/gpuhealth=EVICT, latched): "
    assert found(gpu_pod("a"), nodes=latched_nodes()) == evacuation(f"{place}pod a uses {GPU}")


@pytest.mark.parametrize(
    ("after", "spends_retry"),
    [
        (timedelta(seconds=4), False),
        (timedelta(seconds=5), True),  # the label was there
        (timedelta(hours=2), True),  # it was gone, and the node latched
    ],
)
def test_a_retry_is_spent_where_the_node_was_tagged_or_latched_before(
    after: timedelta, spends_retry: bool
) -> None:
    pod = gpu_pod("a", bound=format_time(START + after))
    driven = found(pod, nodes=latched_nodes())
    assert driven is not None
    assert driven.spends_retry is spends_retry


TOPOLOGIES = ["", "appwrapper-train-1a2b3"]


def observed(nodes: NodeIndex, pod: Pod, workload: str) -> Evacuation | None:
    """Under a topology, if Kueue assigned the nodes in `workload`."""
    snapshot = Snapshot(phase=Phase.RUNNING, topology_workload=workload)
    item = gathering.appwrapper("Running")
    running = Observation(AppWrapper(item), snapshot, FaultTolerance())
    reads = Reads(running, gathering.NOW, pods=[pod], nodes=nodes.tags)
    return observe(reads).snapshot.evacuation


@pytest.mark.parametrize("workload", TOPOLOGIES)
def test_under_a_topology_a_latch_evacuates_no_pod(workload: str) -> None:
    """Kueue would assign the node again, and each move would spend a retry."""
    evacuated = observed(latched_nodes(), gpu_pod("a"), workload)
    assert (evacuated is None) is bool(workload)


@pytest.mark.parametrize("workload", TOPOLOGIES)
def test_a_node_that_is_assigned_again_and_again_is_left_once_without_a_retry(
    workload: str,
) -> None:
    """Kueue may assign it again if the stored template does not avoid the label."""
    nodes = node_builders.latching_index(START, PERIOD, n1="EVICT")
    attempts = [timedelta(seconds=-60), timedelta(seconds=20), timedelta(hours=1)]
    pods = [gpu_pod("a", bound=format_time(START + bound)) for bound in attempts]
    evacuated = [observed(nodes, pod, workload) for pod in pods]
    assert [each and each.spends_retry for each in evacuated] == [False, True, True]


def test_a_pod_whose_place_has_no_time_spends_no_retry() -> None:
    assert found(gpu_pod("a", bound="")) == evacuation(f"{PLACE}pod a uses {GPU}")


def test_it_counts_since_the_first_of_the_labels() -> None:
    nodes = node_builders.index(START, n1="", n2="EVICT", n3="EVICT")
    well, bad = node_builders.node("n1"), node_builders.node("n1", "EVICT")
    nodes.update(node_builders.change(well, bad), START + timedelta(minutes=1))
    both = found(gpu_pod("a"), gpu_pod("b", node="n2"), nodes=nodes)
    late = found(gpu_pod("a"), nodes=nodes)
    assert [each and each.since for each in (both, late)] == [START, START + timedelta(minutes=1)]


@pytest.mark.parametrize(("terminal", "goes"), [(None, True), (Terminal.SUCCEEDED, False)])
def test_stragglers_of_a_succeeded_component_are_not_evacuated(
    terminal: Terminal | None, goes: bool
) -> None:
    ended = Component(
        name="prepare",
        kind="Job",
        presence=Presence.PRESENT,
        expected_pods=1,
        reports=True,
        terminal=terminal,
    )
    other = replace(ended, name="train", terminal=None)
    pods = [gpu_pod("straggler", component=0), gpu_pod("other", component=1, node="ok")]
    nodes = node_builders.index(START, n1="EVICT", ok="")
    assert (find_evacuation(pods, membership(ended, other), nodes.tags) is not None) is goes


def test_a_helper_must_go_too() -> None:
    helper = Component(name="board", kind="Deployment", presence=Presence.PRESENT, helper=True)
    nodes = node_builders.index(START, n1="EVICT")
    assert find_evacuation([gpu_pod("a", component=0)], membership(helper), nodes.tags) is not None


def test_pods_that_use_the_resource_are_named_by_priority() -> None:
    pods = [
        gpu_pod("a", appwrapper="low", priority=1),
        gpu_pod("b", appwrapper="negative", priority=-5),
        gpu_pod("c", appwrapper="high", priority=2),
        gpu_pod("d", appwrapper="high", priority=1000),
        gpu_pod("z", appwrapper="high", priority=2),
        gpu_pod("e", appwrapper="middle", priority=10),
        gpu_pod("f", appwrapper="middle", namespace="a-team", priority=10),
        gpu_pod("g", appwrapper="cpu-only", resources=("cpu",), priority=5000),
        gpu_pod("h", "Pending", appwrapper="pending"),
        gpu_pod("i", "Succeeded", appwrapper="ended"),
        gpu_pod("j", appwrapper="going", deleting=True),
    ]
    assert users((pod, {GPU}) for pod in pods) == [
        ("team1", "high"),
        ("a-team", "middle"),
        ("team1", "middle"),
        ("team1", "low"),
        ("team1", "negative"),
    ]
    assert users((pod, {"example.com/nic"}) for pod in pods) == []
