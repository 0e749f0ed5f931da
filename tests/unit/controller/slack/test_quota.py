"""How much the slack queue may lend: the table of reference/mlbatch.md, section 4, and beyond."""

from decimal import Decimal
from typing import Any

import pytest

from controller.facts.nodes import Node
from controller.slack.quota import NodeFlavor, schedulable, stored_queue
from shared.api.objects import JsonObject
from tests.support.builders.autopilot import GPU
from tests.support.builders.effective_quotas import orchestrated
from tests.support.builders.slack import (
    FLAVOR,
    SLACK,
    flavor,
    gpu_queue,
    index_of,
    labelled_node,
    raw_queue,
    rows_of,
)

TEAMS = (gpu_queue("code", 8), gpu_queue("platform", 8))
OUT_OF_REACH = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}
NOT_READY = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
DEDICATED = {"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}
CORDONED = {"unschedulable": True}


def lends(*nodes: Node, slack: int = 8) -> tuple[int, int]:
    """What the slack queue should lend beside two teams of 8, and the excess."""
    [found] = rows_of([*TEAMS, gpu_queue(SLACK, slack)], nodes)
    return int(found.lendable), int(found.excess)


def three(*, third: Node | None) -> list[Node]:
    """The seeds' example: 24 GPUs."""
    whole = [labelled_node("n1"), labelled_node("n2")]
    return whole if third is None else [*whole, third]


@pytest.mark.parametrize(
    ("third", "expected"),
    [
        pytest.param(labelled_node("n3"), 8, id="all is well"),
        pytest.param(labelled_node("n3", spec=CORDONED), 0, id="cordoned"),
        pytest.param(labelled_node("n3", spec=NOT_READY), 0, id="not ready"),
        pytest.param(labelled_node("n3", spec=OUT_OF_REACH), 0, id="unreachable"),
        pytest.param(labelled_node("n3", "EVICT"), 0, id="NoExecute label"),
        pytest.param(labelled_node("n3", "ERR"), 0, id="NoSchedule label"),
        pytest.param(labelled_node("n3", "TESTING"), 0, id="under test"),
        pytest.param(labelled_node("n3", "WARN"), 8, id="PreferNoSchedule label"),
        pytest.param(labelled_node("n3", "PASS"), 8, id="a good label"),
        pytest.param(None, 0, id="deleted: it counts as lost"),
        pytest.param(labelled_node("n3", allocatable={GPU: "5"}), 5, id="three GPUs are lost"),
        pytest.param(labelled_node("n3", allocatable={GPU: "0"}), 0, id="all its GPUs are lost"),
        pytest.param(labelled_node("n3", allocatable={"cpu": "80"}), 0, id="no device plugin"),
        pytest.param(labelled_node("n3", spec=DEDICATED), 8, id="an admin's own taint"),
        pytest.param(
            labelled_node("n3", spec=CORDONED, allocatable={"cpu": "80"}, capacity={"cpu": "80"}),
            0,
            id="without GPUs, cordoned: changes nothing about GPUs",
        ),
    ],
)
def test_two_teams_of_8_a_slack_of_8_and_24_gpus(third: Node | None, expected: int) -> None:
    assert lends(*three(third=third)) == (expected, 0)


def test_more_nodes_than_quota_lend_no_more_than_the_nominal_quota() -> None:
    assert lends(*(labelled_node(f"n{n}") for n in range(5))) == (8, 0)


def test_if_more_is_lost_than_the_slack_the_limit_is_0_and_the_excess_is_reported() -> None:
    assert lends(labelled_node("n1"), labelled_node("n2", allocatable={GPU: "3"})) == (0, 5)
    assert lends() == (0, 16)


def test_running_pods_change_nothing() -> None:
    """Only allocatable counts: what pods use of it, batch or not, is no loss."""
    [found] = rows_of([*TEAMS, gpu_queue(SLACK, 8, "3")], three(third=labelled_node("n3")))
    assert [int(found.lendable), int(found.quota.lends)] == [8, 3]


def test_a_cordoned_node_without_gpus_counts_for_what_the_queue_names() -> None:
    """Its CPUs are no batch capacity either way: neither before nor after the cordon."""
    amounts = {"cpu": "80"}
    queues = [
        raw_queue("team", {FLAVOR: {"cpu": 160}}),
        raw_queue(SLACK, {FLAVOR: {"cpu": 80}}),
    ]
    nodes = [labelled_node(f"n{n}", allocatable=amounts) for n in range(3)]
    [before] = rows_of(queues, nodes)
    cordoned = labelled_node("n2", allocatable=amounts, spec=CORDONED)
    [after] = rows_of(queues, [*nodes[:2], cordoned])
    assert [int(before.lendable), int(after.lendable)] == [80, 0]


def test_every_flavor_and_resource_group_has_its_own_sum() -> None:
    gpus = {"a100": {GPU: 8}, "h100": {GPU: 4}}
    others = {"a100": {GPU: 8}, "h100": {GPU: 16}}
    cpus = {"any": {"cpu": "90500m", "memory": "1Ti"}}
    queues = [
        raw_queue("team", others, {"any": {"cpu": 150, "memory": "1Gi"}}),
        raw_queue(SLACK, gpus, cpus),
    ]
    flavors = [flavor("a100", gpu="a100"), flavor("h100", gpu="h100"), flavor("any", pool="batch")]
    cpu_node = {"cpu": "240500m", "memory": "512Gi"}
    nodes = [
        labelled_node("n1", labels={"gpu": "a100"}),
        labelled_node("n2", labels={"gpu": "a100"}, allocatable={GPU: "6"}),
        labelled_node("n3", labels={"gpu": "h100"}),
        labelled_node("n4", labels={"pool": "batch"}, allocatable=cpu_node),
        labelled_node("n5", labels={"pool": "other"}),
    ]
    found = rows_of(queues, nodes, flavors)
    assert {each.key: (each.lendable, each.excess) for each in found} == {
        ("a100", GPU): (Decimal(6), Decimal(0)),
        ("h100", GPU): (Decimal(0), Decimal(8)),
        ("any", "cpu"): (Decimal("90.5"), Decimal(0)),
        ("any", "memory"): (Decimal(511 << 30), Decimal(0)),
    }
    assert [each.quota.path for each in found] == [
        "/spec/resourceGroups/0/flavors/0/resources/0",
        "/spec/resourceGroups/0/flavors/1/resources/0",
        "/spec/resourceGroups/1/flavors/0/resources/0",
        "/spec/resourceGroups/1/flavors/0/resources/1",
    ]


@pytest.mark.parametrize(
    ("team", "slack", "expected"),
    [
        (orchestrated(gpu_queue("team", 16), of=gpu_queue("", 20)), gpu_queue(SLACK, 8), 4),
        (orchestrated(gpu_queue("team", 16)), gpu_queue(SLACK, 8), 8),
        (gpu_queue("team", 16), orchestrated(gpu_queue(SLACK, 8), of=gpu_queue("", 6)), 6),
        (gpu_queue("team", 16), orchestrated(gpu_queue(SLACK, 2), of=gpu_queue("", 8)), 8),
        (gpu_queue("team", 16), orchestrated(gpu_queue(SLACK, 2), of=gpu_queue("", 9)), 2),
        (gpu_queue("team", 16), orchestrated(gpu_queue(SLACK, 8)), 0),
    ],
    ids=[
        "a team's",
        "a team has none",
        "the slack queue has less",
        "it has more, and may lend all: no limit",
        "it has more than is free: Kueue accepts no limit above the spec's nominal quota",
        "the slack queue has none",
    ],
)
def test_effective_quotas_count_where_kueue_schedules_by_them(
    team: JsonObject, slack: JsonObject, expected: int
) -> None:
    [found] = rows_of([team, slack], three(third=labelled_node("n3")))
    assert int(found.lendable) == expected


def test_an_effective_quota_below_the_limit_is_all_that_the_slack_queue_lends() -> None:
    slack = orchestrated(gpu_queue(SLACK, 8, "7"), of=gpu_queue("", 6))
    [found] = rows_of([gpu_queue("team", 16), slack], three(third=labelled_node("n3")))
    assert (found.quota.lends, found.quota.lending_limit) == (Decimal(6), Decimal(7))


def test_a_queue_without_quotas_has_no_rows() -> None:
    assert rows_of([raw_queue(SLACK)], [labelled_node("n1")]) == ()


@pytest.mark.parametrize(
    ("labels", "belongs"),
    [
        ({}, "any"),
        ({"gpu": "a100"}, "a100"),
        ({"gpu": "a100", "zone": "z1"}, "a100-z1"),
        ({"zone": "z1"}, "any"),
        ({"gpu": "a100", "rack": "r1"}, "a100-r1"),
        ({"gpu": "a100", "zone": "z1", "rack": "r1"}, "a100-r1"),  # of two the first by name
    ],
)
def test_a_node_belongs_to_the_flavor_with_the_most_matching_labels(
    labels: dict[str, str], belongs: str
) -> None:
    flavors = [
        flavor("any"),
        flavor("a100", gpu="a100"),
        flavor("a100-z1", gpu="a100", zone="z1"),
        flavor("a100-r1", gpu="a100", rack="r1"),
    ]
    for ordered in (flavors, flavors[::-1]):
        index = index_of([labelled_node("n1", labels=labels)])
        assert schedulable(index.shares(), ordered) == {(belongs, "cpu"): 80, (belongs, GPU): 8}


@pytest.mark.parametrize("flavors", [[], [flavor("gpu", gpu="yes")]], ids=["none", "another"])
def test_a_node_of_no_flavor_is_no_capacity(flavors: list[NodeFlavor]) -> None:
    assert schedulable(index_of([labelled_node("n1")]).shares(), flavors) == {}


@pytest.mark.parametrize("cohort", ["one", ""])
def test_a_cluster_queue_of_the_api_server_is_read(cohort: str) -> None:
    found = stored_queue(gpu_queue(SLACK, 8, "500m", cohort=cohort))
    assert (found.api_version, found.cohort) == ("kueue.x-k8s.io/v1beta2", cohort)
    assert [(each.key, each.nominal, each.lending_limit) for each in found.quotas] == [
        ((FLAVOR, GPU), Decimal(8), Decimal("0.5"))
    ]


def test_who_owns_the_quotas_is_known_but_for_the_controller_itself() -> None:
    assert stored_queue(gpu_queue(SLACK, 8)).is_edited
    assert not stored_queue(gpu_queue(SLACK, 8, manager="appwrapper-slack-quota")).is_edited


def test_a_quota_beyond_all_bounds_is_never_too_small() -> None:
    queues = [gpu_queue("team", 0), gpu_queue(SLACK, 8)]
    absurd: Any = queues[0]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    absurd["nominalQuota"] = "1e5000"
    [found] = rows_of(queues, [labelled_node("n1")])
    assert (found.lendable, found.excess) == (Decimal(0), Decimal(2**63 - 1 - 8))
