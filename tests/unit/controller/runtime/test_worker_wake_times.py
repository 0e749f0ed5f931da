"""How old the change is that a pass answers."""

from typing import Any

import pytest

from controller.runtime.worker import Done, Result, WakeTimes
from tests.support.fakes.fake_clock import FakeClock

KEY = ("team1", "train")


class Passes:
    """Each pass takes a second and notes how old its change was in the end."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.times: WakeTimes[Any] = WakeTimes(self.clock)
        self.ages: list[float | None] = []

    async def reconcile(self, key: Any) -> Result:
        self.clock.pass_by(1)
        self.ages.append(self.times.age(key))
        return Done()

    async def run(self) -> Result:
        return await self.times.timed(self.reconcile, KEY)


async def test_a_pass_answers_the_earliest_change() -> None:
    passes = Passes()
    passes.times.woken(KEY)
    passes.clock.pass_by(2)
    passes.times.woken(KEY)
    assert await passes.run() == Done()
    assert passes.ages == [3.0]


async def test_a_pass_that_a_deadline_began_answers_no_change() -> None:
    passes = Passes()
    passes.times.woken(KEY)
    await passes.run()
    await passes.run()
    assert passes.ages == [1.0, None]


async def test_a_change_during_a_pass_is_for_the_next() -> None:
    passes = Passes()

    async def interrupted(key: Any) -> Result:
        passes.times.woken(key)
        return await passes.reconcile(key)

    await passes.times.timed(interrupted, KEY)
    await passes.run()
    assert passes.ages == [None, 2.0]


async def test_after_a_failure_the_same_change_is_still_to_be_answered() -> None:
    passes = Passes()

    async def failing(key: Any) -> Result:
        passes.times.woken(key)  # a later one
        passes.clock.pass_by(5)
        raise RuntimeError("the API server is away")

    passes.times.woken(KEY)
    passes.clock.pass_by(1)
    with pytest.raises(RuntimeError):
        await passes.times.timed(failing, KEY)
    assert passes.times.age(KEY) is None
    await passes.run()
    assert passes.ages == [7.0]
