import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.pass_limit import PassLimit
from controller.runtime.worker import (
    LAST_PASSES,
    RESYNC,
    RESYNC_JITTER,
    Done,
    RequeueAfter,
    Result,
    Workers,
)
from controller.runtime.workqueue import QueueMetrics, Taken, WakeReason, WorkQueue
from shared.kube.client import ApiError, Conflict, KubeError, TooManyRequests, Unreachable
from shared.process.backoff import ExponentialBackoff
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle

CONFLICT = Conflict(409, "Conflict", "changed")
ACTED, WAITS = RequeueAfter(acted=True), RequeueAfter(acted=False)
AT_ONCE = RequeueAfter(timedelta(0))
TAKEN = Taken("a", WakeReason.CHANGE, 0.0)


class Passes:
    """Counts passes by result, as the metrics do."""

    def __init__(self) -> None:
        self.results: list[tuple[str, float]] = []
        self.repairs = 0

    def passed(self, result: str, seconds: float) -> None:
        self.results.append((result, seconds))

    def repaired(self) -> None:
        self.repairs += 1


class WorkBench:
    """Workers around a scripted reconcile."""

    def __init__(self, reconcile: Callable[[str], Awaitable[Result]], count: int = 1) -> None:
        self.clock = FakeClock()
        metrics, limit = QueueMetrics(CollectorRegistry(), "test"), PassLimit()
        limit.limit = count
        self.queue = WorkQueue[str](self.clock, metrics, limit)
        self.limiter = ExponentialBackoff[str](first=1, longest=60)
        self.passes = Passes()
        self.workers = Workers(
            self.queue,
            reconcile,
            sources=fake_sources(self.clock),
            limiter=self.limiter,
            log_fields=lambda key: {"object_name": key},
            observer=self.passes,
        )


Benches = Callable[..., WorkBench]


@pytest.fixture
def bench_of() -> Iterator[Benches]:
    """Makes benches; their queues are shut down at the end, alarms with them."""
    made: list[WorkBench] = []

    def make(reconcile: Callable[[str], Awaitable[Result]], count: int = 1) -> WorkBench:
        made.append(WorkBench(reconcile, count))
        return made[-1]

    yield make
    for bench in made:
        bench.queue.shut_down()


def scripted(*outcomes: Result | BaseException) -> Callable[[str], Awaitable[Result]]:
    left = list(outcomes)

    async def reconcile(key: str) -> Result:
        outcome = left.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return reconcile


@pytest.mark.parametrize(
    ("outcome", "result", "comes_back_in", "failures"),
    [
        (Done(), "success", None, 0),
        (RequeueAfter(timedelta(0)), "requeue_after", 0.0, 0),
        (RequeueAfter(timedelta(seconds=7)), "requeue_after", 7.0, 0),
        (CONFLICT, "error", 4.0, 3),
        (Unreachable("refused"), "error", 4.0, 3),
        (TooManyRequests(429, "TooManyRequests", "later", 9.0), "error", 9.0, 3),
        (TooManyRequests(429, "TooManyRequests", "later", 2.0), "error", 4.0, 3),
        (ApiError(503, "ServiceUnavailable", "later", 9.0), "error", 9.0, 3),
        (RuntimeError("bug"), "error", 4.0, 3),
    ],
)
async def test_each_outcome_has_its_requeue(
    bench_of: Benches,
    outcome: Result | BaseException,
    result: str,
    comes_back_in: float | None,
    failures: int,
) -> None:
    bench = bench_of(scripted(outcome))
    for _ in range(2):  # two failures before: the third delay is 4 s
        bench.limiter.next_delay("a")
    await bench.workers.work_on(TAKEN)
    await settle()
    if comes_back_in == 0.0:
        assert bench.queue.depth == 1
    else:
        assert bench.clock.sleeping == ([] if comes_back_in is None else [comes_back_in])
    assert bench.limiter.failures("a") == failures
    assert bench.passes.results == [(result, 0.0)]


@pytest.mark.parametrize(
    ("outcomes", "passes"),
    [
        ([AT_ONCE, RequeueAfter(timedelta(seconds=7))], 2),
        ([AT_ONCE, AT_ONCE, AT_ONCE, AT_ONCE], 1 + LAST_PASSES),
        ([RequeueAfter(timedelta(seconds=7)), AT_ONCE], 1),
        ([Unreachable("refused"), AT_ONCE], 1),
        ([AT_ONCE, RuntimeError("bug"), AT_ONCE], 2),
    ],
)
async def test_at_the_end_what_goes_on_at_once_is_still_done(
    bench_of: Benches, outcomes: list[Result | BaseException], passes: int
) -> None:
    """What a pass created is recorded by the next: nobody else may make it again."""
    done = 0
    script = scripted(*outcomes)

    async def reconcile(key: str) -> Result:
        nonlocal done
        done += 1
        return await script(key)

    bench = bench_of(reconcile)
    bench.queue.shut_down()
    await bench.workers.work_on(TAKEN)
    assert done == passes
    assert len(bench.passes.results) == 1


@pytest.mark.parametrize(
    ("outcome", "logged"),
    [
        (Done(), []),
        (RequeueAfter(timedelta(seconds=1)), []),
        (CONFLICT, []),
        (KubeError("x"), [("WARNING", "request failed: x")]),
        (RuntimeError("bug"), [("ERROR", "reconcile failed")]),
    ],
)
async def test_each_outcome_has_its_log_line(
    bench_of: Benches,
    outcome: Result | BaseException,
    logged: list[tuple[str, str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    await bench_of(scripted(outcome)).workers.work_on(TAKEN)
    assert [(record.levelname, record.message) for record in caplog.records] == logged
    assert all(record.__dict__["object_name"] == "a" for record in caplog.records)
    tracebacks = [record.exc_info is not None for record in caplog.records]
    assert tracebacks == [isinstance(outcome, RuntimeError)] * len(logged)


class TestResync:
    """RESYNC after a pass, give or take the jitter, a key comes back if nothing else woke it."""

    EARLIEST, LATEST = (RESYNC.total_seconds() * each for each in RESYNC_JITTER)

    async def test_an_unfinished_key_is_reconciled_after_ten_minutes(
        self, bench_of: Benches
    ) -> None:
        bench = bench_of(scripted(RequeueAfter()))
        await bench.workers.work_on(TAKEN)
        await settle()
        (resync,) = bench.clock.sleeping
        assert self.EARLIEST <= resync <= self.LATEST
        assert (self.EARLIEST, self.LATEST) == (540, 660)
        assert bench.passes.results == [("success", 0.0)]

    async def test_keys_that_were_added_together_resync_at_different_times(
        self, bench_of: Benches, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench = bench_of(scripted(*[RequeueAfter()] * 5))
        asked: list[float] = []
        monkeypatch.setattr(bench.queue, "add_after", lambda _, seconds, __: asked.append(seconds))
        for number in range(5):
            await bench.workers.work_on(Taken(f"train-{number}", WakeReason.CHANGE, 0.0))
        assert len(set(asked)) == 5
        assert all(540 <= each <= 660 for each in asked)

    @pytest.mark.parametrize(
        ("outcomes", "added_after", "repairs"),
        [
            pytest.param([ACTED], None, 1, id="the resync found something to do"),
            pytest.param([WAITS], None, 0, id="it found nothing"),
            pytest.param([CONFLICT, ACTED], None, 1, id="at the second try"),
            pytest.param([ACTED, ACTED], None, 2, id="and again ten minutes later"),
            pytest.param([ACTED], 100, 0, id="a change came before"),
        ],
    )
    async def test_repairs_are_counted(
        self,
        bench_of: Benches,
        outcomes: list[Result | BaseException],
        added_after: float | None,
        repairs: int,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        bench = bench_of(scripted(RequeueAfter(acted=True), *outcomes, Done()))
        bench.queue.add("a")
        running = asyncio.create_task(bench.workers.run())
        await settle()
        if added_after is not None:
            await bench.clock.advance(added_after)
            bench.queue.add("a")
            await settle()
        while len(bench.passes.results) <= len(outcomes):
            await bench.clock.advance(60)
        assert bench.passes.repairs == repairs
        logged = [each for each in caplog.records if "the resync found" in each.message]
        assert [each.__dict__["object_name"] for each in logged] == ["a"] * repairs
        bench.queue.shut_down()
        await running

    async def test_a_deadline_that_comes_before_the_resync_is_no_repair(
        self, bench_of: Benches
    ) -> None:
        nine_minutes = RequeueAfter(timedelta(minutes=9) - timedelta(seconds=1), acted=True)
        bench = bench_of(scripted(nine_minutes, RequeueAfter(acted=True), Done()))
        bench.queue.add("a")
        running = asyncio.create_task(bench.workers.run())
        await bench.clock.advance(539)
        assert len(bench.passes.results) == 2
        assert bench.passes.repairs == 0
        bench.queue.shut_down()
        await running


async def test_a_failing_key_is_worked_on_again(bench_of: Benches) -> None:
    bench = bench_of(scripted(RuntimeError("bug"), CONFLICT, Done()))
    bench.queue.add("a")
    running = asyncio.create_task(bench.workers.run())
    await bench.clock.advance(0.9)
    assert [result for result, _ in bench.passes.results] == ["error"]
    await bench.clock.advance(0.1)
    assert [result for result, _ in bench.passes.results] == ["error", "error"]
    await bench.clock.advance(2)
    assert [result for result, _ in bench.passes.results] == ["error", "error", "success"]
    bench.queue.shut_down()
    await running


async def test_several_keys_at_once_but_never_one_twice(bench_of: Benches) -> None:
    at_once: list[str] = []
    most = 0
    gate = asyncio.Event()

    async def reconcile(key: str) -> Result:
        nonlocal most
        assert key not in at_once
        at_once.append(key)
        most = max(most, len(at_once))
        await gate.wait()
        at_once.remove(key)
        return Done()

    bench = bench_of(reconcile, count=3)
    running = asyncio.create_task(bench.workers.run())
    for key in "abcde":
        bench.queue.add(key)
    await settle()
    for key in "abcde":
        bench.queue.add(key)
    assert most == 3
    gate.set()
    await settle(100)
    # a, b and c were in work when they were added again; d and e were still waiting.
    assert len(bench.passes.results) == 8
    bench.queue.shut_down()
    await running


async def test_shut_down_lets_work_finish(bench_of: Benches) -> None:
    gate = asyncio.Event()
    finished = []

    async def reconcile(key: str) -> Result:
        await gate.wait()
        finished.append(key)
        return Done()

    bench = bench_of(reconcile)
    bench.queue.add("a")
    bench.queue.add("b")
    running = asyncio.create_task(bench.workers.run())
    await settle()
    bench.queue.shut_down()
    await settle()
    assert not running.done()
    gate.set()
    await running
    assert finished == ["a"]


async def test_a_cancelled_pass_gives_its_key_back(bench_of: Benches) -> None:
    async def reconcile(key: str) -> Result:
        await asyncio.Event().wait()
        return Done()

    bench = bench_of(reconcile)
    bench.queue.add("a")
    running = asyncio.create_task(bench.workers.run())
    await settle()
    assert bench.queue.in_work_for() == [0.0]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.queue.in_work_for() == []


async def test_a_cancellation_from_within_does_not_end_the_worker(
    bench_of: Benches, caplog: pytest.LogCaptureFixture
) -> None:
    bench = bench_of(scripted(asyncio.CancelledError(), Done()))
    bench.queue.add("a")
    running = asyncio.create_task(bench.workers.run())
    await bench.clock.advance(1)
    assert [result for result, _ in bench.passes.results] == ["error", "success"]
    assert caplog.messages == ["reconcile was cancelled from within"]
    bench.queue.shut_down()
    await running


async def test_a_key_in_a_hot_error_loop_does_not_delay_the_others(bench_of: Benches) -> None:
    """One worker, so that nothing but order and back-off can help the others."""
    order: list[str] = []

    async def reconcile(key: str) -> Result:
        order.append(key)
        if key == "hot" and len(order) < 1000:  # no loop without an end if this test gets no turn
            bench.queue.add("hot")  # it also changes all the time
            raise RuntimeError("always")
        return Done()

    bench = bench_of(reconcile)
    running = asyncio.create_task(bench.workers.run())
    bench.queue.add("hot")
    for key in "abc":
        bench.queue.add(key)
    await settle()
    assert order[:7] == ["hot", "a", "b", "c", "hot", "hot", "hot"]
    assert len(order) < 1000
    bench.queue.shut_down()
    await running


async def test_failures_alone_are_tried_again_ever_more_rarely(bench_of: Benches) -> None:
    moments: list[float] = []

    async def reconcile(key: str) -> Result:
        moments.append(bench.clock.monotonic())
        raise RuntimeError("always")

    bench = bench_of(reconcile)
    bench.queue.add("a")
    running = asyncio.create_task(bench.workers.run())
    await bench.clock.advance(200)
    assert moments == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    bench.queue.shut_down()
    await running


async def test_a_key_rests_as_long_as_its_pass_asks_for(bench_of: Benches) -> None:
    async def reconcile(key: str) -> Result:
        bench.queue.add(key)  # it changes all the time
        return RequeueAfter(rest=timedelta(seconds=2))

    bench = bench_of(reconcile)
    bench.queue.add("a")
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.workers.run())
        await bench.clock.advance(5)
        bench.queue.shut_down()
    assert len(bench.passes.results) == 3  # at 0, 2 and 4
