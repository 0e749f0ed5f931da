"""How many passes run at once, and which begins next."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry

from controller.metrics import ControllerMetrics
from controller.runtime.pass_limit import FORGOTTEN, LEAST, MOST, Baseline, PassLimit
from controller.runtime.worker import Done, Workers
from controller.runtime.workqueue import WITH_SLOW, QueueMetrics, WakeReason, WorkQueue
from shared.process.backoff import ExponentialBackoff
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle


class Passes:
    """Passes that end when told. `begun` holds their keys."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.limit = PassLimit()
        metrics = QueueMetrics(CollectorRegistry(), "test")
        self.queue = WorkQueue[int](self.clock, metrics, self.limit)
        self.begun: list[int] = []
        self._ends: dict[int, asyncio.Event] = {}
        workers = Workers(
            self.queue,
            self._reconcile,
            sources=fake_sources(self.clock),
            limiter=ExponentialBackoff(),
            log_fields=lambda _: {},
            observer=ControllerMetrics(),
        )
        self._running = asyncio.create_task(workers.run())

    async def _reconcile(self, key: int) -> Done:
        self.begun.append(key)
        end = self._ends[key] = asyncio.Event()
        await end.wait()
        return Done()

    async def add(self, *keys: int) -> None:
        for key in keys:
            self.queue.add(key)
        await settle(3 * MOST)

    async def end(self, *keys: int) -> None:
        for key in keys:
            self._ends[key].set()
        await settle()

    async def stop(self) -> None:
        self.queue.shut_down()
        await settle()
        await self.end(*self._ends)
        await asyncio.wait_for(self._running, 30)


@pytest.fixture
async def passes() -> AsyncIterator[Passes]:
    made = Passes()
    yield made
    await made.stop()


async def test_as_many_begin_as_may_and_the_next_when_one_ends(passes: Passes) -> None:
    await passes.add(*range(LEAST + 2))
    assert passes.begun == [0, 1, 2]
    await passes.end(1)
    assert passes.begun == [0, 1, 2, 3]


async def test_more_begin_once_the_limit_has_grown(passes: Passes) -> None:
    await passes.add(*range(10))
    passes.limit.limit = 5
    await passes.end(0)
    assert passes.begun == [0, 1, 2, 3, 4, 5]


async def test_an_urgent_key_begins_as_soon_as_a_pass_ends(passes: Passes) -> None:
    await passes.add(*range(10))
    passes.queue.add(99, WakeReason.URGENT)
    await passes.end(0)
    assert passes.begun == [0, 1, 2, 99]


@pytest.mark.parametrize(
    ("seconds", "begun"),
    [(0.999, [0, 1, 2]), (1.0, [0, 1, 2, 3, 4, 5])],
    ids=["just before, no other begins", "then each makes room for one other"],
)
async def test_a_pass_counts_for_a_second(passes: Passes, seconds: float, begun: list[int]) -> None:
    await passes.add(*range(7))
    await passes.clock.advance(seconds)
    assert passes.begun == begun


async def test_a_slow_pass_that_ends_makes_no_second_room(passes: Passes) -> None:
    await passes.add(*range(7))
    await passes.clock.advance(1.0)
    await passes.end(0)
    assert passes.begun == [0, 1, 2, 3, 4, 5]
    await passes.end(3)
    assert passes.begun == [0, 1, 2, 3, 4, 5, 6]


async def test_no_timer_waits_for_a_slow_pass_while_no_key_waits(passes: Passes) -> None:
    await passes.add(*range(LEAST))
    assert passes.clock.sleeping == []
    await passes.add(LEAST)
    assert passes.clock.sleeping == [1.0]


async def test_however_slow_they_are_only_so_many_run(passes: Passes) -> None:
    await passes.add(*range(MOST + 2))
    for _ in range(MOST):
        await passes.clock.advance(1.0)
    assert len(passes.begun) == WITH_SLOW
    await passes.end(0)
    assert len(passes.begun) == WITH_SLOW + 1
    passes.limit.limit = WITH_SLOW + 10
    await passes.end(1)
    assert len(passes.begun) == WITH_SLOW + 12


async def test_a_pass_that_only_waits_makes_room_until_it_goes_on(passes: Passes) -> None:
    with passes.queue.only_waits(0), passes.queue.only_waits(1):
        await passes.add(*range(LEAST + 3))
        assert passes.begun == [0, 1, 2, 3, 4]
    await passes.end(0, 2)
    assert passes.begun == [0, 1, 2, 3, 4]
    await passes.end(1)
    assert passes.begun == [0, 1, 2, 3, 4, 5]


async def test_only_so_many_passes_wait(passes: Passes) -> None:
    await passes.add(*range(MOST))
    with ExitStack() as waiting:
        for key in range(MOST):
            waiting.enter_context(passes.queue.only_waits(key))
            await settle()
        assert len(passes.begun) == WITH_SLOW


async def test_slow_passes_do_not_hide_that_few_passes_run(passes: Passes) -> None:
    """Else the API server's latency without load would not be known while passes hang."""
    await passes.add(*range(LEAST))
    await passes.clock.advance(1.0)
    for latency in (0.1, 0.3):
        for _ in range(10):
            passes.queue.answered(latency, rejected=False)
        await passes.clock.advance(FORGOTTEN)
    assert passes.limit._baseline == Baseline(0.3, FORGOTTEN + 1.0)


async def test_one_pass_begins_in_each_turn_of_the_event_loop(passes: Passes) -> None:
    """The first steps of many passes would delay watches and probes by their sum."""
    passes.limit.limit = MOST
    for key in range(20):
        passes.queue.add(key)
    begun = []
    for _ in range(10):
        await asyncio.sleep(0)
        begun.append(len(passes.begun))
    assert all(after - before <= 1 for before, after in pairwise(begun))
    assert begun[-1] > 5
