"""Who may be reset now, and who is woken when what held it is over."""

from collections.abc import Collection
from datetime import datetime, timedelta

import pytest

from controller.fleet.reset_holds import ResetGate
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
def reset_gate(gate: Gate) -> ResetGate:
    return ResetGate(ResetRateLimit(per_second=2.0, burst=1), gate.closed_to)


def ask(
    reset_gate: ResetGate, name: str, evacuation: str | None = None, now: datetime = START
) -> ResetHold | None:
    """One pass that asks once."""
    with reset_gate.request(name, ("team1", name), now) as request:
        return request.hold({evacuation} if evacuation else None)


def request_nothing(reset_gate: ResetGate, name: str) -> None:
    """One pass that asks nothing."""
    with reset_gate.request(name, ("team1", name), START):
        pass


def test_ordinary_resets_go_at_the_configured_pace(reset_gate: ResetGate) -> None:
    assert ask(reset_gate, "a") is None
    assert ask(reset_gate, "b") == ResetHold(HoldReason.RATE, THROTTLED, SECOND / 2)
    assert ask(reset_gate, "c") == ResetHold(HoldReason.RATE, THROTTLED, SECOND)
    assert reset_gate.held(HoldReason.RATE) == [("team1", "b"), ("team1", "c")]
    assert ask(reset_gate, "b", now=START + SECOND / 2) is None
    assert reset_gate.held(HoldReason.RATE) == [("team1", "c")]


def test_evacuations_neither_wait_for_tokens_nor_take_them(reset_gate: ResetGate) -> None:
    for name in "abcdef":
        assert ask(reset_gate, name, GPU) is None
    assert ask(reset_gate, "ordinary") is None
    assert ask(reset_gate, "after it", GPU) is None


def test_a_reset_that_could_not_be_written_takes_one_token_only(reset_gate: ResetGate) -> None:
    assert ask(reset_gate, "a") is None
    assert ask(reset_gate, "a") is None
    request_nothing(reset_gate, "a")  # it is in Resetting
    assert ask(reset_gate, "a") == ResetHold(HoldReason.RATE, THROTTLED, SECOND / 2)


def test_one_that_healed_leaves_the_line(reset_gate: ResetGate) -> None:
    for name in "abc":
        ask(reset_gate, name)
    request_nothing(reset_gate, "b")
    assert reset_gate.held(HoldReason.RATE) == [("team1", "c")]
    assert ask(reset_gate, "c", now=START + SECOND / 2) is None


def test_one_that_is_gone_leaves_the_line(reset_gate: ResetGate) -> None:
    for name in "abc":
        ask(reset_gate, name)
    reset_gate.forget("b", ("team1", "b"))
    assert reset_gate.held(HoldReason.RATE) == [("team1", "c")]
    assert ask(reset_gate, "c", now=START + SECOND / 2) is None


@pytest.mark.parametrize("evacuation", [None, GPU])
def test_a_pause_holds_everything(reset_gate: ResetGate, evacuation: str | None) -> None:
    reset_gate.paused = True
    assert ask(reset_gate, "a", evacuation) == PAUSED
    assert reset_gate.held(HoldReason.PAUSED) == [("team1", "a")]
    reset_gate.paused = False
    assert ask(reset_gate, "a", evacuation) is None
    assert reset_gate.held(HoldReason.PAUSED) == []


def test_a_pause_takes_no_tokens(reset_gate: ResetGate) -> None:
    reset_gate.paused = True
    for name in "abc":
        ask(reset_gate, name)
    reset_gate.paused = False
    assert ask(reset_gate, "c") is None


def test_a_pause_holds_one_whose_token_was_not_used_yet(reset_gate: ResetGate) -> None:
    ask(reset_gate, "a")
    reset_gate.paused = True
    assert ask(reset_gate, "a") == PAUSED
    reset_gate.paused = False
    assert ask(reset_gate, "a") is None


def test_an_open_breaker_holds_evacuations_of_its_resource_alone(
    reset_gate: ResetGate, gate: Gate
) -> None:
    gate.shut = {GPU}
    assert ask(reset_gate, "a", GPU) == ResetHold(HoldReason.BREAKER, "shut")
    assert ask(reset_gate, "b", "example.com/nic") is None
    assert ask(reset_gate, "c") is None
    assert reset_gate.held(HoldReason.BREAKER) == [("team1", "a")]


def test_one_held_evacuation_may_ask_for_another_reset(reset_gate: ResetGate, gate: Gate) -> None:
    gate.shut = {GPU}
    ask(reset_gate, "first")
    with reset_gate.request("a", ("team1", "a"), START) as request:
        assert request.hold({GPU}) == ResetHold(HoldReason.BREAKER, "shut")
        assert request.hold(None) == ResetHold(HoldReason.RATE, THROTTLED, SECOND / 2)
    assert reset_gate.held(HoldReason.BREAKER) == [("team1", "a")]
    assert reset_gate.held(HoldReason.RATE) == [("team1", "a")]
    request_nothing(reset_gate, "a")
    assert reset_gate.held(HoldReason.BREAKER) == reset_gate.held(HoldReason.RATE) == []


def test_a_pass_that_failed_asks_again_from_its_place(reset_gate: ResetGate) -> None:
    ask(reset_gate, "first")

    def failing() -> None:
        with reset_gate.request("a", ("team1", "a"), START) as request:
            request.hold(None)
            raise ValueError

    with pytest.raises(ValueError):
        failing()
    assert ask(reset_gate, "b") == ResetHold(HoldReason.RATE, THROTTLED, SECOND)
