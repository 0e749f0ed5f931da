"""Pauses between attempts: never shorter than asked for, and not all the same."""

from datetime import timedelta

import pytest

from controller.facts.effective_fault_tolerance import spread_out

PAUSE = timedelta(seconds=90)


def test_pauses_are_spread_over_a_tenth() -> None:
    pauses = [spread_out(PAUSE, f"uid-{number}", 1) for number in range(1000)]
    assert PAUSE <= min(pauses) < PAUSE * 1.001
    assert PAUSE * 1.099 < max(pauses) <= PAUSE * 1.1
    assert len(set(pauses)) > 990


def test_it_is_the_same_at_every_look_and_another_at_every_attempt() -> None:
    assert spread_out(PAUSE, "u1", 1) == spread_out(PAUSE, "u1", 1)
    assert len({spread_out(PAUSE, "u1", attempt) for attempt in range(10)}) == 10


@pytest.mark.parametrize("number", range(3))
def test_no_pause_stays_none(number: int) -> None:
    assert spread_out(timedelta(0), f"uid-{number}", 1) == timedelta(0)
