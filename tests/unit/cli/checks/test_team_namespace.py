"""The report about a team: the quota that it may still borrow, and its queues."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from cli.checks.report import Observed
from cli.checks.team_namespace import NamespaceReport, namespace_report
from cli.cluster.kueue import local_queue_of
from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig
from tests.support.builders.queues import FLAVOR, GPU, cluster_queue, local_queue

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def report(*queues: JsonObject) -> NamespaceReport:
    """The report about team1, whose LocalQueue feeds the first queue."""
    seen = Observed(
        config=AppWrapperConfig(),
        nodes=None,
        cluster_queues=tuple(queues),
        local_queues=(local_queue_of(local_queue("team1", queues[0]["metadata"]["name"])),),
        workloads=(),
        pods=None,
        default_priority=5,
        tolerations=(),
    )
    return namespace_report(seen, "team1", NOW)


@pytest.mark.parametrize(
    ("own", "others", "free", "borrowable"),
    [
        pytest.param((8, 0), [(8, 0)], 8, 8, id="all of both"),
        pytest.param((8, 8), [(8, 3)], 0, 5, id="what the other does not use"),
        pytest.param((8, 12, 4), [(8, 0)], 0, 4, id="less what we have borrowed"),
        pytest.param((8, 8), [(8, 0), (8, 14, 6)], 0, 2, id="less what a third has borrowed"),
        pytest.param((8, 8), [(8, 9, 1)], 0, 0, id="who borrows has nothing to lend"),
        pytest.param((8, 0), [(8, 12, 4)], 8, 0, id="what the other has borrowed is not lent"),
    ],
)
def test_free_and_borrowable(
    own: tuple[int, ...], others: list[tuple[int, ...]], free: int, borrowable: int
) -> None:
    def queue(name: str, gpus: int, used: int, borrowed: int = 0) -> JsonObject:
        return cluster_queue(name, gpus, used, borrowed=borrowed)

    found = report(
        queue("own", *own), *(queue(f"q{index}", *each) for index, each in enumerate(others))
    )
    (line,) = found.quotas
    assert (line.free, line.borrowable) == (Decimal(free), Decimal(borrowable))


def test_limits_of_lender_and_borrower() -> None:
    lender = cluster_queue("lender", 8, lendingLimit=3)
    assert report(cluster_queue("own", 8), lender).quotas[0].borrowable == 3
    limited = cluster_queue("own", 8, 9, borrowed=1, borrowingLimit=2)
    assert report(limited, lender).quotas[0].borrowable == 1


def test_reserved_quota_is_not_lent() -> None:
    lender = cluster_queue("lender", 8)
    reserved = {"name": GPU, "total": "6"}
    lender["status"]["flavorsReservation"] = [{"name": FLAVOR, "resources": [reserved]}]
    assert report(cluster_queue("own", 8), lender).quotas[0].borrowable == 2


@pytest.mark.parametrize("cohort", ["", "another"])
def test_only_queues_of_one_cohort_lend_each_other(cohort: str) -> None:
    own = cluster_queue("own", 8, cohort=cohort)
    assert report(own, cluster_queue("other", 8)).quotas[0].borrowable == 0


def test_a_held_queue_is_reported() -> None:
    found = report(cluster_queue("own", 8, active="it is held"))
    assert [each.line for each in found.findings] == [
        "ClusterQueue own: it admits nothing: it is held"
    ]
