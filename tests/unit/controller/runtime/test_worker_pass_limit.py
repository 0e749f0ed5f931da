"""How many passes begin at once."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from controller.metrics import ControllerMetrics
from controller.runtime.worker import SLOW, Done, PassLimit, Workers
from controller.runtime.workqueue import QueueMetrics, WorkQueue
from shared.process.backoff import ExponentialBackoff
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle


class Passes:
    """Passes that begin as the pace lets them, and end when told."""

    def __init__(self, pace: PassLimit, number: int) -> None:
        self.begun: list[int] = []
        self.ends = [asyncio.Event() for _ in range(number)]
        self._tasks = [asyncio.create_task(self._run(pace, each)) for each in range(number)]

    async def _run(self, pace: PassLimit, number: int) -> None:
        await pace.room()
        with pace.work():
            self.begun.append(number)
            await self.ends[number].wait()

    async def end(self) -> None:
        for end in self.ends:
            end.set()
        await asyncio.gather(*self._tasks)


async def test_as_many_begin_as_may_and_the_next_when_one_ends() -> None:
    passes = Passes(PassLimit(FakeClock(), at_once=2), 4)
    await settle()
    assert passes.begun == [0, 1]
    passes.ends[1].set()
    await settle()
    assert passes.begun == [0, 1, 2]
    await passes.end()
    assert passes.begun == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("seconds", "begun"),
    [(0.999, [0, 1]), (1.0, [0, 1, 2, 3])],
    ids=["just before, nobody else begins", "then each makes room for one other"],
)
async def test_a_pass_counts_for_a_second(seconds: float, begun: list[int]) -> None:
    clock = FakeClock()
    passes = Passes(PassLimit(clock, at_once=2, slow=1.0), 5)
    await settle()
    await clock.advance(seconds)
    assert passes.begun == begun
    await passes.end()


async def test_a_slow_pass_that_ends_makes_no_second_room() -> None:
    clock = FakeClock()
    passes = Passes(PassLimit(clock, at_once=1, slow=1.0), 4)
    await settle()
    await clock.advance(1.0)
    assert passes.begun == [0, 1]
    passes.ends[0].set()
    await settle()
    assert passes.begun == [0, 1]
    passes.ends[1].set()
    await settle()
    assert passes.begun == [0, 1, 2]
    await passes.end()


async def test_a_released_slot_is_used_by_the_next_pass() -> None:
    pace = PassLimit(FakeClock(), at_once=1)
    await pace.room()
    passes = Passes(pace, 1)
    await settle()
    assert passes.begun == []
    pace.give_back()
    await settle()
    assert passes.begun == [0]
    await passes.end()


async def test_a_pass_that_begins_late_counts_for_a_second_from_its_beginning() -> None:
    clock = FakeClock()
    pace = PassLimit(clock, at_once=1, slow=1.0)
    await pace.room()
    passes = Passes(pace, 1)
    await clock.advance(5.0)
    assert clock.sleeping == []  # nothing is under way, so no timer wakes the process
    with pace.work():
        await clock.advance(0.999)
        assert passes.begun == []
        await clock.advance(0.001)
        assert passes.begun == [0]
    await passes.end()


async def test_a_pass_that_raises_makes_room() -> None:
    pace = PassLimit(FakeClock(), at_once=1)
    await pace.room()
    with pytest.raises(ValueError, match="no"), pace.work():
        raise ValueError("no")
    await asyncio.wait_for(pace.room(), 30)


async def test_a_wait_that_is_cancelled_takes_no_room() -> None:
    pace = PassLimit(FakeClock(), at_once=1)
    await pace.room()
    waiting = asyncio.create_task(pace.room())
    await settle()
    waiting.cancel()
    await settle()
    pace.give_back()
    await asyncio.wait_for(pace.room(), 30)


async def test_workers_begin_three_passes_at_once_and_hanging_passes_delay_no_other() -> None:
    begun: list[int] = []
    end = asyncio.Event()

    async def reconcile(key: int) -> Done:
        begun.append(key)
        await end.wait()
        return Done()

    clock = FakeClock()
    queue = WorkQueue[int](clock, QueueMetrics(CollectorRegistry(), "test"))
    workers = Workers(
        queue,
        reconcile,
        count=8,
        sources=fake_sources(clock),
        limiter=ExponentialBackoff(),
        log_fields=_no_fields,
        observer=ControllerMetrics(),
    )
    running = asyncio.create_task(workers.run())
    for key in range(5):
        queue.add(key)
    await settle()
    assert begun == [0, 1, 2]
    await clock.advance(SLOW)
    assert begun == [0, 1, 2, 3, 4]
    queue.shut_down()
    end.set()
    await asyncio.wait_for(running, 30)


def _no_fields(_key: int) -> dict[str, object]:
    return {}
