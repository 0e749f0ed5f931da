"""What the controller counts, under the names that existing dashboards use (specification 4).

docs/operations.md says what each figure means and what to do about it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controller.namespace_metrics import FINDINGS, NamespaceMetrics
from controller.phases.phase import Phase
from controller.phases.reason import Reason

_RESULTS: Final = ("success", "requeue_after", "requeue", "error")
_CONTROLLER: Final = "appwrapper"
_SOON: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LATER: Final = (0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
# Each would double the number of lines with the moment at which a count began.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class ControllerMetrics:
    """One object per process; `registry` is what the endpoint shows.

    `resources` are those whose loss is counted: the ones that node health is known of.
    """

    def __init__(self, resources: Iterable[str] = ()) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.by_namespace = NamespaceMetrics(self.registry, tuple(resources))
        self._passes = Counter(
            "controller_runtime_reconcile_total",
            "Passes over an AppWrapper, by how they ended.",
            ("controller", "result"),
            registry=self.registry,
        )
        self._errors = Counter(
            "controller_runtime_reconcile_errors_total",
            "Passes that ended with an error.",
            ("controller",),
            registry=self.registry,
        ).labels(_CONTROLLER)
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long passes took.",
            ("controller",),
            registry=self.registry,
        ).labels(_CONTROLLER)
        self._repairs = Counter(
            "appwrapper_resync_repairs_total",
            "Passes that acted on what only the resync brought up: a change had been missed.",
            registry=self.registry,
        )
        self._detection = Histogram(
            "appwrapper_detection_seconds",
            "From the watch event that showed the trouble to the status that says so.",
            ("reason",),
            buckets=_SOON,
            registry=self.registry,
        )
        self._first_pod = Histogram(
            "appwrapper_first_pod_seconds",
            "From the beginning of an attempt to its first running pod.",
            buckets=_LATER,
            registry=self.registry,
        )
        # At zero from the start: a rate over a counter that appears later misses its first step.
        for result in _RESULTS:
            self._passes.labels(_CONTROLLER, result)
        for reason in FINDINGS:
            self._detection.labels(reason.value)

    def detected(self, reason: Reason, seconds: float) -> None:
        """Trouble was seen, and said in the status that much later."""
        self._detection.labels(reason.value).observe(seconds)

    def first_pod(self, seconds: float) -> None:
        """The first pod of an attempt was seen to run."""
        self._first_pod.observe(seconds)

    def passed(self, result: str, seconds: float) -> None:
        """A pass over an AppWrapper ended."""
        self._passes.labels(_CONTROLLER, result).inc()
        self._seconds.observe(seconds)
        if result == "error":
            self._errors.inc()

    def repaired(self) -> None:
        """The resync found something to do."""
        self._repairs.inc()

    def show_phases(self, count: Callable[[], Mapping[str, int]]) -> None:
        """Whoever reads the metrics sees how many AppWrappers are in each phase at that moment."""
        self.registry.register(_PhaseGauge(count))


class _PhaseGauge(Collector):
    """Counts at each scrape, so that no change has to."""

    def __init__(self, count: Callable[[], Mapping[str, int]]) -> None:
        self._count = count

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """See `Collector`. An AppWrapper that was not looked at yet has no phase."""
        gauge = GaugeMetricFamily("appwrappers", "AppWrappers by phase, now.", labels=["phase"])
        counted = self._count()
        for phase in Phase:
            gauge.add_metric([phase.value], counted.get(phase.value, 0))
        yield gauge
