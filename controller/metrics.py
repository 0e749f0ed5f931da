"""The controller's metrics, under the names that existing dashboards use.

docs/admins/metrics.md explains each metric and what to do about it.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.gauges import ComputedGauge, Samples
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause, Source
from controller.reports.reason import Reason

# Metrics per namespace.

# Reasons for which an AppWrapper is reset or fails.
FINDINGS: Final = (
    Reason.FAILED_PODS,
    Reason.INSUFFICIENT_PODS_READY,
    Reason.FAILED_COMPONENT,
    Reason.MISSING_COMPONENT,
    Reason.CREATE_FAILED,
    Reason.AUTOPILOT_NO_EXECUTE,
    Reason.DEVICE_TAINTED,
    Reason.NODE_UNREACHABLE,
    Reason.UNSCHEDULABLE,
)
# Reasons that never lead to another attempt.
_FATAL: Final = (Reason.MISSING_COMPONENT, Reason.UNSCHEDULABLE)
_RESETTABLE: Final = tuple(each for each in FINDINGS if each not in _FATAL)
# Seconds that a namespace without AppWrappers keeps its counters: every scraper reads them by then.
REMEMBERED: Final = 3600.0


class NamespaceMetrics:
    """Counters per namespace. `now`: a monotonic time. `resources`: those whose loss is counted.

    The first count of a namespace creates all its counters, at zero.
    """

    def __init__(self, registry: CollectorRegistry, resources: Collection[str]) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, ("namespace", *labels), registry=registry)

        self._phases = counter(
            "appwrapper_phase_total", "AppWrappers that entered a phase.", "phase"
        )
        self._resets = counter("appwrapper_resets_total", "Resets that began.", "reason")
        self._failures = counter("appwrapper_failures_total", "AppWrappers that failed.", "reason")
        self._lost = counter(
            "appwrapper_gpu_seconds_lost_total",
            "The amount of each resource with node health times the run time of the pods that a"
            " reset removed.",
            "resource",
            "reason",
        )
        self._resources = tuple(resources)
        self._grew: dict[str, float] = {}  # namespace → the time of the last count
        # Namespace → the families and other labels of its counters. `remove_by_labels` instead of
        # this table would search the counters of all namespaces for each that is forgotten: for
        # 1,000 at once that took 11 s, and a lease lasts 10.
        self._made: dict[str, set[tuple[Counter, tuple[str, ...]]]] = {}

    def entered(self, namespace: str, phase: Phase, now: float) -> None:
        self._begin(namespace, now)
        self._child(self._phases, namespace, phase.value).inc()

    def reset(self, namespace: str, reason: Reason, lost: Mapping[str, float], now: float) -> None:
        """Count a reset. `lost`: resource → amount times the seconds that its pods ran."""
        self._begin(namespace, now)
        self._child(self._resets, namespace, reason.value).inc()
        for resource, amount in lost.items():
            self._child(self._lost, namespace, resource, reason.value).inc(amount)

    def failed(self, namespace: str, reason: Reason, now: float) -> None:
        self._begin(namespace, now)
        self._child(self._failures, namespace, reason.value).inc()

    def forget(self, inhabited: Collection[str], now: float) -> None:
        """Drop the counters of namespaces without AppWrappers, an hour after their last count.

        Otherwise short-lived namespaces would fill the memory.
        """
        over = [
            namespace
            for namespace, grew in self._grew.items()
            if namespace not in inhabited and now - grew >= REMEMBERED
        ]
        for namespace in over:
            del self._grew[namespace]
            for family, labels in self._made.pop(namespace):
                family.remove(namespace, *labels)

    def _begin(self, namespace: str, now: float) -> None:
        """Create all counters at zero: a rate misses the first step of a late counter."""
        known = namespace in self._grew
        self._grew[namespace] = now
        if known:
            return
        for phase in Phase:
            if phase is not Phase.EMPTY:
                self._child(self._phases, namespace, phase.value)
        for reason in FINDINGS:
            self._child(self._failures, namespace, reason.value)
        for reason in _RESETTABLE:
            self._child(self._resets, namespace, reason.value)
            for resource in self._resources:
                self._child(self._lost, namespace, resource, reason.value)

    def _child(self, family: Counter, namespace: str, *labels: str) -> Counter:
        self._made.setdefault(namespace, set()).add((family, labels))
        return family.labels(namespace, *labels)


_RESULTS: Final = ("success", "requeue_after", "requeue", "error")
_CONTROLLER: Final = "appwrapper"
_SOON: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LATER: Final = (0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
# The retry pause alone is 90 s by default; a wait for an admin or for quota may take hours.
_MUCH_LATER: Final = (5, 10, 30, 60, 90, 120, 180, 300, 600, 1800, 3600, 7200)
# Resuming takes milliseconds, a run may take weeks.
_PHASE_SECONDS: Final = (0.1, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400, 604_800)
_ORIGINS: Final = ("User", "System", "Unknown")
_RECOVERABLE: Final = {True: "true", False: "false", None: "unknown"}
# Creation times would double the number of lines.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class ControllerMetrics:
    """The metrics of what the controller decides; the endpoint serves `registry`.

    `resources`: the resources with node health, whose loss is counted.
    """

    def __init__(self, resources: Collection[str] = ()) -> None:
        self.registry = CollectorRegistry()
        self.by_namespace = NamespaceMetrics(self.registry, resources)
        self._passes = Counter(
            "controller_runtime_reconcile_total",
            "Reconciles of an AppWrapper, by result.",
            ("controller", "result"),
            registry=self.registry,
        )
        self._errors = Counter(
            "controller_runtime_reconcile_errors_total",
            "Reconciles that ended with an error.",
            ("controller",),
            registry=self.registry,
        ).labels(_CONTROLLER)
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long reconciles took.",
            ("controller",),
            registry=self.registry,
        ).labels(_CONTROLLER)
        self._repairs = Counter(
            "appwrapper_resync_repairs_total",
            "Reconciles that acted on a change that only the resync found: no watch reported it.",
            registry=self.registry,
        )
        self.unexpected = Counter(
            "appwrapper_unexpected_components_total",
            "Components and pods that were deleted because the phase or the attempt of their"
            " AppWrapper cannot have them.",
            registry=self.registry,
        )
        self.detection = Histogram(
            "appwrapper_detection_seconds",
            "From the watch event that showed the problem to the status that reports it.",
            ("reason",),
            buckets=_SOON,
            registry=self.registry,
        )
        self.first_pod = Histogram(
            "appwrapper_first_pod_seconds",
            "From the beginning of an attempt to its first running pod.",
            buckets=_LATER,
            registry=self.registry,
        )
        self.evacuations = Counter(
            "appwrapper_evacuations_total",
            "Evacuations that began, by the resource that the pods used.",
            ("resource",),
            registry=self.registry,
        )
        self.evacuation_seconds = Histogram(
            "appwrapper_evacuation_seconds",
            "From the node's label to all new pods running.",
            buckets=_MUCH_LATER,
            registry=self.registry,
        )
        self.phase_seconds = _phase_histogram(self.registry)
        self._root_causes = _root_cause_counter(self.registry)
        self._begin_at_zero(resources)

    def _begin_at_zero(self, resources: Iterable[str]) -> None:
        """Create these counters at zero: a rate misses the first step of a late counter."""
        for resource in resources:
            self.evacuations.labels(resource)
        for result in _RESULTS:
            self._passes.labels(_CONTROLLER, result)
        for reason in FINDINGS:
            self.detection.labels(reason.value)

    def found_root_cause(self, root_cause: RootCause) -> None:
        """Count a failed attempt. No text of a user becomes a label."""
        origin = root_cause.origin if root_cause.origin in _ORIGINS else _ORIGINS[-1]
        recoverable = _RECOVERABLE[root_cause.recoverable]
        self._root_causes.labels(origin, recoverable, root_cause.source.value).inc()

    def passed(self, result: str, seconds: float) -> None:
        self._passes.labels(_CONTROLLER, result).inc()
        self._seconds.observe(seconds)
        if result == "error":
            self._errors.inc()

    def repaired(self) -> None:
        self._repairs.inc()

    def show_pass_limit(self, limit: Callable[[], float]) -> None:
        """Register the gauge of the limit, under controller-runtime's name."""
        Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "How many reconciles may run at once: by how fast the API server answers.",
            ("controller",),
            registry=self.registry,
        ).labels(_CONTROLLER).set_function(limit)

    def show_stuck_deletions(self, stuck: Callable[[], Samples]) -> None:
        """Register the gauge of the stuck objects by finalizer and Kind."""
        gauge = ComputedGauge(
            "appwrapper_deletions_stuck",
            "Components and pods that still exist after their grace period, by the finalizer that"
            " keeps them.",
            ["finalizer", "kind"],
            stuck,
        )
        self.registry.register(gauge)


def _phase_histogram(registry: CollectorRegistry) -> Histogram:
    histogram = Histogram(
        "appwrapper_phase_seconds",
        "How long AppWrappers were in a phase, observed when they left it.",
        ("phase",),
        buckets=_PHASE_SECONDS,
        registry=registry,
    )
    for phase in Phase:
        if phase is not Phase.EMPTY:
            histogram.labels(phase.value)
    return histogram


def _root_cause_counter(registry: CollectorRegistry) -> Counter:
    counter = Counter(
        "appwrapper_root_cause_total",
        "Failed attempts, by the origin of the root cause, by whether the program reported that a"
        " retry can help, and by the source of the root cause.",
        ("origin", "recoverable", "source"),
        registry=registry,
    )
    for labels in itertools.product(_ORIGINS, _RECOVERABLE.values(), Source):
        counter.labels(*labels)
    return counter
