"""What the work queue counts, under client-go's names, so that existing dashboards work."""

from collections.abc import Hashable
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.runtime.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)

# client-go's: ten nanoseconds to a thousand seconds, by tens.
_BUCKETS = tuple(float(f"1e{exponent}") for exponent in range(-8, 4))


class QueueMetrics:
    """One object per queue. Everything is at zero from the start."""

    def __init__(self, registry: CollectorRegistry, name: str) -> None:
        label = ("name",)

        def histogram(metric: str, text: str) -> Histogram:
            return Histogram(metric, text, label, registry=registry, buckets=_BUCKETS).labels(name)

        def gauge(metric: str, text: str) -> Gauge:
            return Gauge(metric, text, label, registry=registry).labels(name)

        self._adds = Counter(
            "workqueue_adds_total", "Keys that became wanted.", label, registry=registry
        ).labels(name)
        self._retries = Counter(
            "workqueue_retries_total", "Keys tried again after a failure.", label, registry=registry
        ).labels(name)
        self._queued = histogram(
            "workqueue_queue_duration_seconds", "From becoming wanted to being taken."
        )
        self._worked = histogram("workqueue_work_duration_seconds", "How long work on a key took.")
        self._depth = gauge("workqueue_depth", "Keys that are ready.")
        self._unfinished = gauge(
            "workqueue_unfinished_work_seconds", "Sum of the times of all work not yet ended."
        )
        self._longest = gauge(
            "workqueue_longest_running_processor_seconds", "The longest of these times."
        )

    def show(self, queue: WorkQueue[K]) -> None:
        """Whoever reads the metrics sees the state of `queue` at that moment."""
        self._depth.set_function(lambda: queue.depth)
        self._unfinished.set_function(lambda: sum(queue.in_work_for()))
        self._longest.set_function(lambda: max(queue.in_work_for(), default=0.0))

    def added(self, number: int) -> None:
        """See `QueueObserver`."""
        self._adds.inc(number)

    def taken(self, waited: float) -> None:
        """See `QueueObserver`."""
        self._queued.observe(waited)

    def done(self, worked: float) -> None:
        """See `QueueObserver`."""
        self._worked.observe(worked)

    def retried(self) -> None:
        """See `QueueObserver`."""
        self._retries.inc()
