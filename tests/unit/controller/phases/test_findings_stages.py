"""A component that makes its pods in stages: no period runs while it has all that it wants."""

from datetime import timedelta

import pytest

from controller.phases.findings import too_few_exist, too_few_run
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, PodCounts, Snapshot
from tests.support.decisions import CONFIG
from tests.support.fakes.virtual_life import ALL_RUN, START, VirtualLife

FLAP = CONFIG.flap_period.total_seconds()
FIRST = PodCounts(expected=4, deferred=3, staged=True, running=1)
FIRST_WAITS = PodCounts(expected=4, deferred=3, staged=True, pending=1)
SECOND_LACKS = PodCounts(expected=4, deferred=2, staged=True, running=1)
SECOND_WAITS = PodCounts(expected=4, deferred=2, staged=True, running=1, pending=1)
SECOND = PodCounts(expected=4, deferred=2, staged=True, running=2)
HOUR = 3600.0


def test_a_complete_stage_waits_for_hours_and_is_not_ready() -> None:
    life = VirtualLife()
    life.look(pods=FIRST)
    assert "PodsReady" not in life.conditions
    assert life.snapshot.timers.warmup is None, "no period runs"
    writes = life.writes
    life.wait(5 * HOUR)
    assert life.phase is Phase.RUNNING
    assert "Unhealthy" not in life.conditions
    assert life.writes == writes
    life.look(pods=ALL_RUN)
    assert "PodsReady" in life.conditions


@pytest.mark.parametrize(("seconds", "healthy"), [(59.9, True), (60.0, False)])
def test_the_next_stage_has_its_whole_admission_period(seconds: float, healthy: bool) -> None:
    life = VirtualLife()
    life.look(pods=FIRST)
    life.wait(HOUR)
    life.look(pods=SECOND_LACKS)
    assert life.snapshot.timers.admission == START + timedelta(seconds=HOUR)
    life.wait(seconds)
    assert ("Unhealthy" not in life.conditions) == healthy


@pytest.mark.parametrize(("seconds", "healthy"), [(299.9, True), (300.0, False)])
def test_the_next_stage_has_its_whole_warmup_period(seconds: float, healthy: bool) -> None:
    life = VirtualLife()
    life.look(pods=FIRST)
    life.wait(HOUR)
    life.look(pods=SECOND_WAITS)
    life.wait(seconds)
    assert ("Unhealthy" not in life.conditions) == healthy


@pytest.mark.parametrize(("seconds", "healthy"), [(299.9, True), (300.0, False)])
def test_the_first_stage_has_its_period_too(seconds: float, healthy: bool) -> None:
    life = VirtualLife()
    life.look(pods=FIRST_WAITS)
    life.wait(seconds)
    assert ("Unhealthy" not in life.conditions) == healthy


def test_stages_that_follow_each_other_cost_few_writes() -> None:
    life = VirtualLife()
    for second in range(300):
        life.look(pods=(FIRST, SECOND_LACKS, SECOND_WAITS, SECOND)[second % 4])
        life.wait(1)
    assert life.phase is Phase.RUNNING
    assert "Unhealthy" not in life.conditions
    assert life.writes <= 10


def test_a_stage_that_never_begins_is_unhealthy_though_it_was_reported_late() -> None:
    life = VirtualLife()
    life.look(pods=FIRST)
    life.look(pods=SECOND_LACKS)
    life.wait(FLAP + 59.9)
    assert "Unhealthy" not in life.conditions
    life.wait(0.1)
    assert "Unhealthy" in life.conditions


def test_the_message_counts_the_pods_wanted_so_far() -> None:
    hours = timedelta(hours=1)
    config = FaultTolerance(admission_grace=timedelta(0), warmup_grace=timedelta(0))
    found = [
        check(Snapshot(phase=Phase.RUNNING, pods=pods), START + hours, config)
        for check in (too_few_exist, too_few_run)
        for pods in (SECOND_LACKS, PodCounts(expected=2, running=1), FIRST)
    ]
    assert [each and each.message for each in found] == [
        "1 of the 2 pods wanted so far exist",
        "1 of 2 pods exist",
        None,
        "1 of the 2 pods wanted so far run or succeeded",
        "1 of 2 pods run or succeeded",
        None,
    ]
