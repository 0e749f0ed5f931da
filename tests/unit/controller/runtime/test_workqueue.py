import asyncio
from collections.abc import AsyncIterator

import pytest

from controller.runtime.workqueue import KeyQueue, ShutDown, WorkQueue
from tests.builders.fake_clock import FakeClock, settle


def taken(queue: KeyQueue[str]) -> list[str]:
    keys = []
    while (key := queue.take()) is not None:
        keys.append(key)
    return keys


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def queue(clock: FakeClock) -> AsyncIterator[WorkQueue[str]]:
    made = WorkQueue[str](clock)
    yield made
    made.shut_down()


class TestKeyQueue:
    def test_keys_come_in_order_and_once(self) -> None:
        queue = KeyQueue[str]()
        for key in "abab":
            queue.add(key)
        assert queue.ready == 2
        assert taken(queue) == ["a", "b"]

    def test_a_key_in_work_is_not_given_out_again(self) -> None:
        queue = KeyQueue[str]()
        queue.add("a")
        assert queue.take() == "a"
        queue.add("a")
        queue.add("a")
        assert queue.take() is None
        assert (queue.ready, queue.in_work) == (0, 1)
        queue.done("a")
        assert taken(queue) == ["a"]
        queue.done("a")
        assert taken(queue) == []

    def test_a_key_that_was_not_added_meanwhile_does_not_come_back(self) -> None:
        queue = KeyQueue[str]()
        queue.add("a")
        queue.take()
        queue.done("a")
        assert taken(queue) == []

    def test_only_the_earliest_moment_counts(self) -> None:
        queue = KeyQueue[str]()
        queue.add_at("a", 20)
        queue.add_at("a", 10)
        queue.add_at("a", 30)
        assert queue.next_moment() == 10
        assert queue.waiting == 1
        queue.release(9.9)
        assert queue.take() is None
        queue.release(10)
        assert queue.take() == "a"
        assert queue.next_moment() is None
        queue.done("a")
        queue.release(100)
        assert queue.take() is None

    def test_moments_come_in_order(self) -> None:
        queue = KeyQueue[str]()
        queue.add_at("b", 2)
        queue.add_at("a", 1)
        queue.add_at("c", 3)
        queue.release(2)
        assert taken(queue) == ["a", "b"]
        assert queue.next_moment() == 3

    def test_taking_a_key_drops_its_moment(self) -> None:
        queue = KeyQueue[str]()
        queue.add_at("a", 10)
        queue.add("a")
        assert queue.take() == "a"
        assert queue.next_moment() is None

    def test_a_moment_named_while_in_work_is_kept(self) -> None:
        queue = KeyQueue[str]()
        queue.add("a")
        queue.take()
        queue.add_at("a", 10)
        queue.done("a")
        queue.release(10)
        assert queue.take() == "a"

    def test_a_moment_that_comes_while_in_work_waits_for_its_end(self) -> None:
        queue = KeyQueue[str]()
        queue.add("a")
        queue.take()
        queue.add_at("a", 10)
        queue.release(10)
        assert queue.take() is None
        queue.done("a")
        assert queue.take() == "a"

    def test_giving_back_what_was_not_taken_is_a_bug(self) -> None:
        with pytest.raises(KeyError):
            KeyQueue[str]().done("a")


class TestWorkQueue:
    async def test_a_taker_waits_for_a_key(self, queue: WorkQueue[str]) -> None:
        taker = asyncio.create_task(queue.take())
        await settle()
        assert not taker.done()
        queue.add("a")
        assert await taker == "a"

    async def test_each_taker_gets_its_own_key(self, queue: WorkQueue[str]) -> None:
        takers = [asyncio.create_task(queue.take()) for _ in range(3)]
        await settle()
        for key in "abc":
            queue.add(key)
        assert await asyncio.gather(*takers) == ["a", "b", "c"]

    async def test_a_delayed_key_comes_at_its_moment(
        self, queue: WorkQueue[str], clock: FakeClock
    ) -> None:
        queue.add_after("a", 10)
        taker = asyncio.create_task(queue.take())
        await clock.advance(9.9)
        assert not taker.done()
        await clock.advance(0.1)
        assert taker.done()
        assert await taker == "a"

    async def test_an_earlier_moment_replaces_the_alarm(
        self, queue: WorkQueue[str], clock: FakeClock
    ) -> None:
        queue.add_after("a", 10)
        await settle()
        queue.add_after("b", 5)
        queue.add_after("a", 3)
        await clock.advance(3)
        assert await queue.take() == "a"
        await clock.advance(2)
        assert await queue.take() == "b"
        queue.done("a")
        queue.done("b")
        await clock.advance(100)
        assert queue.depth == 0

    async def test_no_delay_is_now(self, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 0)
        queue.add_after("b", -1)
        assert [await queue.take(), await queue.take()] == ["a", "b"]

    async def test_a_key_added_while_in_work_comes_again_after_it(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        await queue.take()
        queue.add("a")
        taker = asyncio.create_task(queue.take())
        await settle()
        assert not taker.done()
        queue.done("a")
        assert await taker == "a"

    async def test_a_taker_cancelled_after_it_was_woken_passes_its_key_on(
        self, queue: WorkQueue[str]
    ) -> None:
        first, second = (asyncio.create_task(queue.take()) for _ in range(2))
        await settle()
        queue.add("a")
        first.cancel()
        assert await second == "a"

    async def test_shut_down_ends_takers_and_refuses_keys(
        self, queue: WorkQueue[str], clock: FakeClock
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
        assert (queue.depth, queue.in_work) == (0, 0)
