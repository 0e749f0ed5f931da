"""Both of Kueue's API versions read as the same queue."""

from decimal import Decimal

import pytest

from cli.cluster.kueue import Quota, cluster_queue_of, local_queue_of
from tests.support.builders.effective_quotas import orchestrated
from tests.support.builders.queues import GPU, cluster_queue, local_queue


@pytest.mark.parametrize("cohort", ["cohort", "cohortName"])
def test_the_cohort_has_another_name_in_v1beta1(cohort: str) -> None:
    item = cluster_queue("q", 8)
    item["spec"][cohort] = item["spec"].pop("cohortName")
    assert cluster_queue_of(item).cohort == "default-cohort"


def test_all_groups_and_flavors_count_and_quantities_are_parsed() -> None:
    item = cluster_queue("q", 8, 4, borrowed=1)
    item["spec"]["resourceGroups"] += [
        {
            "flavors": [
                {"name": "a", "resources": [{"name": "cpu", "nominalQuota": "1k"}]},
                {
                    "name": "b",
                    "resources": [
                        {"name": "cpu", "nominalQuota": "500m", "lendingLimit": "250m"},
                    ],
                },
            ]
        }
    ]
    queue = cluster_queue_of(item)
    cpu, gpu = queue.total("cpu"), queue.total(GPU)
    assert (cpu.nominal, cpu.lendable) == (Decimal("1000.5"), Decimal("1000.25"))
    assert (gpu.used, gpu.borrowed) == (Decimal(4), Decimal(1))
    assert queue.of(GPU) == (
        Quota(
            flavor="default-flavor",
            resource=GPU,
            nominal=Decimal(8),
            used=Decimal(4),
            borrowed=Decimal(1),
        ),
    )
    assert queue.resources == (GPU, "cpu")


def test_effective_quotas_replace_those_of_the_spec() -> None:
    effective = cluster_queue("", 6, lendingLimit=2)
    queue = cluster_queue_of(orchestrated(cluster_queue("q", 8, 4), of=effective))
    total = queue.total(GPU)
    assert [*map(int, (total.nominal, total.lendable, total.used))] == [6, 2, 4]
    assert queue.orchestrator == "DynamicQuotaOrchestrator production-capacity"
    assert cluster_queue_of(effective).orchestrator == ""


def test_a_lending_limit_of_zero_is_a_limit() -> None:
    assert cluster_queue_of(cluster_queue("q", 8, lendingLimit=0)).total(GPU).lendable == 0
    assert cluster_queue_of(cluster_queue("q", 8)).total(GPU).lendable == 8


def test_a_queue_before_kueues_first_pass_is_neither_active_nor_inactive() -> None:
    item = cluster_queue("q", 8)
    del item["status"]
    queue = cluster_queue_of(item)
    assert (queue.admitted, queue.pending, queue.inactive) == (0, 0, "")
    assert queue.total(GPU).used == 0
    assert cluster_queue_of(cluster_queue("q", 8, active="held")).inactive == "held"


def test_a_local_queue() -> None:
    queue = local_queue_of(local_queue("team1", "team1-cluster-queue"))
    assert (queue.namespace, queue.name, queue.cluster_queue, queue.pending) == (
        "team1",
        "default-queue",
        "team1-cluster-queue",
        2,
    )
