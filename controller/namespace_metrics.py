"""What is counted for each namespace by itself, and for how long."""

from collections.abc import Collection, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from controller.phases.phase import Phase
from controller.phases.reason import Reason

# What may be found wrong with an AppWrapper, so that it is reset or fails.
FINDINGS: Final = (
    Reason.FAILED_PODS,
    Reason.INSUFFICIENT_PODS_READY,
    Reason.FAILED_COMPONENT,
    Reason.MISSING_COMPONENT,
    Reason.CREATE_FAILED,
    Reason.AUTOPILOT_NO_EXECUTE,
)
# Of these, what is never answered by another attempt.
_FATAL: Final = (Reason.MISSING_COMPONENT,)
_RESETTABLE: Final = tuple(each for each in FINDINGS if each not in _FATAL)
# Seconds that the counts of a namespace without AppWrappers stay: every scraper has come by then.
REMEMBERED: Final = 3600.0

_Labels = tuple[str, ...]


class NamespaceMetrics:
    """`now` is of a monotonic clock. `resources` are those whose loss is counted.

    A namespace gets all its counts, at zero, when something is first counted of it.
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
            "Of each resource with node health: the amount times how long the pods had run that a"
            " reset removed.",
            "resource",
            "reason",
        )
        self._resources = tuple(resources)
        # Namespace -> counts made for it, and when the last one grew.
        self._made: dict[str, dict[tuple[Counter, _Labels], Counter]] = {}
        self._grew: dict[str, float] = {}

    def entered(self, namespace: str, phase: Phase, now: float) -> None:
        """An AppWrapper entered a phase."""
        self._begin(namespace, now)
        self._child(self._phases, namespace, phase.value).inc()

    def reset(self, namespace: str, reason: Reason, lost: Mapping[str, float], now: float) -> None:
        """A reset began. `lost`: resource -> amount times the seconds that its pods had run."""
        self._begin(namespace, now)
        self._child(self._resets, namespace, reason.value).inc()
        for resource, amount in lost.items():
            self._child(self._lost, namespace, resource, reason.value).inc(amount)

    def failed(self, namespace: str, reason: Reason, now: float) -> None:
        """An AppWrapper failed."""
        self._begin(namespace, now)
        self._child(self._failures, namespace, reason.value).inc()

    def forget(self, inhabited: Collection[str], now: float) -> None:
        """Drops what was counted of namespaces without AppWrappers, an hour after the last count.

        So namespaces that come and go do not fill the memory.
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
        """A rate over a count that appears later misses its first step."""
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
        made = self._made.setdefault(namespace, {})
        child = made.get((family, labels))
        if child is None:
            child = made[family, labels] = family.labels(namespace, *labels)
        return child
