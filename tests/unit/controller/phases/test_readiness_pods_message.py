"""The message of PodsReady while pods do not run: what it says, and how often it is written."""

from dataclasses import replace

import pytest

from controller.phases.actions import Reason
from controller.phases.snapshot import ConditionText, PodCounts, Timers
from tests.support.fakes.virtual_life import ALL_RUN, START, VirtualLife

GPUS = "8 Insufficient nvidia.com/gpu"
HELD_UP = PodCounts(expected=4, running=3, pending=1, rejected=f"train-0: {GPUS}")
NEWS = Reason.INSUFFICIENT_PODS_READY


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        (PodCounts(expected=2, pending=2), "0 of 2 pods run"),
        (PodCounts(expected=2), "0 of 2 pods run; 0 exist"),
        (HELD_UP, f"3 of 4 pods run; train-0: {GPUS}"),
        (
            replace(HELD_UP, too_large="a requests 16 nvidia.com/gpu"),
            f"3 of 4 pods run; a requests 16 nvidia.com/gpu; train-0: {GPUS}",
        ),
        (
            PodCounts(expected=4, succeeded=1, running=1, pending=2, unstable=2),
            "2 of 4 pods run or succeeded; 2 pods crash again and again",
        ),
        (
            PodCounts(expected=4, deferred=2, running=1, pending=1),
            "1 of 4 pods run (2 are wanted so far)",
        ),
    ],
)
def test_it_counts_and_quotes(pods: PodCounts, message: str) -> None:
    life = VirtualLife()
    life.look(pods=pods)
    assert life.reported("PodsReady") == (False, NEWS, message)


def test_pods_that_take_their_time_are_counted_once_in_a_while() -> None:
    starting = PodCounts(expected=2, pending=2, ignored_by_scheduler="a: scheduling gate g")
    resuming = {"PodsReady": ConditionText(Reason.RESUMING)}
    life = VirtualLife(
        conditions=frozenset({"QuotaReserved", "ResourcesDeployed"}),
        condition_texts=resuming,
        timers=Timers(admission=START, warmup=START),
    )
    life.look(pods=starting)
    life.wait(29)
    assert life.reported("PodsReady")[2] == ""
    life.wait(1)
    message = "0 of 2 pods run; a: scheduling gate g"
    assert life.reported("PodsReady") == (False, Reason.RESUMING, message)
    life.look(pods=replace(starting, running=1, pending=1, ignored_by_scheduler=""))
    life.wait(119)
    assert life.reported("PodsReady")[2] == message
    life.wait(1)
    assert life.reported("PodsReady")[2] == "1 of 2 pods run"


def test_a_request_that_no_node_can_hold_is_reported_at_once() -> None:
    life = VirtualLife(
        conditions=frozenset({"QuotaReserved", "ResourcesDeployed"}),
        condition_texts={"PodsReady": ConditionText(Reason.RESUMING)},
        timers=Timers(admission=START, warmup=START),
    )
    life.look(pods=replace(HELD_UP, too_large="a requests 16 nvidia.com/gpu"))
    message = f"3 of 4 pods run; a requests 16 nvidia.com/gpu; train-0: {GPUS}"
    assert life.reported("PodsReady") == (False, Reason.RESUMING, message)


def test_another_reason_is_written_after_ten_seconds_and_another_count_after_two_minutes() -> None:
    life = VirtualLife()
    life.look(pods=HELD_UP)
    other = replace(HELD_UP, rejected="train-0: 8 node(s) had untolerated taint")
    life.wait(9)
    life.look(pods=other)
    assert life.reported("PodsReady") == (False, NEWS, f"3 of 4 pods run; train-0: {GPUS}")
    life.wait(1)
    assert life.reported("PodsReady") == (False, NEWS, f"3 of 4 pods run; {other.rejected}")
    fewer = replace(other, running=2, pending=2)
    life.look(pods=fewer)
    life.wait(119)
    assert life.reported("PodsReady") == (False, NEWS, f"3 of 4 pods run; {other.rejected}")
    life.wait(1)
    assert life.reported("PodsReady") == (False, NEWS, f"2 of 4 pods run; {other.rejected}")


def test_a_thousand_pods_that_start_are_no_write_each() -> None:
    life = VirtualLife(pods=PodCounts(expected=1000, running=1000))
    life.look(pods=PodCounts(expected=1000, pending=1000))
    before = life.writes
    for started in range(100):
        life.look(pods=PodCounts(expected=1000, running=10 * started, pending=1000 - 10 * started))
        life.wait(1)
    assert life.writes == before
    life.look(pods=PodCounts(expected=1000, running=1000))
    assert "PodsReady" in life.conditions


def test_once_all_run_nothing_is_quoted() -> None:
    life = VirtualLife()
    life.look(pods=HELD_UP)
    life.look(pods=ALL_RUN)
    assert life.reported("PodsReady") == (True, Reason.SUFFICIENT_PODS_READY, "")
