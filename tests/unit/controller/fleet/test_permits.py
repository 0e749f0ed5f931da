"""Who may be reset now, and who is woken when what held it is over."""

from collections.abc import Collection
from datetime import datetime, timedelta

import pytest

from controller.fleet.permits import ResetPermits
from controller.phases.snapshot import HoldReason, ResetHold
from shared.config.fault_tolerance import ResetRateLimit
from tests.support.builders.autopilot import GPU
from tests.support.fakes.fake_clock import START

SECOND = timedelta(seconds=1)
PAUSED = ResetHold(HoldReason.PAUSED, "an admin has paused all resets (pauseResets)")
THROTTLED = "resets in this cluster are paced at 2 a second"


class Gate:
    """Shut for these resources."""

    def __init__(self) -> None:
        self.shut: set[str] = set()

    def closed_to(self, resources: Collection[str]) -> str | None:
        return "shut" if self.shut >= set(resources) else None


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def permits(gate: Gate) -> ResetPermits:
    return ResetPermits(ResetRateLimit(per_second=2.0, burst=1), gate)


def ask(
    permits: ResetPermits, name: str, evacuation: str | None = None, now: datetime = START
) -> ResetHold | None:
    """One pass that asks once."""
    with permits.asking(name, ("team1", name), now) as asking:
        return asking.hold({evacuation} if evacuation else None)


def look(permits: ResetPermits, name: str) -> None:
    """One pass that asks nothing."""
    with permits.asking(name, ("team1", name), START):
        pass


def test_ordinary_resets_go_at_the_configured_pace(permits: ResetPermits) -> None:
    assert ask(permits, "a") is None
    assert ask(permits, "b") == ResetHold(HoldReason.RATE, THROTTLED, SECOND / 2)
    assert ask(permits, "c") == ResetHold(HoldReason.RATE, THROTTLED, SECOND)
    assert permits.held(HoldReason.RATE) == [("team1", "b"), ("team1", "c")]
    assert ask(permits, "b", now=START + SECOND / 2) is None
    assert permits.held(HoldReason.RATE) == [("team1", "c")]


def test_evacuations_neither_wait_for_tokens_nor_take_them(permits: ResetPermits) -> None:
    for name in "abcdef":
        assert ask(permits, name, GPU) is None
    assert ask(permits, "ordinary") is None
    assert ask(permits, "after it", GPU) is None


def test_a_reset_that_could_not_be_written_takes_one_token_only(permits: ResetPermits) -> None:
    assert ask(permits, "a") is None
    assert ask(permits, "a") is None
    look(permits, "a")  # it is in Resetting
    assert ask(permits, "a") == ResetHold(HoldReason.RATE, THROTTLED, SECOND / 2)


def test_one_that_healed_leaves_the_line(permits: ResetPermits) -> None:
    for name in "abc":
        ask(permits, name)
    look(permits, "b")
    assert permits.held(HoldReason.RATE) == [("team1", "c")]
    assert ask(permits, "c", now=START + SECOND / 2) is None


def test_one_that_is_gone_leaves_the_line(permits: ResetPermits) -> None:
    for name in "abc":
        ask(permits, name)
    permits.forget("b", ("team1", "b"))
    assert permits.held(HoldReason.RATE) == [("team1", "c")]
    assert ask(permits, "c", now=START + SECOND / 2) is None


@pytest.mark.parametrize("evacuation", [None, GPU])
def test_a_pause_holds_everything(permits: ResetPermits, evacuation: str | None) -> None:
    permits.paused = True
    assert ask(permits, "a", evacuation) == PAUSED
    assert permits.held(HoldReason.PAUSED) == [("team1", "a")]
    permits.paused = False
    assert ask(permits, "a", evacuation) is None
    assert permits.held(HoldReason.PAUSED) == []


def test_a_pause_takes_no_tokens(permits: ResetPermits) -> None:
    permits.paused = True
    for name in "abc":
        ask(permits, name)
    permits.paused = False
    assert ask(permits, "c") is None


def test_a_pause_holds_one_whose_token_was_not_used_yet(permits: ResetPermits) -> None:
    ask(permits, "a")
    permits.paused = True
    assert ask(permits, "a") == PAUSED
    permits.paused = False
    assert ask(permits, "a") is None


def test_an_open_breaker_holds_evacuations_of_its_resource_alone(
    permits: ResetPermits, gate: Gate
) -> None:
    gate.shut = {GPU}
    assert ask(permits, "a", GPU) == ResetHold(HoldReason.BREAKER, "shut")
    assert ask(permits, "b", "example.com/nic") is None
    assert ask(permits, "c") is None
    assert permits.held(HoldReason.BREAKER) == [("team1", "a")]


def test_one_held_evacuation_may_ask_for_another_reset(permits: ResetPermits, gate: Gate) -> None:
    gate.shut = {GPU}
    ask(permits, "first")
    with permits.asking("a", ("team1", "a"), START) as asking:
        assert asking.hold({GPU}) == ResetHold(HoldReason.BREAKER, "shut")
        assert asking.hold(None) == ResetHold(HoldReason.RATE, THROTTLED, SECOND / 2)
    assert permits.held(HoldReason.BREAKER) == [("team1", "a")]
    assert permits.held(HoldReason.RATE) == [("team1", "a")]
    look(permits, "a")
    assert permits.held(HoldReason.BREAKER) == permits.held(HoldReason.RATE) == []


def test_a_pass_that_failed_asks_again_from_its_place(permits: ResetPermits) -> None:
    ask(permits, "first")

    def failing() -> None:
        with permits.asking("a", ("team1", "a"), START) as asking:
            asking.hold(None)
            raise ValueError

    with pytest.raises(ValueError):
        failing()
    assert ask(permits, "b") == ResetHold(HoldReason.RATE, THROTTLED, SECOND)
