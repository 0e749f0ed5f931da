"""When the evacuation breaker opens and closes."""

from datetime import datetime, timedelta

import pytest

from controller.fleet.breaker import Breaker, Turned, confirm, counted, judge
from shared.config.fault_tolerance import EvacuationBreaker
from tests.support.fakes.fake_clock import START

SETTINGS = EvacuationBreaker()  # more than 20 % of at least 10 nodes within 10 minutes
MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)


def tagged(*numbers: int) -> dict[str, str]:
    return {f"n{number}": f"uid-{number}" for number in numbers}


def at(
    breaker: Breaker, nodes: dict[str, str], now: datetime = START, population: int = 10
) -> Breaker:
    return judge(breaker, nodes, population, now, SETTINGS)


def opened() -> Breaker:
    return at(Breaker(), tagged(1, 2, 3))


@pytest.mark.parametrize(
    ("bad", "population", "is_open"),
    [
        (2, 10, False),  # 20 % is not more than 20 %
        (3, 10, True),
        (9, 9, False),  # too few nodes for a share to tell anything
        (200, 1000, False),
        (201, 1000, True),
        (0, 0, False),
        (0, 10, False),
    ],
)
def test_it_opens_above_a_share_of_enough_nodes(bad: int, population: int, is_open: bool) -> None:
    breaker = at(Breaker(), tagged(*range(bad)), population=population)
    assert breaker.opened == (START if is_open else None)
    assert len(breaker.nodes) == bad


@pytest.mark.parametrize(
    ("after", "is_open"), [(10 * MINUTE, True), (10 * MINUTE + TICK, False)], ids=str
)
def test_only_what_turned_within_the_window_opens_it(after: timedelta, is_open: bool) -> None:
    breaker = at(Breaker(), tagged(1, 2))
    breaker = at(breaker, tagged(1, 2, 3), START + after)
    assert breaker.opened == (START + after if is_open else None)


def test_nodes_that_turn_bad_one_by_one_over_days_never_open_it() -> None:
    breaker = Breaker()
    for day in range(10):
        breaker = at(breaker, tagged(*range(day + 1)), START + timedelta(days=day))
        assert breaker.opened is None
    assert len(breaker.nodes) == 10


def test_a_label_that_was_taken_back_does_not_count() -> None:
    breaker = at(Breaker(), tagged(1, 2))
    breaker = at(breaker, tagged(2), START + MINUTE)
    assert at(breaker, tagged(2, 3), START + 2 * MINUTE).opened is None


def test_a_flapping_node_counts_once() -> None:
    breaker = Breaker()
    for minute in range(0, 10, 2):
        breaker = at(breaker, tagged(1), START + minute * MINUTE)
        breaker = at(breaker, {}, START + (minute + 1) * MINUTE)
    assert at(breaker, tagged(1), START + 9 * MINUTE).opened is None


def test_time_alone_does_not_close_it() -> None:
    later = START + timedelta(days=30)
    breaker = at(opened(), tagged(1, 2, 3), later)
    assert breaker.opened == START
    assert counted(breaker, later, SETTINGS) == ["n1", "n2", "n3"]


def test_it_closes_when_the_share_has_fallen() -> None:
    later = START + timedelta(hours=1)
    assert at(opened(), tagged(1, 2), later).opened is None


def test_nodes_that_turned_bad_long_ago_do_not_keep_the_breaker_open() -> None:
    old = Breaker(nodes={f"n{n}": Turned(f"uid-{n}", START - timedelta(days=n)) for n in (4, 5, 6)})
    breaker = at(old, tagged(1, 2, 3, 4, 5, 6))
    assert breaker.opened == START
    assert at(breaker, tagged(1, 2, 4, 5, 6), START + MINUTE).opened is None


def test_nodes_that_turn_while_it_is_open_count_too() -> None:
    breaker = at(opened(), tagged(1, 2, 3, 4), START + timedelta(hours=1))
    later = START + timedelta(hours=2)
    assert at(breaker, tagged(2, 3, 4), later).opened == START
    assert at(breaker, tagged(3, 4), later).opened is None


def test_nodes_that_vanish_do_not_close_it() -> None:
    assert at(opened(), tagged(1, 2, 3), population=5).opened == START


def test_an_admin_s_word_closes_it_for_the_nodes_it_was_about() -> None:
    confirmed = confirm(opened(), ["n1", "n2", "n3", "unknown"])
    breaker = at(confirmed, tagged(1, 2, 3), START + MINUTE)
    assert breaker.opened is None
    assert breaker.nodes["n1"] == Turned("uid-1", START, confirmed=True)
    assert at(breaker, tagged(1, 2, 3, 4, 5), START + MINUTE).opened is None
    assert at(breaker, tagged(1, 2, 3, 4, 5, 6), START + MINUTE).opened == START + MINUTE


def test_a_word_about_some_of_them_leaves_it_open_for_the_rest() -> None:
    breaker = at(Breaker(), tagged(1, 2, 3, 4))
    assert at(confirm(breaker, ["n1"]), tagged(1, 2, 3, 4), START + MINUTE).opened == START


def test_a_confirmed_node_that_turns_bad_again_counts_again() -> None:
    breaker = at(confirm(opened(), ["n1", "n2", "n3"]), {}, START + MINUTE)
    assert at(breaker, tagged(1, 2, 3), START + 2 * MINUTE).opened == START + 2 * MINUTE


def test_a_new_node_of_an_old_name_turned_now() -> None:
    old = Breaker(nodes={"n1": Turned("before", START - timedelta(days=1), confirmed=True)})
    assert at(old, tagged(1)).nodes == {"n1": Turned("uid-1", START)}


def test_a_clock_that_was_set_back_makes_it_more_careful() -> None:
    future = Breaker(nodes={f"n{n}": Turned(f"uid-{n}", START + MINUTE) for n in (1, 2)})
    assert at(future, tagged(1, 2, 3)).opened == START
