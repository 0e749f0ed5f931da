"""What the controller counts, under the names that existing dashboards use (specification 4)."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from controller.phases.phase import Phase

_RESULTS = ("success", "requeue_after", "requeue", "error")
_CONTROLLER = "appwrapper"


class ControllerMetrics:
    """One object per process; `registry` is what the endpoint shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._phases = Counter(
            "appwrapper_phase_total",
            "AppWrappers that entered a phase.",
            ("namespace", "phase"),
            registry=self.registry,
        )
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
        )
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long passes took.",
            ("controller",),
            registry=self.registry,
        )
        self._repairs = Counter(
            "appwrapper_resync_repairs_total",
            "Passes that acted on what only the resync brought up: a change had been missed.",
            registry=self.registry,
        )
        # At zero from the start: a rate over a counter that appears later misses its first step.
        for result in _RESULTS:
            self._passes.labels(_CONTROLLER, result)
        self._errors.labels(_CONTROLLER)

    def entered(self, namespace: str, phase: Phase) -> None:
        """An AppWrapper entered a phase."""
        self._phases.labels(namespace, phase.value).inc()

    def passed(self, result: str, seconds: float) -> None:
        """A pass over an AppWrapper ended."""
        self._passes.labels(_CONTROLLER, result).inc()
        self._seconds.labels(_CONTROLLER).observe(seconds)
        if result == "error":
            self._errors.labels(_CONTROLLER).inc()

    def repaired(self) -> None:
        """The resync found something to do."""
        self._repairs.inc()
