import asyncio
from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.pass_limit import PassLimit
from controller.runtime.workqueue import QueueMetrics, ShutDown, WakeReason, WorkQueue
from tests.support.fakes.fake_clock import FakeClock, settle


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def queue_of(clock: FakeClock) -> WorkQueue[str]:
    return WorkQueue(clock, QueueMetrics(CollectorRegistry(), "appwrapper"), PassLimit())


@pytest.fixture
async def queue(clock: FakeClock) -> AsyncIterator[WorkQueue[str]]:
    made = queue_of(clock)
    yield made
    made.shut_down()


async def test_a_taker_waits_for_a_key(queue: WorkQueue[str]) -> None:
    taker = asyncio.create_task(queue.take())
    await settle()
    assert not taker.done()
    queue.add("a")
    assert (await taker).key == "a"


async def test_each_taker_gets_its_own_key(queue: WorkQueue[str]) -> None:
    takers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await settle()
    for key in "abc":
        queue.add(key)
    assert [each.key for each in await asyncio.gather(*takers)] == ["a", "b", "c"]


async def test_a_delayed_key_comes_at_its_moment(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 10)
    taker = asyncio.create_task(queue.take())
    await clock.advance(9.9)
    assert not taker.done()
    await clock.advance(0.1)
    assert taker.done()
    assert (await taker).key == "a"


async def test_an_earlier_moment_replaces_the_alarm(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add_after("a", 10)
    await settle()
    queue.add_after("b", 5)
    queue.add_after("a", 3)
    await clock.advance(3)
    assert (await queue.take()).key == "a"
    await clock.advance(2)
    assert (await queue.take()).key == "b"
    queue.done("a")
    queue.done("b")
    await clock.advance(100)
    assert queue.depth == 0


async def test_no_delay_is_now(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0)
    queue.add_after("b", -1)
    assert [(await queue.take()).key for _ in range(2)] == ["a", "b"]


async def test_a_key_added_while_in_work_comes_again_after_it(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.add("a")
    taker = asyncio.create_task(queue.take())
    await settle()
    assert not taker.done()
    queue.done("a")
    await settle()
    assert taker.done()
    assert (await taker).key == "a"


async def test_a_taker_cancelled_after_it_was_woken_passes_its_key_on(
    queue: WorkQueue[str],
) -> None:
    first, second = (asyncio.create_task(queue.take()) for _ in range(2))
    await settle()
    queue.add("a")
    first.cancel()
    await settle()
    assert second.done()
    assert (await second).key == "a"


async def test_shut_down_ends_takers_and_refuses_keys(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add("in work")
    await queue.take()
    queue.add_after("later", 10)
    waiting = asyncio.create_task(queue.take())
    await settle()
    queue.shut_down()
    queue.add("new")
    queue.add_after("new", 1)
    with pytest.raises(ShutDown):
        await waiting
    with pytest.raises(ShutDown):
        await queue.take()
    queue.done("in work")
    await settle()
    assert clock.sleeping == []
    assert (queue.depth, queue.in_work_for()) == (0, [])


async def test_a_deadline_that_passed_unnoticed_is_a_reason_all_the_same(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    """The loop was busy: the resync's alarm rings late, and the deadline's has yet to ring."""
    queue.add_after("a", 10, WakeReason.RESYNC)
    queue.add_after("a", 11)
    await settle()
    clock.pass_by(12)
    assert (await queue.take()).wake is WakeReason.DEADLINE


async def test_a_retry_keeps_the_reason_of_what_failed(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.retry_after("a", 5, WakeReason.RESYNC)
    await clock.advance(5)
    assert (await queue.take()).wake is WakeReason.RESYNC


NAMES = (
    "workqueue_adds_total",
    "workqueue_retries_total",
    "workqueue_depth",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "workqueue_queue_duration_seconds_count",
    "workqueue_queue_duration_seconds_sum",
    "workqueue_work_duration_seconds_count",
    "workqueue_work_duration_seconds_sum",
)


class Measured:
    """A queue and what its metrics say, in the order of NAMES."""

    def __init__(self, clock: FakeClock) -> None:
        self._registry = CollectorRegistry()
        self.queue = WorkQueue[str](clock, QueueMetrics(self._registry, "appwrapper"), PassLimit())

    def values(self) -> list[float | None]:
        label = {"name": "appwrapper"}
        return [self._registry.get_sample_value(name, label) for name in NAMES]


async def test_metrics_for_dashboards_of_work_queues(clock: FakeClock) -> None:
    measured = Measured(clock)
    queue = measured.queue
    assert measured.values() == [0] * len(NAMES)
    queue.add("a")
    queue.add("a")
    queue.add_after("b", 1)
    await clock.advance(2)
    assert measured.values() == [2, 0, 2, 0, 0, 0, 0, 0, 0]
    assert [(await queue.take()).key for _ in range(2)] == ["a", "b"]
    await clock.advance(3)
    assert measured.values() == [2, 0, 0, 6, 3, 2, 3, 0, 0]
    queue.retry_after("a", 60, WakeReason.CHANGE)
    queue.done("a")
    await clock.advance(1)
    assert measured.values() == [2, 1, 0, 4, 4, 2, 3, 1, 3]
    queue.shut_down()


def test_durations_fall_into_the_buckets_of_client_go() -> None:
    registry = CollectorRegistry()
    QueueMetrics(registry, "appwrapper")
    (family,) = [each for each in registry.collect() if each.name.startswith("workqueue_queue")]
    bounds = [each.labels["le"] for each in family.samples if "le" in each.labels]
    assert [float(bound) for bound in bounds] == [
        *(pytest.approx(10.0**exponent) for exponent in range(-8, 4)),
        float("inf"),
    ]


async def test_a_taker_gets_a_key_once_it_has_rested(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add("a")
    await queue.take()
    queue.add("a")
    queue.done("a", 0.2)
    taker = asyncio.create_task(queue.take())
    await clock.advance(0.1)
    assert not taker.done()
    queue.add("b")
    assert (await taker).key == "b"
    taker = asyncio.create_task(queue.take())
    await clock.advance(0.1)
    assert (await taker).key == "a"


async def test_a_rest_after_the_end_sets_no_alarm(clock: FakeClock) -> None:
    queue = queue_of(clock)
    queue.add("a")
    await queue.take()
    queue.shut_down()
    before = asyncio.all_tasks()
    queue.done("a", 0.2)
    assert asyncio.all_tasks() == before
