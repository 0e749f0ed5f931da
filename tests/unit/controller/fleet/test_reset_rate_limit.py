"""How fast resets go, exactly, and in which order."""

from datetime import datetime, timedelta

import pytest

from controller.fleet.reset_rate_limit import PATIENCE, ResetRate
from shared.config.fault_tolerance import ResetRateLimit
from tests.support.fakes.fake_clock import START

SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)


def rate(per_second: float = 2.0, burst: int = 2) -> ResetRate:
    return ResetRate(ResetRateLimit(per_second=per_second, burst=burst))


def drained(per_second: float = 2.0, burst: int = 2) -> ResetRate:
    """The burst was used at START."""
    made = rate(per_second, burst)
    for number in range(burst):
        assert made.ask(f"burst-{number}", START) is None
    return made


def test_a_burst_is_permitted_at_once_and_the_next_gets_a_time() -> None:
    limit = drained()
    assert limit.ask("c", START) == SECOND / 2
    assert limit.ask("c", START + SECOND / 2 - TICK) == TICK
    assert limit.ask("c", START + SECOND / 2) is None
    assert limit.waiting == 0


def test_a_process_that_begins_does_not_begin_with_a_burst() -> None:
    limit = ResetRate(ResetRateLimit(per_second=2.0, burst=2), START)
    assert limit.ask("a", START) == SECOND / 2
    assert limit.ask("a", START + SECOND / 2) is None
    later = ResetRate(ResetRateLimit(per_second=2.0, burst=2), START)
    for name in ("a", "b"):
        assert later.ask(name, START + SECOND) is None
    assert later.ask("c", START + SECOND) == SECOND / 2


def test_each_waiting_reset_gets_its_own_time() -> None:
    limit = drained()
    holds = [limit.ask(f"w{place}", START) for place in range(4)]
    assert holds == [SECOND * 0.5, SECOND * 1.0, SECOND * 1.5, SECOND * 2.0]
    for place, wait in enumerate(holds):
        assert wait is not None
        assert limit.ask(f"w{place}", START + wait) is None
    assert limit.waiting == 0


def test_asking_again_keeps_the_place() -> None:
    limit = drained()
    assert limit.ask("first", START) == SECOND / 2
    assert limit.ask("second", START) == SECOND
    assert limit.ask("first", START + SECOND / 4) == SECOND / 4
    # The second comes early, when there is one token: it is the first one's.
    assert limit.ask("second", START + SECOND / 2) == SECOND / 2
    assert limit.ask("newcomer", START + SECOND / 2) == SECOND
    assert limit.ask("first", START + SECOND / 2) is None


def test_a_late_reset_delays_no_other() -> None:
    limit = drained()
    limit.ask("late", START)
    limit.ask("punctual", START)
    assert limit.ask("punctual", START + SECOND) is None
    assert limit.ask("late", START + SECOND) is None
    assert limit.ask("next", START + SECOND) == SECOND / 2


def test_one_that_withdrew_gives_its_turn_to_the_next() -> None:
    limit = drained()
    limit.ask("healed", START)
    assert limit.ask("second", START) == SECOND
    limit.withdraw("healed")
    limit.withdraw("nobody")
    assert limit.ask("second", START + SECOND / 2) is None


@pytest.mark.parametrize(
    ("after", "granted"), [(PATIENCE - TICK, False), (PATIENCE, True)], ids=["present", "absent"]
)
def test_resets_that_never_return_do_not_block_the_line(after: timedelta, granted: bool) -> None:
    limit = drained(burst=1)
    assert limit.ask("gone", START) == SECOND / 2
    # One token is all that the bucket holds, and it is kept for the one that is gone.
    moment = START + SECOND / 2 + after
    assert (limit.ask("next", moment) is None) is granted


def test_an_idle_hour_saves_no_more_than_a_burst() -> None:
    limit = drained()
    later = START + timedelta(hours=1)
    assert [limit.ask(name, later) for name in "abc"] == [None, None, SECOND / 2]


def test_after_an_outage_not_more_than_a_burst_goes_at_once() -> None:
    limit = drained()
    for place in range(20):
        limit.ask(f"w{place}", START)
    later = START + timedelta(minutes=10)
    granted = [limit.ask(f"w{place}", later) for place in range(20)]
    assert granted.count(None) == 2
    assert granted[2:] == [SECOND / 2 * (place + 1) for place in range(18)]


@pytest.mark.parametrize(("per_second", "burst"), [(5.0, 100), (2.0, 2), (3.0, 1), (0.1, 4)])
def test_the_pace_is_the_configured_one(per_second: float, burst: int) -> None:
    limit = rate(per_second, burst)
    granted = play(limit, asking=burst + 30)
    assert granted[:burst] == [START] * burst
    interval = SECOND / per_second
    assert granted[burst:] == [START + interval * (place + 1) for place in range(30)]


def play(limit: ResetRate, *, asking: int) -> list[datetime]:
    """All ask at START, and again whenever they were told to; when each was granted."""
    due = {f"w{place}": START for place in range(asking)}
    granted = []
    while due:
        uid, moment = min(due.items(), key=lambda item: item[1])
        wait = limit.ask(uid, moment)
        if wait is None:
            granted.append(moment)
            del due[uid]
        else:
            due[uid] = moment + wait
    return granted


def test_a_clock_that_is_set_back_prolongs_nothing_beyond_an_empty_bucket() -> None:
    limit = drained()
    earlier = START - timedelta(days=1)
    assert limit.ask("a", earlier) == SECOND / 2


def test_a_clock_that_is_set_ahead_gives_no_more_than_a_burst() -> None:
    limit = drained()
    later = START + timedelta(days=1)
    assert [limit.ask(name, later) for name in "abc"] == [None, None, SECOND / 2]


def test_after_the_clock_was_set_back_the_bucket_fills_again_and_the_line_moves_on() -> None:
    """It must not stay empty until the clock has caught up, nor wait for who stood there then."""
    limit = drained()
    assert limit.ask("gone", START) == SECOND / 2
    earlier = START - timedelta(hours=2)
    assert limit.ask("c", earlier) == SECOND
    assert limit.ask("c", earlier + SECOND) is None
    assert limit.ask("d", earlier + SECOND) == SECOND / 2
    late = earlier + PATIENCE
    assert limit.ask("d", late) is None
    assert limit.waiting == 0
