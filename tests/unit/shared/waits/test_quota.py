"""What of a ClusterQueue is free, with what its cohort lends; and what can never fit."""

from decimal import Decimal

import pytest

from shared.api.objects import JsonObject
from shared.waits.quota import Cohort, Demand, demands, flavor_quotas, largest_by_node, offered
from shared.waits.workload import PodSetAsk
from tests.support.builders.effective_quotas import orchestrated
from tests.support.builders.explained.objects import cluster_queue, node

GPU = "nvidia.com/gpu"


def gpus(queue: JsonObject, *others: JsonObject, own: JsonObject | None = None) -> tuple[int, int]:
    """How many are free, and how many one workload can have at most."""
    members = (queue, *others) if "cohortName" in queue["spec"] else ()
    found = flavor_quotas(queue, Cohort("c", members, own or {}))
    (line,) = [each for each in found if each.resource == GPU]
    return int(line.free), int(line.most)


def queue(used: int, quota: int = 64, name: str = "a", **limits: str) -> JsonObject:
    return cluster_queue({GPU: f"{used}"}, gpus=quota, name=name, cohort="c", limits=limits)


def test_alone_it_has_what_it_does_not_use() -> None:
    assert gpus(cluster_queue({GPU: "60"})) == (4, 64)


def test_a_lowered_quota_leaves_at_least_zero() -> None:
    assert gpus(cluster_queue({GPU: "70"})) == (0, 64)


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (queue(60), queue(0, 32, "b"), (36, 96)),
        (queue(80), queue(0, 32, "b"), (16, 96)),  # it borrows 16 already
        (queue(60), queue(50, 32, "b"), (0, 96)),  # the other borrows 18, of the 4 that are left
        (queue(60, borrowingLimit="8"), queue(0, 32, "b"), (12, 72)),
        (queue(60, borrowingLimit="0"), queue(0, 32, "b"), (4, 64)),
        (queue(60), queue(0, 32, "b", lendingLimit="10"), (14, 74)),
        (queue(60), queue(22, 32, "b", lendingLimit="10"), (14, 74)),  # it uses what it keeps
        (queue(60), queue(27, 32, "b", lendingLimit="10"), (9, 74)),
        (queue(10, lendingLimit="0"), queue(32, 32, "b"), (54, 96)),  # nobody can take its own
    ],
)
def test_quota_that_a_cohort_lends(
    own: JsonObject, other: JsonObject, expected: tuple[int, int]
) -> None:
    assert gpus(own, other) == expected


def test_a_cohort_may_have_quota_of_its_own() -> None:
    group = queue(0, 100)["spec"]["resourceGroups"]
    assert gpus(queue(60), own={"spec": {"resourceGroups": group}}) == (104, 164)


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (orchestrated(queue(60), of=queue(0, 80)), queue(0, 32, "b"), (52, 112)),
        (queue(60), orchestrated(queue(0, 32, "b"), of=queue(0, 8, "b")), (12, 72)),
        (queue(60), orchestrated(queue(0, 32, "b", lendingLimit="1"), of=queue(0)), (68, 128)),
        (queue(60), orchestrated(queue(0, 32, "b")), (4, 64)),
    ],
    ids=["own", "another's", "with its limits", "empty"],
)
def test_effective_quotas_replace_those_of_the_spec(
    own: JsonObject, other: JsonObject, expected: tuple[int, int]
) -> None:
    assert gpus(own, other) == expected


def test_a_cohort_may_have_an_effective_quota() -> None:
    cohort = {"spec": {"resourceGroups": queue(0, 100)["spec"]["resourceGroups"]}}
    assert gpus(queue(60), own=orchestrated(cohort, of=queue(0, 10))) == (14, 74)


def test_an_empty_effective_quota_covers_nothing() -> None:
    assert flavor_quotas(orchestrated(queue(0)), Cohort()) == ()


def ask(gpus: int, pods: int = 1) -> PodSetAsk:
    return PodSetAsk("main", pods, {GPU: Decimal(gpus)})


def demand_of(*asks: PodSetAsk, used: int = 60) -> Demand:
    found = demands(asks, flavor_quotas(cluster_queue({GPU: f"{used}"}), Cohort()))
    (gpu,) = [each for each in found if each.resource == GPU]
    return gpu


@pytest.mark.parametrize(
    ("asks", "is_short", "never_fits"),
    [
        ((ask(4),), False, False),
        ((ask(5),), True, False),
        ((ask(8, 8),), True, False),
        ((ask(8, 8), ask(1)), True, True),
        ((ask(2), ask(2)), False, False),
    ],
)
def test_missing_quota_and_requests_that_never_fit(
    asks: tuple[PodSetAsk, ...], is_short: bool, never_fits: bool
) -> None:
    found = demand_of(*asks)
    assert (found.is_short, found.never_fits) == (is_short, never_fits)


def test_a_pod_set_needs_one_flavor_for_all_of_its_pods() -> None:
    two = cluster_queue({})
    (flavor,) = two["spec"]["resourceGroups"][0]["flavors"]
    two["spec"]["resourceGroups"][0]["flavors"] = [flavor, {**flavor, "name": "other"}]
    quotas = flavor_quotas(two, Cohort())
    (fits,) = [each for each in demands([ask(60), ask(60)], quotas) if each.resource == GPU]
    (large,) = [each for each in demands([ask(65)], quotas) if each.resource == GPU]
    assert (fits.never_fits, large.never_fits) == (False, True)


def test_a_resource_that_the_queue_lacks_has_no_flavor() -> None:
    asks = [PodSetAsk("main", 1, {"amd.com/gpu": Decimal(1)})]
    found = demands(asks, flavor_quotas(cluster_queue(), Cohort()))
    assert [(each.resource, each.flavors, each.never_fits) for each in found] == [
        ("amd.com/gpu", (), True)
    ]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (ask(8), ""),
        (ask(9), f"one of its pods asks for 9 {GPU}, and the largest node has 8"),
        (ask(9, pods=0), ""),
    ],
)
def test_requests_that_no_node_can_hold(asked: PodSetAsk, expected: str) -> None:
    assert largest_by_node([offered(node("a", 4)), offered(node("b", 8))], [asked]) == expected


def test_a_cluster_may_have_no_node_with_gpus_yet() -> None:
    expected = f"one of its pods asks for 1 {GPU}, and no node has any"
    plain = {"metadata": {"name": "plain"}, "status": {"allocatable": {"cpu": "8"}}}
    assert largest_by_node([offered(plain)], [ask(1)]) == expected


def test_each_resource_may_be_there_and_not_together() -> None:
    wide = {"metadata": {"name": "wide"}, "status": {"allocatable": {"cpu": "200"}}}
    asked = PodSetAsk("main", 1, {GPU: Decimal(8), "cpu": Decimal(200)})
    expected = "no node has all that one of its pods asks for"
    assert largest_by_node([offered(node("a", 8)), offered(wide)], [asked]) == expected
