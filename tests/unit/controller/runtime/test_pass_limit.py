"""How the limit of passes follows the answers of the API server."""

import pytest

from controller.runtime.pass_limit import (
    FORGOTTEN,
    LEAST,
    MOST,
    ROUND,
    Baseline,
    PassLimit,
    next_baseline,
    next_limit,
)


@pytest.mark.parametrize(
    ("limit", "latency", "wanted", "result"),
    [
        pytest.param(20, 0.125, True, 30, id="near the baseline it grows by half"),
        pytest.param(20, 0.126, True, 21, id="beyond, by one"),
        pytest.param(20, 0.150, True, 21, id="up to the limit of latency"),
        pytest.param(20, 0.151, True, 15, id="beyond, it falls by a quarter"),
        pytest.param(20, 0.050, True, 30, id="faster than the baseline"),
        pytest.param(20, 0.100, False, 20, id="no key waits: it stays"),
        pytest.param(20, 0.151, False, 15, id="no key waits, but the API server is busy"),
        pytest.param(LEAST, 0.100, True, LEAST + 1, id="the least grows"),
        pytest.param(LEAST + 1, 9.000, True, LEAST, id="to the least"),
        pytest.param(LEAST, 9.000, True, LEAST, id="never below the least"),
        pytest.param(MOST - 10, 0.100, True, MOST, id="to the most"),
        pytest.param(MOST, 0.150, True, MOST, id="never above the most"),
    ],
)
def test_the_next_limit(limit: int, latency: float, wanted: bool, result: int) -> None:
    assert next_limit(limit, 0.1, latency, wanted=wanted) == result


OLD, NOW = 1000.0, 1000.0 + FORGOTTEN


@pytest.mark.parametrize(
    ("latency", "passes", "now", "result"),
    [
        pytest.param(0.3, LEAST, NOW - 0.1, Baseline(0.1, OLD), id="slower, maybe for a moment"),
        pytest.param(0.3, LEAST, NOW, Baseline(0.3, NOW), id="slower for ten minutes"),
        pytest.param(0.3, LEAST + 1, NOW, Baseline(0.1, OLD), id="many passes may be the cause"),
        pytest.param(0.1, LEAST, NOW - 0.1, Baseline(0.1, NOW - 0.1), id="as fast as ever"),
        pytest.param(0.05, 50, OLD, Baseline(0.05, OLD), id="faster than ever"),
    ],
)
def test_the_next_baseline(latency: float, passes: int, now: float, result: Baseline) -> None:
    assert next_baseline(Baseline(0.1, OLD), latency, passes, now) == result


def test_the_first_baseline_is_the_latency_as_it_is() -> None:
    assert next_baseline(None, 0.3, 50, NOW) == Baseline(0.3, NOW)


def answer(limit: PassLimit, *seconds: float, passes: int | None = None) -> list[int]:
    """Let answers come while keys wait. Return the limits after them."""
    limits = []
    for each in seconds:
        running = limit.limit if passes is None else passes
        assert not limit.has_room(limit.limit)
        limit.answered(each, running, 0.0, rejected=False)
        limits.append(limit.limit)
    return limits


def test_it_has_room_below_the_limit_alone() -> None:
    limit = PassLimit()
    assert [limit.has_room(passes) for passes in (0, LEAST - 1, LEAST, LEAST + 1)] == [
        True,
        True,
        False,
        False,
    ]


def test_a_round_of_ten_answers_changes_the_limit_at_its_end() -> None:
    assert answer(PassLimit(), *[0.1] * 2 * ROUND) == [
        *[LEAST] * (ROUND - 1),
        *[4] * ROUND,
        6,
    ]


def test_a_round_under_a_higher_limit_has_as_many_answers() -> None:
    limit = PassLimit()
    limit.limit = 40
    assert answer(limit, *[0.1] * 40) == [*[40] * 39, 60]


def test_it_does_not_grow_while_no_key_waits() -> None:
    limit = PassLimit()
    for _ in range(5 * ROUND):
        assert limit.has_room(1)
        limit.answered(0.1, 1, 0.0, rejected=False)
    assert limit.limit == LEAST


def test_a_wait_in_an_earlier_round_does_not_count() -> None:
    limit = PassLimit()
    answer(limit, *[0.1] * ROUND)
    for _ in range(ROUND):
        limit.answered(0.1, 1, 0.0, rejected=False)
    assert limit.limit == 4


def test_the_median_counts_so_few_slow_answers_change_nothing() -> None:
    limit = PassLimit()
    assert answer(limit, *[0.1] * 6, *[60.0] * 4)[-1] == 4
    assert answer(limit, *[0.1] * 6, *[60.0] * 4)[-1] == 6


def test_answers_to_requests_from_before_a_fall_cause_no_second_one() -> None:
    limit = PassLimit()
    answer(limit, *[0.1] * ROUND)  # the baseline
    limit.limit = 40
    assert answer(limit, *[0.2] * 40)[-1] == 30
    assert answer(limit, *[0.2] * 40, *[0.1] * 29) == [30] * 69
    assert answer(limit, 0.1) == [45]


def test_each_rejection_halves_it_down_to_the_least() -> None:
    limit = PassLimit()
    limit.limit = 40
    limits = []
    for _ in range(5):
        limit.answered(0.001, 40, 0.0, rejected=True)
        limits.append(limit.limit)
    assert limits == [20, 10, 5, LEAST, LEAST]


def test_after_a_rejection_it_grows_again_by_later_answers() -> None:
    limit = PassLimit()
    answer(limit, *[0.1] * (ROUND - 1))
    limit.answered(0.001, 5, 0.0, rejected=True)
    assert answer(limit, *[0.1] * (5 + ROUND)) == [*[LEAST] * (5 + ROUND - 1), 4]


def test_a_server_that_was_faster_minutes_ago_is_busy() -> None:
    limit = PassLimit()
    answer(limit, *[0.005] * ROUND)
    limit.limit = LEAST
    assert set(answer(limit, *[0.06] * 5 * ROUND)) == {LEAST}
