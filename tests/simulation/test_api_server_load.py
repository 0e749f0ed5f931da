"""How many passes run at once with API servers of different speed, in virtual time."""

import asyncio
import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from statistics import mean
from typing import Any, Final

from prometheus_client import CollectorRegistry

from controller.metrics import ControllerMetrics
from controller.runtime.pass_limit import LEAST, MOST, PassLimit
from controller.runtime.worker import RequeueAfter, Result, Workers
from controller.runtime.workqueue import QueueMetrics, WakeReason, WorkQueue
from shared.kube.client import TooManyRequests
from shared.process.backoff import ExponentialBackoff
from shared.process.sources import Sources, start_daemon_thread
from tests.simulation.loop import VirtualClock, VirtualLoop

# The API server's CPU time for a request, as measured with writes.
WORK: Final = 0.003
RETRY_AFTER: Final = 1.0
AT_ONCE: Final = RequeueAfter(timedelta(0))


class ApiServer:
    """An API server with `cores`, whose requests and answers are under way for `distance` seconds.

    It rejects all requests that arrive between the two times in `storm`.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        *,
        cores: int,
        distance: float = 0.0,
        storm: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._loop = loop
        self._idle_at = [0.0] * cores
        self._distance = distance
        self._storm = storm

    async def request(self, answered: Callable[[float, bool], None]) -> None:
        """Send a request, and wait for the answer. Raise TooManyRequests after five rejections."""
        for _ in range(5):
            sent = self._loop.now
            rejected = self._storm[0] <= sent < self._storm[1]
            work = 0.0 if rejected else WORK
            core = self._idle_at.index(min(self._idle_at))
            self._idle_at[core] = ready = max(self._idle_at[core], sent) + work
            await asyncio.sleep(ready + self._distance - sent)
            answered(self._loop.now - sent, rejected)
            if not rejected:
                return
            await asyncio.sleep(RETRY_AFTER)
        raise TooManyRequests(429, "TooManyRequests", "busy", RETRY_AFTER)


class Bench:
    """The product's queue and workers. `requests` returns the number of requests of a key's pass.

    Keys in `busy` are requeued at once after each pass. `server` describes the `ApiServer`.
    """

    def __init__(self, requests: Callable[[int], int] = lambda _: 3, **server: Any) -> None:
        self.loop = VirtualLoop()
        self.busy: frozenset[int] = frozenset()
        self.passed: list[tuple[float, int, int]] = []  # when a pass ended, its key, the limit
        self._server = ApiServer(self.loop, **server)
        self._limit = PassLimit()
        self._requests = requests
        clock = VirtualClock(self.loop)
        metrics = QueueMetrics(CollectorRegistry(), "test")
        self.queue = WorkQueue[int](clock, metrics, self._limit)
        self._workers = Workers(
            self.queue,
            self._reconcile,
            sources=Sources(clock, random.Random(0), start_daemon_thread, "test"),
            limiter=ExponentialBackoff(),
            log_fields=lambda _: {},
            observer=ControllerMetrics(),
        )

    async def _reconcile(self, key: int) -> Result:
        for _ in range(self._requests(key)):
            await self._server.request(self.queue.answered)
        self.passed.append((self.loop.now, key, self._limit.limit))
        return AT_ONCE if key in self.busy else RequeueAfter()

    def add(self, at: float, keys: Iterable[int], wake: WakeReason = WakeReason.CHANGE) -> None:
        """Add these keys at a time."""
        for key in keys:
            self.loop.call_at(at, self.queue.add, key, wake)

    def add_busy(self, at: float, keys: Iterable[int]) -> None:
        """Add keys at a time that have a pass again and again from then on."""
        self.busy = frozenset(keys)
        self.add(0.0, [0])  # the API server's latency without load
        self.add(at, self.busy)

    def run(self, seconds: float) -> None:
        """Run for so many seconds of virtual time."""

        async def main() -> None:
            running = asyncio.create_task(self._workers.run())
            await asyncio.sleep(seconds)
            self.queue.shut_down()
            running.cancel()
            await asyncio.wait([running])

        self.loop.run_until_complete(main())
        self.loop.close()

    def rate(self, begin: float, end: float) -> float:
        """Return the passes a second between two times."""
        return sum(begin <= at < end for at, _, _ in self.passed) / (end - begin)

    def limits(self, begin: float, end: float) -> list[int]:
        """Return the limit after each pass between two times."""
        return [limit for at, _, limit in self.passed if begin <= at < end]

    def waits(self, since: float, keys: Iterable[int]) -> list[float]:
        """Return how long after a time the first pass of each key ended, sorted."""
        first: dict[int, float] = {}
        for at, key, _ in self.passed:
            if at >= since:
                first.setdefault(key, at - since)
        return sorted(first[key] for key in keys)


def test_a_distant_api_server_gets_more_than_200_passes_a_second() -> None:
    """Three at once would be 10 a second, and 96 are at most 311."""
    bench = Bench(cores=64, distance=0.1)
    bench.add_busy(1.0, range(200))
    bench.run(6.0)
    assert bench.rate(4.0, 6.0) > 300
    assert set(bench.limits(4.0, 6.0)) == {MOST}


def test_a_busy_api_server_gets_few_passes_at_once_and_loses_no_throughput() -> None:
    """Two cores can answer 667 requests a second."""
    bench = Bench(cores=2)
    bench.add_busy(1.0, range(200))
    bench.run(6.0)
    assert bench.rate(2.0, 6.0) > 0.99 * 2 / (3 * WORK)
    limits = bench.limits(2.0, 6.0)
    assert mean(limits) < 6
    assert max(limits) < 10


def test_rejections_lower_the_limit_to_the_least_and_it_recovers() -> None:
    bench = Bench(cores=64, distance=0.1, storm=(4.0, 7.0))
    bench.add_busy(1.0, range(200))
    bench.run(12.0)
    assert bench.limits(3.5, 4.0)[-1] == MOST
    assert bench.limits(7.0, 8.0)[0] == LEAST
    assert bench.rate(11.0, 12.0) > 300


def test_500_failures_are_detected_within_a_second_beside_300_deletions() -> None:
    """Each detection is one write. Two cores need 0.75 s for 500 writes, without any deletion."""
    failures = range(1000, 1500)
    bench = Bench(lambda key: 1 if key in failures else 3, cores=2)
    bench.add_busy(1.0, range(300))  # passes of deletions, as many as the API server can answer
    bench.add(4.0, failures, WakeReason.URGENT)
    bench.run(8.0)
    waits = bench.waits(4.0, failures)
    assert len(waits) == 500
    assert 0.75 < waits[494] < 1.0  # p99
