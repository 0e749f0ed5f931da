"""Virtual time: the order of callbacks, and processes that freeze."""

import asyncio

import pytest

from tests.simulation.loop import PROCESS, Deadlock, VirtualLoop


@pytest.fixture
def loop() -> VirtualLoop:
    return VirtualLoop()


def test_timers_due_at_one_moment_run_in_the_order_in_which_they_were_set(
    loop: VirtualLoop,
) -> None:
    seen: list[int] = []
    for number in range(20):
        loop.outside(5.0 if number % 2 else 4.0, seen.append, number)
    loop.run_until_complete(asyncio.sleep(6.0))
    assert seen == [*range(0, 20, 2), *range(1, 20, 2)]
    assert loop.now == 6.0


def test_a_loop_without_timers_ends_with_a_deadlock(loop: VirtualLoop) -> None:
    with pytest.raises(Deadlock):
        loop.run_until_complete(loop.create_future())


def test_a_set_of_tasks_iterates_in_the_order_of_their_creation(loop: VirtualLoop) -> None:
    async def main() -> list[str]:
        tasks = {asyncio.ensure_future(asyncio.sleep(1.0)) for _ in range(50)}
        await asyncio.wait(tasks)
        return [task.get_name() for task in tasks]

    names = loop.run_until_complete(main())
    assert names == sorted(names, key=lambda name: int(name.removeprefix("Task-")))


def test_a_frozen_process_gets_its_answers_before_its_overdue_timers(loop: VirtualLoop) -> None:
    seen: list[tuple[float, str]] = []
    answer: asyncio.Future[str] = loop.create_future()

    async def read() -> None:
        text = await answer
        seen.append((loop.now, text))

    async def tick() -> None:
        for _ in range(3):
            await asyncio.sleep(2.0)
            seen.append((loop.now, "tick"))

    async def main() -> None:
        PROCESS.set("a")
        tasks = [asyncio.ensure_future(each) for each in (tick(), read())]
        loop.outside(3.0, loop.freeze, "a")
        loop.outside(5.0, answer.set_result, "answer")
        loop.outside(9.0, loop.wake, "a")
        await asyncio.wait(tasks)

    loop.run_until_complete(main())
    assert seen == [(2.0, "tick"), (9.0, "answer"), (9.0, "tick"), (11.0, "tick")]
