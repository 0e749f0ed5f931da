"""When the evacuation breaker opens and closes."""

from datetime import datetime, timedelta

import pytest

from controller.fleet.breaker import Breaker, after_restart, counted, judge, to_record
from shared.config.fault_tolerance import EvacuationBreaker
from tests.support.fakes.fake_clock import START

SETTINGS = EvacuationBreaker()  # more than 20 % of at least 10 nodes within 10 minutes
MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)


def turned(*numbers: int, since: datetime = START) -> dict[str, datetime]:
    return {f"n{number}": since for number in numbers}


def at(
    breaker: Breaker, nodes: dict[str, datetime], now: datetime = START, population: int = 10
) -> Breaker:
    return judge(breaker, nodes, population, now, SETTINGS)


def opened() -> Breaker:
    return at(Breaker(), turned(1, 2, 3))


def confirmed() -> Breaker:
    return at(Breaker(START, START), turned(1, 2, 3), START + TICK)


@pytest.mark.parametrize(
    ("bad", "population", "is_open"),
    [
        (2, 10, False),  # 20 % is not more than 20 %
        (3, 10, True),
        (9, 9, False),  # a share of so few nodes shows nothing
        (200, 1000, False),
        (201, 1000, True),
        (0, 0, False),
        (0, 10, False),
    ],
)
def test_it_opens_above_a_share_of_enough_nodes(bad: int, population: int, is_open: bool) -> None:
    breaker = at(Breaker(), turned(*range(bad)), population=population)
    assert breaker == Breaker(START if is_open else None)


@pytest.mark.parametrize(
    ("after", "is_open"), [(10 * MINUTE, True), (10 * MINUTE + TICK, False)], ids=str
)
def test_only_what_turned_within_the_window_opens_it(after: timedelta, is_open: bool) -> None:
    nodes = turned(1, 2) | turned(3, since=START + after)
    breaker = at(Breaker(), nodes, START + after)
    assert breaker.opened == (START + after if is_open else None)


def test_nodes_that_turn_bad_one_by_one_over_days_never_open_it() -> None:
    breaker = Breaker()
    nodes: dict[str, datetime] = {}
    for day in range(10):
        now = START + timedelta(days=day)
        nodes |= turned(day, since=now)
        breaker = at(breaker, nodes, now)
        assert breaker == Breaker()


def test_time_alone_does_not_close_it() -> None:
    later = START + timedelta(days=30)
    breaker = at(opened(), turned(1, 2, 3), later)
    assert breaker.opened == START
    assert counted(breaker, turned(3, 2, 1), later, SETTINGS) == ["n1", "n2", "n3"]


def test_it_closes_when_the_share_has_fallen() -> None:
    later = START + timedelta(hours=1)
    assert at(opened(), turned(1, 2), later).opened is None


def test_nodes_that_turned_bad_long_ago_do_not_keep_the_breaker_open() -> None:
    old = turned(4, 5, 6, since=START - timedelta(days=4))
    breaker = at(Breaker(), turned(1, 2, 3) | old)
    assert breaker.opened == START
    assert at(breaker, turned(1, 2) | old, START + MINUTE).opened is None


def test_nodes_that_turn_while_it_is_open_count_too() -> None:
    later = START + timedelta(hours=1)
    fourth = turned(4, since=later)
    breaker = at(opened(), turned(1, 2, 3) | fourth, later)
    assert at(breaker, turned(2, 3) | fourth, later + MINUTE).opened == START
    assert at(breaker, turned(3) | fourth, later + MINUTE).opened is None


def test_nodes_that_vanish_do_not_close_it() -> None:
    assert at(opened(), turned(1, 2, 3), population=5).opened == START


def test_a_confirmation_closes_it_for_the_nodes_that_had_turned() -> None:
    breaker = confirmed()
    assert breaker == Breaker(None, START)
    later = START + MINUTE
    two, three = turned(4, 5, since=later), turned(4, 5, 6, since=later)
    assert at(breaker, turned(1, 2, 3) | two, later).opened is None
    assert at(breaker, turned(1, 2, 3) | three, later) == Breaker(later, START)


def test_nodes_that_turned_after_the_confirmation_keep_it_open() -> None:
    nodes = turned(1, 2, 3) | turned(4, 5, 6, since=START + TICK)
    breaker = at(Breaker(START, START), nodes, START + MINUTE)
    assert breaker == Breaker(START, START)
    assert counted(breaker, nodes, START + MINUTE, SETTINGS) == ["n4", "n5", "n6"]


def test_a_confirmed_node_that_turns_bad_again_counts_again() -> None:
    later = START + MINUTE
    nodes = turned(1) | turned(2, 3, 4, since=later)
    assert at(confirmed(), nodes, later).opened == later


def test_a_confirmed_node_that_is_repaired_leaves_the_others_confirmed() -> None:
    nodes = turned(1, 2, 3) | turned(4, 5, since=START + MINUTE)
    breaker = at(confirmed(), nodes, START + MINUTE)
    for name in ("n1", "n2"):
        del nodes[name]
        breaker = at(breaker, nodes, START + 2 * MINUTE)
        assert breaker == Breaker(None, START)
    del nodes["n3"]
    assert at(breaker, nodes, START + 2 * MINUTE) == Breaker()


def test_a_confirmation_is_recorded_while_its_nodes_would_open_the_breaker() -> None:
    """Otherwise a later process would take all nodes that it finds for confirmed."""
    breaker = Breaker(START + MINUTE, START)
    later = turned(4, 5, 6, since=START + MINUTE)
    assert to_record(breaker, turned(1, 2, 3) | later, 10, SETTINGS) == breaker
    for nodes, population in ((turned(1, 2), 10), (turned(1, 2, 3), 15)):
        recorded = to_record(breaker, nodes | later, population, SETTINGS)
        assert recorded == Breaker(START + MINUTE)


def test_a_clock_that_was_set_back_makes_it_more_careful() -> None:
    assert at(Breaker(), turned(1, 2, 3, since=START + MINUTE)).opened == START
    future = Breaker(None, START + MINUTE)
    before, now = turned(1, 2, since=START - MINUTE), turned(3, 4, 5)
    assert at(future, before | turned(3, 4)) == Breaker(None, START - TICK)
    assert at(future, before | now) == Breaker(START, START - TICK)


def test_an_open_breaker_stays_open_when_the_clock_is_set_back() -> None:
    breaker = at(Breaker(START + timedelta(hours=1)), turned(1, 2, 3))
    assert breaker == Breaker(START)
    assert counted(breaker, turned(1, 2, 3), START, SETTINGS) == ["n1", "n2", "n3"]


def test_a_restart_ignores_a_confirmation_in_the_future() -> None:
    for opened in (None, START):
        recorded = Breaker(opened, START + TICK)
        assert after_restart(recorded, START, times_recorded=False) == Breaker(opened)
        assert after_restart(recorded, START, times_recorded=True) == Breaker(opened)
        assert after_restart(recorded, START + TICK, times_recorded=True) == recorded
