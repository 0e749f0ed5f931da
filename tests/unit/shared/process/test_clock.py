"""The clock's time limits: the machine's, and the one that tests move by hand."""

import asyncio

import pytest

from shared.process.clock import SystemClock
from tests.support.fakes.fake_clock import FakeClock, settle


async def test_a_quick_call_is_not_cut_off() -> None:
    async with SystemClock().timeout(60):
        await asyncio.sleep(0)


async def test_a_slow_call_is_cut_off() -> None:
    with pytest.raises(TimeoutError):
        async with SystemClock().timeout(0):
            await asyncio.Event().wait()


@pytest.mark.parametrize(("passed", "cut_off"), [(1.9, False), (2.0, True)])
async def test_in_a_test_time_is_moved_by_hand(passed: float, cut_off: bool) -> None:
    clock = FakeClock()

    async def limited() -> None:
        async with clock.timeout(2):
            await asyncio.Event().wait()

    task = asyncio.create_task(limited())
    await clock.advance(passed)
    assert task.done() is cut_off
    if cut_off:
        assert isinstance(task.exception(), TimeoutError)
    task.cancel()
    await settle()


async def test_a_limit_that_was_kept_leaves_nothing_behind() -> None:
    clock = FakeClock()
    async with clock.timeout(2):
        pass
    assert clock.sleeping == []
    await clock.advance(10)
