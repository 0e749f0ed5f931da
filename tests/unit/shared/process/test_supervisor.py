import asyncio
import os
import signal

import pytest
import uvloop

from shared.process.supervisor import PartEnded, Runnable, Supervisor, stop_on_signals
from tests.support.fakes.fake_clock import FakeClock, settle


class Diary:
    """Parts that write down when they begin and end."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def part(self, name: str, **options: object) -> Runnable:
        async def run() -> None:
            self.lines.append(f"{name} begins")
            try:
                await asyncio.Event().wait()
            finally:
                self.lines.append(f"{name} ends")

        return Runnable(name, "a test", run, **options)  # type: ignore[arg-type]


@pytest.fixture
def diary() -> Diary:
    return Diary()


async def test_parts_start_in_order_and_end_in_reverse(diary: Diary) -> None:
    stop = asyncio.Event()
    supervisor = Supervisor([diary.part("a"), diary.part("b")], FakeClock())
    running = asyncio.create_task(supervisor.run(stop))
    await settle()
    assert diary.lines == ["a begins", "b begins"]
    assert not running.done()
    stop.set()
    await running
    assert diary.lines[2:] == ["b ends", "a ends"]


async def test_a_part_waits_for_the_one_before_to_be_ready(diary: Diary) -> None:
    synced, stop = asyncio.Event(), asyncio.Event()

    async def ready() -> None:
        await synced.wait()

    parts = [diary.part("informers", ready=ready), diary.part("workers")]
    running = asyncio.create_task(Supervisor(parts, FakeClock()).run(stop))
    await settle()
    assert diary.lines == ["informers begins"]
    synced.set()
    await settle()
    assert diary.lines == ["informers begins", "workers begins"]
    stop.set()
    await running


async def test_a_stop_while_a_part_is_not_ready_starts_no_more(diary: Diary) -> None:
    stop = asyncio.Event()

    async def never() -> None:
        await asyncio.Event().wait()

    parts = [diary.part("informers", ready=never), diary.part("workers")]
    running = asyncio.create_task(Supervisor(parts, FakeClock()).run(stop))
    await settle()
    stop.set()
    await running
    assert diary.lines == ["informers begins", "informers ends"]


async def test_a_part_that_fails_ends_all_others(diary: Diary) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    parts = [diary.part("a"), Runnable("b", "a test", fail), diary.part("c")]
    with pytest.raises(ValueError, match="broken"):
        await Supervisor(parts, FakeClock()).run(asyncio.Event())
    assert diary.lines == ["a begins", "c begins", "c ends", "a ends"]


async def test_a_part_that_fails_before_the_next_is_ready_is_reported(diary: Diary) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    async def never() -> None:
        await asyncio.Event().wait()

    parts = [Runnable("a", "a test", fail, ready=never), diary.part("b")]
    with pytest.raises(ValueError, match="broken"):
        await Supervisor(parts, FakeClock()).run(asyncio.Event())
    assert diary.lines == []


async def test_a_failing_readiness_ends_all(diary: Diary) -> None:
    async def fail() -> None:
        raise ValueError("never ready")

    with pytest.raises(ValueError, match="never ready"):
        await Supervisor([diary.part("a", ready=fail)], FakeClock()).run(asyncio.Event())
    assert diary.lines == ["a begins", "a ends"]


async def test_a_part_that_ends_by_itself_is_a_failure() -> None:
    async def end() -> None:
        pass

    with pytest.raises(PartEnded) as raised:
        await Supervisor([Runnable("a", "a test", end)], FakeClock()).run(asyncio.Event())
    assert str(raised.value) == "a ended by itself"


async def test_a_part_added_later_counts_too(diary: Diary) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    supervisor = Supervisor([diary.part("a")], FakeClock())
    running = asyncio.create_task(supervisor.run(asyncio.Event()))
    await settle()
    supervisor.also_run("late", fail)
    with pytest.raises(ValueError, match="broken"):
        await running
    assert diary.lines == ["a begins", "a ends"]


async def test_two_parts_of_one_name_are_a_bug(diary: Diary) -> None:
    supervisor = Supervisor([diary.part("a"), diary.part("a")], FakeClock())
    with pytest.raises(ValueError, match="a part named 'a' runs already"):
        await supervisor.run(asyncio.Event())


class Draining:
    """A part that finishes its work when asked to."""

    def __init__(self, finished: list[str], name: str = "workers") -> None:
        self.name = name
        self.asked = asyncio.Event()
        self.may_end = asyncio.Event()
        self.finished = finished

    async def run(self) -> None:
        await self.asked.wait()
        await self.may_end.wait()
        self.finished.append(self.name)


async def test_on_a_stop_work_is_finished_while_what_it_needs_still_runs(diary: Diary) -> None:
    stop = asyncio.Event()
    work = Draining(diary.lines)
    workers = Runnable("workers", "a test", work.run, drain=work.asked.set)
    running = asyncio.create_task(
        Supervisor([diary.part("informers"), workers], FakeClock()).run(stop)
    )
    await settle()
    stop.set()
    await settle()
    assert diary.lines == ["informers begins"]
    work.may_end.set()
    await running
    assert diary.lines == ["informers begins", "workers", "informers ends"]


async def test_a_part_that_was_added_later_outlives_the_work(diary: Diary) -> None:
    stop = asyncio.Event()
    work = Draining(diary.lines)
    workers = Runnable("workers", "a test", work.run, drain=work.asked.set)
    supervisor = Supervisor([diary.part("pods"), workers], FakeClock())
    running = asyncio.create_task(supervisor.run(stop))
    await settle()
    supervisor.also_run("jobs", diary.part("jobs").run)
    await settle()
    stop.set()
    await settle()
    work.may_end.set()
    await running
    assert diary.lines == ["pods begins", "jobs begins", "workers", "jobs ends", "pods ends"]


async def test_the_later_of_two_finishing_parts_stops_first(diary: Diary) -> None:
    """What workers decide last is still told of."""
    stop = asyncio.Event()
    events, workers = Draining(diary.lines, "events"), Draining(diary.lines, "workers")
    parts = [
        Runnable(each.name, "a test", each.run, drain=each.asked.set) for each in (events, workers)
    ]
    running = asyncio.create_task(Supervisor(parts, FakeClock()).run(stop))
    await settle()
    stop.set()
    events.may_end.set()
    await settle()
    assert (events.asked.is_set(), workers.asked.is_set()) == (False, True)
    workers.may_end.set()
    await running
    assert diary.lines == ["workers", "events"]


async def test_work_that_does_not_finish_in_time_is_cancelled(
    diary: Diary, caplog: pytest.LogCaptureFixture
) -> None:
    stop, clock = asyncio.Event(), FakeClock()
    work = Draining(diary.lines)
    workers = Runnable("workers", "a test", work.run, drain=work.asked.set)
    parts = [diary.part("informers"), workers]
    running = asyncio.create_task(Supervisor(parts, clock, grace=10).run(stop))
    await settle()
    stop.set()
    await clock.advance(9.9)
    assert not running.done()
    await clock.advance(0.1)
    await running
    assert diary.lines == ["informers begins", "informers ends"]
    assert caplog.messages == ["workers did not finish in 10 s and is cancelled"]


async def test_being_cancelled_ends_all_parts(diary: Diary) -> None:
    running = asyncio.create_task(Supervisor([diary.part("a")], FakeClock()).run(asyncio.Event()))
    await settle()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert diary.lines == ["a begins", "a ends"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_for_a_stop_and_a_second_one_ends_the_process(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    async def asked() -> object:
        stop = asyncio.Event()
        stop_on_signals(stop)
        os.kill(os.getpid(), number)
        await stop.wait()
        return signal.getsignal(number)

    try:
        # Unhandled, it ends the process: at once, or as Ctrl-C does in Python.
        assert uvloop.run(asked()) in (signal.SIG_DFL, signal.default_int_handler)
    finally:
        signal.signal(number, before)


async def test_cancelled_it_lets_no_part_finish_its_work(diary: Diary) -> None:
    drained: list[str] = []
    parts = [diary.part("a"), diary.part("b", drain=lambda: drained.append("b"))]
    running = asyncio.create_task(Supervisor(parts, FakeClock()).run(asyncio.Event()))
    await settle()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert diary.lines == ["a begins", "b begins", "b ends", "a ends"]
    assert drained == []


async def test_cancelled_while_a_part_drains_it_ends_that_part_too(diary: Diary) -> None:
    stop = asyncio.Event()
    parts = [diary.part("a"), diary.part("b", drain=lambda: None)]
    running = asyncio.create_task(Supervisor(parts, FakeClock()).run(stop))
    await settle()
    stop.set()
    await settle()
    assert diary.lines == ["a begins", "b begins"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert diary.lines[2:] == ["b ends", "a ends"]
