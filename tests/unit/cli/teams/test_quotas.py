"""Quotas: how they are written, what they add up to, and what the nodes have."""

from decimal import Decimal

import pytest

from cli.teams.quotas import (
    CapacityRow,
    QuotaError,
    capacities,
    capacity_rows,
    parsed_quotas,
    summed,
)
from shared.api.objects import JsonObject
from tests.support.builders.autopilot import HEALTH
from tests.support.builders.effective_quotas import orchestrated
from tests.support.builders.nodes import TAINTS, raw_node
from tests.support.builders.slack import raw_flavor
from tests.support.builders.teams import GPU

FLAVOR = "default-flavor"


def queue(name: str, **quotas: JsonObject) -> JsonObject:
    """Of GPUs, by flavor (`_` stands for `-`)."""
    flavors = [
        {"name": flavor.replace("_", "-"), "resources": [{"name": GPU, **quota}]}
        for flavor, quota in quotas.items()
    ]
    groups = [{"coveredResources": [GPU], "flavors": flavors}]
    return {"metadata": {"name": name}, "spec": {"resourceGroups": groups}}


def test_quotas_keep_their_order_and_their_writing() -> None:
    assert [*parsed_quotas([f"{GPU}=64", "cpu=0.5", "memory=1Ti"]).items()] == [
        (GPU, "64"),
        ("cpu", "0.5"),
        ("memory", "1Ti"),
    ]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (["cpu"], "--quota cpu: write RESOURCE=AMOUNT, as nvidia.com/gpu=64"),
        (["=3"], "--quota =3: write RESOURCE=AMOUNT, as nvidia.com/gpu=64"),
        (["c pu=3"], "--quota c pu=3: write RESOURCE=AMOUNT, as nvidia.com/gpu=64"),
        (["cpu=many"], "--quota cpu=many: 'many' is not a quantity such as 8, 500m or 16Gi"),
        (["cpu=-1"], "--quota cpu=-1: a quota cannot be less than 0"),
        (["cpu=1", "cpu=2"], "--quota names cpu twice"),
    ],
)
def test_a_malformed_quota_is_refused(written: list[str], message: str) -> None:
    with pytest.raises(QuotaError) as raised:
        parsed_quotas(written)
    assert str(raised.value) == message


def test_all_queues_are_added_up_and_the_slack_queue_counts_with_what_it_lends() -> None:
    slack = {"nominalQuota": "8", "lendingLimit": "3"}
    queues = [
        queue("a", default_flavor={"nominalQuota": "2k"}, other={"nominalQuota": 1}),
        queue("b", default_flavor={"nominalQuota": 24, "lendingLimit": 0}),
        queue("slack", default_flavor=slack),
    ]
    assert summed(queues, "slack") == {(FLAVOR, GPU): 2027, ("other", GPU): 1}
    assert summed(queues, "") == {(FLAVOR, GPU): 2032, ("other", GPU): 1}
    assert summed([queue("slack", default_flavor={"nominalQuota": 8})], "slack") == {
        (FLAVOR, GPU): 8
    }


def test_the_sum_is_of_what_admins_wrote() -> None:
    """The command writes the spec; an orchestrator then distributes the capacity by it."""
    written, effective = (queue("a", default_flavor={"nominalQuota": n}) for n in (8, 24))
    assert summed([orchestrated(written, of=effective)], "slack") == {(FLAVOR, GPU): 8}


def test_capacity_is_what_pods_can_have_of_the_flavors_nodes() -> None:
    cordoned = raw_node("b", spec={"unschedulable": True})
    nodes = [raw_node("a"), cordoned, raw_node("c", "EVICT"), raw_node("d", "WARN")]
    keys = [("all", GPU), ("all", "cpu"), ("bad", GPU), ("none", GPU), ("unknown", GPU)]
    flavors = {
        "all": raw_flavor("all"),
        "bad": raw_flavor("bad", {HEALTH: "EVICT"}),
        "none": raw_flavor("none", {"kind": "other"}),
    }
    expected = {
        ("all", GPU): (Decimal(16), Decimal(8)),
        ("all", "cpu"): (Decimal(160), Decimal(80)),
        ("bad", GPU): (Decimal(0), Decimal(8)),
        ("none", GPU): (Decimal(0), Decimal(0)),
    }
    assert capacities(keys, flavors, nodes, TAINTS) == expected


def test_a_row_shows_whether_the_quota_exceeds_the_capacity() -> None:
    def row(before: int, after: int, schedulable: int | None) -> CapacityRow:
        key = (FLAVOR, GPU)
        known = None if schedulable is None else {key: (Decimal(schedulable), Decimal(0))}
        (found,) = capacity_rows([key, key], {key: Decimal(before)}, {key: Decimal(after)}, known)
        return found

    facts = [
        (each.is_exceeded, each.is_raised)
        for each in (row(8, 16, 16), row(8, 17, 16), row(17, 17, 16), row(8, 17, None))
    ]
    assert facts == [(False, True), (True, True), (True, False), (False, True)]
